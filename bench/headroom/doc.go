// Command headroom lists the kernels of PTX files whose launch shape is nobody's business: those
// that use thread and block numbers only as the index over the whole grid (dataflow.IndexOnly).
//
//	headroom [-v] FILE.ptx ...
//
// A line a kernel: its name, and 1 or 0 for each dimension in which it uses the index; with -v also
// the others, each with the reason. preload/launch.c reads the list, and measures in the unchanged
// program what other shapes would bring; restrict.py, run.sh and table.py do the rest. loop.py,
// preload/blocks.c, blocks.sh and table.py measure in the same way what fewer, longer blocks would
// bring: kernels in a loop over block numbers, whatever they know of their blocks; ways.sh with
// preload/ways.c other ways of launching, with preload/hints.c and the command hints what ptxas may
// be told. The results say what is in a lever before anybody builds it.
package main
