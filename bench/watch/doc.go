// Command watch measures gnvcc watch on a program of twelve kernels:
//
//	watch -gnvcc bin/gnvcc -nvcc NVCC -out watch.json            on a machine with a GPU
//	watch -gnvcc bin/gnvcc -nvcc NVCC -out idle.json -idle 5000  a watch with nothing to do; no GPU
//
// The first edits a constant of one kernel again and again: seconds from saving the file to the
// decision in the store, and candidates measured for kernels that were not edited (0).
package main
