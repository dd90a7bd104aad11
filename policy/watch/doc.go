// Package watch says what an edit asks for: which recorded commands to run again, which kernels
// have become others, on which captured launches these can be tuned, and in which order. It runs
// nothing itself: a World does, which policy/retune makes of driver, search and profile/replay, and
// tests of what they like.
//
// Files: watch.go the nouns and the loop, match.go kernels and captures, try.go commands that are
// run again, tune.go kernels that are tuned, status.go the status as text.
package watch
