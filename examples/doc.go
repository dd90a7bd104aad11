// Package examples has CUDA programs and no Go code but tests. Each program shows one thing that gnvcc
// can make faster (or must leave alone), checks its own results and times its own kernels.
// examples/demo builds, tunes and compares them; the tests build them as a user would, with the real
// nvcc.
package examples
