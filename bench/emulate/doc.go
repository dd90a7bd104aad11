// Command emulate compares what two builds of a kernel compute, without a GPU: nvcc's own code and
// what gnvcc makes of it by a recipe, both run by sim/emulate on the same data, all bytes of memory
// compared.
//
//	go run ./bench/emulate file.cu 'spec{n=4} unroll=2'
//	go run ./bench/emulate -kernel axpy -flag -use_fast_math -set m=3 file.cu 'early=on' 'coarsen=2x1x1 spec{host(block)=64x1x1,host(dynamic)=0}'
//	go run ./bench/emulate -fuzz 100 -seed 1
//
// The file compiles by itself, for sm_90. Each recipe is tried for each kernel, and carried out as
// a build does it. Arguments are made up:
// what a recipe fixes has its value, pointers lead to buffers of their own, other integers are
// small. Buffers hold eight kinds of numbers in turn: ordinary ones, zeros of both signs,
// magnitudes, halves, subnormal ones, infinities and NaN, pairs that cancel each other.
//
//	-kernel TEXT  only kernels whose names hold it
//	-flag FLAG    for nvcc; several times
//	-set NAME=V   an argument's value; several times (also #1=V, #2+8=V)
//	-grid 4x1x1, -block 64x1x1, -dynamic 0   where the recipe does not say
//	-rounds 8     launches of each, with other data
//	-bytes N      of each buffer (default 65536)
//	-fuzz N       random kernels and recipes instead of a file; -seed, the first
//	-keep DIR     for files that differ
//	-nvcc NVCC    the real nvcc (default: that of GNVCC_NVCC, else of PATH)
//
// A line a recipe, with the warps' instructions of both builds: same; OTHER with the first bytes
// that differ; NaN where bits of a NaN alone do; FAULT where the variant alone does what can't be
// done; refused, with the reason; can't, where the emulator does not know an instruction or the
// launch is none. The exit code is 1 where something is OTHER or FAULT.
package main
