// Package watch decides what an edit requires: which recorded commands to run again, which kernels have
// changed, on which captured launches these can be tuned, and in which order. It runs nothing itself: a
// World does, which policy/retune implements, and tests simulate.
//
// Files: watch.go the nouns and the loop, match.go kernels and captures, try.go commands that are
// run again, tune.go kernels that are tuned, status.go the status as text.
package watch
