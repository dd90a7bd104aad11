// Package clock is the clock that gnvcc's gains are measured by: the GPU's own time stamps of every
// kernel, taken by a small library (injection/clock.c) that the driver loads into the unchanged
// program. It knows nothing of gnvcc and shares no code with the tuner, so that the tuner's
// mistakes can't become its proof.
//
// The benchmarks under bench/ may use it; nothing outside of bench/ may.
package clock
