// Package xmodel balances computing against memory on one SM: the X-model of Li, "GPU performance
// modeling and optimization" (thesis, 2016), chapter 3. Numbers in, numbers out; sim/predict makes a
// model from machine code.
//
// Files: model.go the curves and where they meet, what.go the same for a changed machine or kernel.
package xmodel
