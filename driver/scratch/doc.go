// Package scratch makes folders for files that nobody needs later, and removes those of processes
// that were killed.
//
// Callers: the rooms of driver; cmd/gnvcc for the tuner's. It imports none of driver's rooms.
//
// Reading the source: scratch.go.
package scratch
