// Package repeat is the lever repeat: several turns of a loop stand in a row, in PTX. Package
// rewrite calls Apply; who chooses values asks Loops what may be tried.
//
// In this order: repeat.go (the lever), loop.go (which loops, and how their turns are counted),
// together.go (whether a warp's threads stay together), write.go (the copies).
package repeat
