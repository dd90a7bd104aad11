// Package energy measures what whole runs of a program take, by the energy counter of the GPU: all
// of the GPU, from the run's start to its end. It is said only where the GPU was the program's
// alone when it began and when it ended, and where the counter's steps are short against the run.
//
// The benchmarks under bench/ may use it; nothing outside of bench/ may.
package energy
