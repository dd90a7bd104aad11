// Command tiles is for the lever tile: when does it pay?
//
//	tiles make [-kernels N] [-seed N] FOLDER    kernels, with and without tiles, and a list of launches
//	tiles fit FOLDER                            a forest that predicts the ratio, tried on kernels that it has not seen
//
// Kernels are made up in the manner of Han and Abdelrahman (Automatic Tuning of Local Memory Use on
// GPGPUs, Table 1): a loop in a loop reads an array by one of seven patterns, with neighbours
// around each element; what is computed, and what else is read, in the loop and behind it, is drawn
// at random. `make` compiles all of them in one file, tiles them for some blocks and numbers of
// turns, and writes cubins, launches.txt and run.c (device/run.c), so that a machine with a GPU
// needs gcc alone:
//
//	gcc -O2 run.c -I/usr/local/cuda/include -lcuda -o run && ./run launches.txt > results.jsonl
//
// run.c times each launch with and without tile in turn, and compares all that was written.
//
// With -families they are the eight programs' of that paper (families.go), to be judged by a forest
// that has seen none of them: fit -forest policy/lever/tile.json.gz -device "NVIDIA H200".
//
// Files: kernel.go the kernels, families.go those that programs have, make.go files for the GPU,
// fit.go the forest, device/run.c.
package main
