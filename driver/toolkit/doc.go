// Package toolkit finds the real nvcc and its tools, and tells their versions.
//
// Callers: the rooms of driver; cmd/gnvcc (doctor, tune, profile).
//
// Reading the source: find.go, ignored.go, version.go.
package toolkit
