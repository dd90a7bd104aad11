// Package cubin reads what a CUDA cubin says about its kernels and variables: registers, shared
// memory, stack, launch bounds, parameters. Every build and every candidate is read back through
// it, since ptxas does not always meet a cap.
//
// sim/sass, driver, policy and cmd may call it; it imports no package of ours, runs no tool and writes
// no file. Its input is untrusted: a hostile file gives an error, not a panic, and costs memory in
// proportion to its size.
//
// Files: elf.go reads the container, cubin.go gathers the facts, code.go hands out machine code
// (sim/sass decodes it), lines.go line information (by debug/dwarf), info.go .nv.info, verbose.go
// reads what `ptxas -v` prints (spill bytes, which a cubin does not hold); identity.go says when
// two are the same code, linked.go what a link changes, load.go
// what a kernel finds of its module when it runs, capped.go and point.go write into a copy.
package cubin
