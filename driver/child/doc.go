// Package child runs a tool so that nobody can tell it from the tool run in our place: the same
// files, the same signals, the same death, its messages passed on as they come and kept.
//
// Callers: driver/stage; driver/job and driver/compile for what a tool said and how it ended.
//
// Reading the source: child.go.
package child
