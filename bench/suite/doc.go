// Command suite measures what gnvcc brings on a folder of programs, as a user would see it, with an
// independent clock.
//
//	suite [flags] FOLDER
//
// Each program is a folder with a Makefile that builds it and has a target that runs it. For every
// program: build with nvcc; build with gnvcc (a store of its own); run once under `gnvcc tune`;
// `gnvcc apply` and make; then run both builds in turn under the clock and compare what they print.
// What uses the GPU goes one by one; builds, with the least priority, meanwhile. Everything happens
// in copies under -work.
//
// What gnvcc tune builds once in a store (its agent) is built beforehand, and in no time below.
//
// A failure ends its program, not the suite. Results are appended, one JSON line a program, to
// -results as they come; programs that have one there are skipped (with -retry only those that did
// not fail), so that an interrupted run goes on where it was. When the -budget ends, no new program
// is tuned, and those that are ready are still clocked. The table is printed at the end, over all
// lines of -results.
//
// The clock lengthens kernels, in one of its two ways those with many short blocks, in the other
// all of them by a little: so runs take turns, and what counts is the least that a kernel took.
//
// Each line keeps what was tried of every lever on every configuration, so that the table can tell
// what a lever brought with the others and alone: -levers prints a line a lever. A second run
// without a lever is -tune "--levers=-NAME".
//
// With -figures, a make target prints the figures that the program's users look at (and fails where
// its own check did): both builds are then run in turn without the clock, too. bench/apps has
// applications for it.
//
// Several suites may share GPUs, all with the same -work and -results, those of one GPU with one
// -gpu: -each 2 runs two on each GPU of the machine. Each takes the next program of the list that
// no session has, builds a few ahead with the least priority, and uses the GPU when no other does; what
// it waits for it is no part of any time or limit but -budget. Times of builds are then of no use.
//
// For programs whose Makefiles call the compiler CC and are given the target as ARCH:
//
//	suite -compiler CC -set ARCH=sm_90 -programs names.txt -folder '%-cuda' path/to/src
package main
