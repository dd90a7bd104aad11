// Package ptxtest finds the CUDA toolkits of this machine and runs their real nvcc and ptxas, for the tests of rewrite
// and rewrite/ptx. Nothing else may import it.
package ptxtest
