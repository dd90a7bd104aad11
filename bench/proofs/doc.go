// Command proofs measures what it costs to prove that source variants of kernels have the kernels'
// bits (driver/compile/proof.go): gnvcc tune's own compiler, real nvcc tools, no GPU.
//
//	go run ./bench/proofs -gnvcc bin/gnvcc -nvcc /usr/local/cuda/bin/nvcc -arch sm_90 -out proofs.json lud-cuda lulesh-cuda
//
// Each argument is a folder whose .cu files compile by themselves; they are compiled with gnvcc, by
// -c, and with -flag's. Each kernel of them is then compiled by the same recipes for the source, as
// a search does it (drafts), all that have something to be proved are proved, and those that are
// proved are compiled as a build does.
//
//	-kernel TEXT  only kernels whose names hold it
//	-flag FLAG    for the compiler; several times
//	-j N          at a time (default: the cores)
//	-profile FILE a profile of gnvcc's own part, for go tool pprof
//	-out FILE     raw results, JSON
package main
