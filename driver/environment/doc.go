// Package environment reads the variables of the environment (ours, and those that a compile depends
// on), and opens the store, the log of GNVCC_LOG and the files of GNVCC_KEEP.
//
// Callers: the packages below driver. It imports none of them.
//
// Reading the source: environment.go, store.go, log.go.
package environment
