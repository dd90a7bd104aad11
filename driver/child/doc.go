// Package child runs a tool as if it had been started directly: the same files, the same signals, the
// same exit, its messages passed on as they come, and recorded.
//
// Callers: driver/stage; driver/job and driver/compile for what a tool said and how it ended.
//
// Reading the source: child.go, runtime.go (when Go itself gives up).
package child
