// Command levers measures on a GPU what each lever brings alone, what it costs where it brings
// nothing, and what all together bring, over a folder of programs, with an independent clock.
//
//	levers [flags] FOLDER
//
// Each program is a folder with a Makefile that builds it and has a target that runs it. It is
// built with gnvcc, and run once under `gnvcc tune` with all levers. What that run tried says which
// levers have anything to try: for each of those the program runs once under `gnvcc tune -levers
// LEVER`, with a store that knows the build and nothing else. Where something is adopted the
// program is built again, and both builds run in turn under the clock. Where nothing is adopted the
// build is nvcc's own, so that there is nothing to clock: the ratio is 1 by identity.
//
// Approximate levers are left out: they need a bound of the user's.
//
// One JSON line a program and lever is appended to -results as it comes; what has one there is
// passed over, so that an interrupted run goes on where it was. When the -budget ends nothing new
// is tuned. -table prints the table of an existing file.
package main
