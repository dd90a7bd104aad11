// Package toolkit finds the real nvcc and its tools, and their versions.
//
// Callers: the packages below driver; cmd/gnvcc (doctor, tune, profile).
//
// Reading the source: find.go, ignored.go, version.go.
package toolkit
