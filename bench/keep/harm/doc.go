// Package harm shows whether gnvcc leaves programs alone: small programs, each of a class that a tuner
// in or next to them could harm, are run by themselves, under gnvcc tune, and built anew with what
// tuning adopted.
//
// A program is a file FOLDER/NAME.cu whose first comment says which class it is of; "// build:
// OPTIONS" are further options of its build, "// also: OPTIONS" another compile of the same file
// before it, "// other: ARGUMENTS" arguments with which the last build is run, too, and "// alone"
// asks that no other program runs at the same time. It checks itself, and prints "ok" where all is
// as it should be.
//
// Each is built by nvcc and by gnvcc, with a store of its own, and run four times: nvcc's build,
// gnvcc's under gnvcc tune, nvcc's once more, and what gnvcc builds after that. It is harmed where
// exit status, standard output or standard error are not those of nvcc's build, or where it takes
// longer than the bounds in compare.go. A program whose two runs of nvcc's build differ says
// nothing, and is listed; so is one that asks for what this machine does not have, and prints
// "skipped: why". -build only builds them, by both compilers, and needs no GPU.
package harm
