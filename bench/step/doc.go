// Package step runs one command of a benchmark: with a time limit that ends the whole process
// group, with bounded output, and with its wall and processor time.
//
// The benchmarks under bench/ may use it.
package step
