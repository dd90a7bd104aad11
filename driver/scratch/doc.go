// Package scratch makes temporary folders, and removes those of processes that were killed.
//
// Callers: the packages below driver; cmd/gnvcc for the tuner's. It imports none of them.
//
// Reading the source: scratch.go.
package scratch
