// Command overhead measures what gnvcc adds to a build with no recipe: the time of whole builds in
// nvcc's and in gnvcc's hands, and the time from gnvcc's start to the real nvcc's.
//
//	go run ./bench/overhead -gnvcc bin/gnvcc -nvcc /usr/local/cuda/bin/nvcc examples
//
// Each argument is a program: a folder with a Makefile that takes the compiler as NVCC, or else
// with .cu files, which are compiled one by one; or a folder of such folders. Everything is built
// in copies. Builds go in rounds: in each all ways of building once, in random order, so that what
// the machine does otherwise meets them alike. Of wall time and of processor time the ratio is the
// median of the rounds' ratios, with an interval; over programs it is the geometric mean.
//
//	-rounds N          rounds per program (default 7), after one that is not counted
//	-time D            rounds for so long, in place of a number
//	-stores LIST       known: with a store that knows the compile; unit: with one that knows the
//	                   toolkit alone; first: with an empty one (default all three)
//	-before NAME=PATH  another build of gnvcc, measured in the same rounds, save with known; may be
//	                   given several times
//	-starts N          starts of the face (default 200), 0 for none
//	-flags F           for folders without a Makefile (default "-O3 -arch=sm_90")
//	-out FILE          raw results, JSON
//	-table             print the table of raw results, whose files are named, and nothing else
package main
