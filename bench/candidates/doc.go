// Command candidates measures what compiling n candidates of a kernel costs against compiling one:
// gnvcc tune's own compiler, real nvcc tools, no GPU.
//
//	go run ./bench/candidates -gnvcc bin/gnvcc -nvcc /usr/local/cuda/bin/nvcc -out candidates.json examples/tripcount examples/gather
//
// Each argument is a folder with a Makefile that takes the compiler as NVCC and builds into O; it
// is built once with gnvcc. Then the first kernel of it that takes hints on loads and stores is
// compiled by n recipes, each time with a store in which nothing of that was compiled before. Three
// kinds: recipes for the PTX alone (register caps and hints: a ptxas run each); recipes of which
// each five share a source variant (an unrolling factor: a cicc run, with five register caps: a
// ptxas run each), as the tuner's searches make them: drafts, with the test of the kernel's slice,
// and one candidate from the whole text, the winner's; and the same, all from the whole text.
//
//	-n 1,10,60    numbers of candidates
//	-runs 3       repetitions; the medians are printed
//	-j N          compiles at a time (default: the cores)
//	-out FILE     raw results, JSON
package main
