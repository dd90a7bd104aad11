// Package overhead measures what gnvcc adds to a build with no recipe: the time of complete builds in
// nvcc's and in gnvcc's hands, and the time from gnvcc's start to the real nvcc's.
//
// Each argument is a program: a folder with a Makefile that takes the compiler as NVCC, or else
// with .cu files, which are compiled one by one; or a folder of such folders. Everything is built
// in copies. Builds go in rounds: in each all ways of building once, in random order, so that what
// the machine does otherwise meets them alike. Of wall time and of processor time the ratio is the
// median of the rounds' ratios, with an interval; over programs it is the geometric mean. Stores:
// one that knows the compile (known), one that knows the toolkit alone (unit), and an empty one
// (first). With -lock FILE also builds with that file's recipes, where the store knows the toolkit
// alone (recipes): over unit, what source variants cost.
package overhead
