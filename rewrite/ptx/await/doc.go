// Package await reports whether the blocks of a kernel may wait for each other: then no launch may
// have fewer of them resident than nvcc's own code has. Its entry point is Why.
//
// In this order: await.go (instructions and calls), loop.go (loops that may wait), progress.go (why
// a loop ends without the help of another block).
package await
