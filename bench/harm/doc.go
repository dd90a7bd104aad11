// Command harm shows whether gnvcc leaves programs alone: small programs, each of a class that a
// tuner in or beside them could harm, are run by themselves, under gnvcc tune, and built anew with
// what tuning adopted.
//
//	harm [flags] [FOLDER [NAME...]]
//
// A program is a file FOLDER/NAME.cu (default: bench/harm/programs) whose first comment says which
// class it is of; "// build: OPTIONS" are further options of its build, "// also: OPTIONS" another
// compile of the same file before it, "// other: ARGUMENTS" arguments with which the last build is
// run, too, and "// alone" asks that no other program runs beside it. It checks itself, and prints
// "ok" where all is as it should be.
//
// Each is built by nvcc and by gnvcc, with a store of its own, and run four times: nvcc's build,
// gnvcc's under gnvcc tune, nvcc's once more, and what gnvcc builds after that. It is harmed where
// exit status, standard output or standard error are not those of nvcc's build, or where it takes
// longer than the bounds in compare.go: under gnvcc tune, the search aside (-held: more), twice as long and 3 s; rebuilt, 1.5 times as long and 2 s. A
// program whose two runs of nvcc's build differ tells nothing, and is listed; so is one that asks
// for what this machine does not have, and prints "skipped: why". -build only builds them, by both
// compilers, and needs no GPU.
package main
