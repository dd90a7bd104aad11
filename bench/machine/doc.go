// Package machine writes down what a figure was measured on. A raw result without it is worth
// nothing.
//
// The benchmarks under bench/ may use it.
package machine
