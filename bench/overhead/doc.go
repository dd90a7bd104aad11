// Command overhead measures what gnvcc adds to a build with no recipe: the time of whole builds in
// nvcc's and in gnvcc's hands, and the time from gnvcc's start to the real nvcc's.
//
//	go run ./bench/overhead -gnvcc bin/gnvcc -nvcc /usr/local/cuda/bin/nvcc examples
//
// Each argument is a program: a folder with a Makefile that takes the compiler as NVCC, or else
// with .cu files, which are compiled one by one; or a folder of such folders. Everything is built
// in copies. Builds go in pairs, one with nvcc and one with gnvcc, the first of a pair changing;
// the ratio is the median of the pairs' ratios.
//
//	-pairs N     pairs per program (default 7), after one that is not counted
//	-starts N    starts of the face (default 200)
//	-flags F     for folders without a Makefile (default "-O3 -arch=sm_90")
//	-out FILE    raw results, JSON
package main
