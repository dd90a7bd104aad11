// Package coarsen is the lever coarsen: one block of a second entry does the work of several.
// Package rewrite calls Apply; who chooses values asks Dimensions and Beside what may be tried.
//
// In this order: coarsen.go (the lever and its values), read.go (what depends on the turn),
// write.go (the jammed code), ways.go (branches on which turns disagree), serial.go (turns one
// after the other), calls.go (functions), beside.go (turns as lanes of one warp).
package coarsen
