// Command gpus measures what a second GPU brings to a search: programs are tuned for a moment on
// GPU 0, which captures their launches, and the captures are searched on by `gnvcc replay --on
// local:gpus=N` with one and with more GPUs, each from the same store. It prints a JSON object:
// what each took, what each has decided, and whether the captures of GPU 0 left the same bits on
// the other GPUs.
//
//	make build && go run ./bench/gpus -gpus 1,2 -budget 60s -out gpus.json FOLDER...
//
// In each FOLDER a program is built by make NVCC=gnvcc and run by make run (the examples do so, as
// does HeCBench). With -store DIR nothing is built or tuned: that store's captures are searched on.
//
// The store is copied and left as it is. Exit code 1: a kernel was decided otherwise, or a capture
// left other bits, or the goal was missed (-goal).
package main
