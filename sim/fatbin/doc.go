// Package fatbin takes the cubins out of what nvcc and linkers write: cubins, fat binaries, host
// objects, archives, shared libraries and programs.
//
// Like sim/cubin it imports no package of ours, runs no tool and writes no file. A hostile file gives an
// error and costs memory in proportion to its size and to the sizes that its entries claim, each of
// which is bounded.
//
// Callers: driver/witness.
//
// Files: file.go (where fat binaries lie in a file), fatbin.go (their entries), lz4.go.
package fatbin
