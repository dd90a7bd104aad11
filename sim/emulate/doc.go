// Package emulate runs machine code of sm_90 without a GPU: the kernels of a cubin, in small grids,
// so that the bytes that two builds of a kernel leave can be compared.
//
// What it can't do is an error that names the instruction, never a guess: each bit of a word has a
// meaning that is carried out here, or the word is refused. Sums, products and conversions are
// rounded as IEEE 754 says, in all directions; a NaN of single precision is 7fffffff, as the GPU
// gives it (CUDA C++ Programming Guide, Floating-Point Standard), and one of double precision
// fff8000000000000, where the GPU gives one of the operands. What the special function units
// give (MUFU) is not documented: here it is a function of the operand's bits alone, the
// same for all kernels, near the true one, and Result.Approximate says that it was needed.
//
// The meaning of words was found by comparing them with what nvdisasm 13.x prints, and with what
// the host's compiler makes of the same source (host_test.go).
//
// Callers: tests, bench. It calls sim/sass and sim/cubin, and runs no tool.
//
// Reading order: program.go (a cubin), launch.go (grids, blocks), order.go (blocks and warps by
// turns), warp.go, flow.go and barrier.go
// (threads that part and meet), word.go and operand.go (reading an instruction), then the
// instructions: integer.go, float.go, half.go, convert.go, memory.go and access.go, across.go. How
// numbers are rounded stands in round.go.
package emulate
