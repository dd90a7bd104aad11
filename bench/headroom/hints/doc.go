// Command hints makes variants of the kernels of a PTX file, for measuring what they would bring.
//
//	hints COUNTS.json PROGRAM FILE.ptx
//
// FILE.freq.ptx tells ptxas how often each basic block runs, as COUNTS.json has it ({program:
// {kernel: [count]}}); FILE.wait.ptx and FILE.both.ptx begin with griddepcontrol.wait, the latter
// behind griddepcontrol.launch_dependents. FILE.list has a line a kernel: its name, 1 where it has
// counts, and the variables that it uses.
package main
