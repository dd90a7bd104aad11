// Package tiles answers when the lever tile pays, and grows the forest that the lever carries.
//
// Kernels are made up in the manner of Han and Abdelrahman (Automatic Tuning of Local Memory Use on
// GPGPUs, Table 1): a loop in a loop reads an array by one of seven patterns, with neighbours
// around each element; what is computed, and what else is read, in the loop and behind it, is drawn
// at random. Make compiles all of them in one file, tiles them for some blocks and numbers of
// turns, and writes cubins, launches.txt and run.c (device/run.c), so that a machine with a GPU
// needs gcc alone. run.c times each launch with and without tile in turn, and compares all that was
// written. Fit tries a forest (grow.go, validate.go: Breiman, Random Forests, 2001) on kernels that
// it has not seen. The same data and seed give the same forest, byte for byte.
package tiles
