// Package witness says what a file holds now: it reads the device code that is in it, and looks
// that up in what builds wrote down. Records tell what gave which code, and nothing of what lies in
// a file: plain nvcc, a compiler cache, cp, git and other branches write files, too.
//
// Callers: driver/apply.
//
// Reading the source: witness.go (the code in a file), find.go (files with code in a folder).
package witness
