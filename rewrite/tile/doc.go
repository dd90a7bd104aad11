// Package tile is the lever tile: what a block reads in some turns of a loop is copied to shared
// memory first. Package rewrite calls Apply; who chooses values asks Tilings what could be tiled,
// or why nothing can.
//
// In this order: tile.go (the lever), loop.go (the form of a loop, its addresses), box.go (what is
// read), write.go (the code).
package tile
