// Package tile is the lever tile: what a block reads in some turns of a loop is copied to shared
// memory first. Package rewrite calls Apply; who chooses values asks Tilings what could be tiled
// and what it looks like, and Untiled why nothing can.
//
// In this order: tile.go (the lever), flow.go (blocks, loops, what differs between threads),
// loop.go (addresses, affine in a thread's place and the turn), box.go (what is read), turns.go
// (the test in front of a tile), copy.go and write.go (the code), list.go (Tilings).
package tile
