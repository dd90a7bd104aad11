// Package predicted says without a GPU what can be said of one kernel: what limits it, which
// recipes for its registers (caps, and values kept in shared memory) are worth a measurement and in
// which order, and the values that a picture of it is drawn from. It compiles candidates and reads
// their machine code; nothing is run, and who prints its results says so.
//
// cmd calls it; it calls policy for kernels and compiling, sim/predict for the models. It adopts
// nothing.
//
// Files: predicted.go candidates and their order, text.go the results as text, balance.go the
// X-model, curve.go every register count.
package predicted
