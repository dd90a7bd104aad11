// Package environment is what all rooms of driver read of the process's surroundings: the variables
// of the environment (ours, and those that a compile depends on), the store, the log of GNVCC_LOG
// and the files of GNVCC_KEEP.
//
// Callers: the rooms of driver. It imports none of them.
//
// Reading the source: environment.go, store.go, log.go.
package environment
