// Package job is one ptxas call with its PTX: its kernels' identities, the key of all that its
// result depends on, and what nvcc's own compile of it gave.
//
// Callers: driver/stage (the ptxas stage) and driver/compile, which both work on such a call.
//
// Reading the source: job.go.
package job
