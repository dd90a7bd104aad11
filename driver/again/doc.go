// Package again is the folder through which gnvcc apply and the stages of a command that it reruns
// communicate: which recipes to build with, and what was read and built.
//
// Callers: driver/apply, which runs commands again, and driver/stage, which is what they run.
//
// Reading the source: folder.go (what is in it, and apply's end), run.go (the stages' end).
package again
