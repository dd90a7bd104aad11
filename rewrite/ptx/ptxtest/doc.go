// Package ptxtest finds the CUDA toolkits of this machine and runs their real nvcc and ptxas, for
// the tests of rewrite and the packages below it. Nothing else may import it.
package ptxtest
