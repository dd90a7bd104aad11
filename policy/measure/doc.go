// Package measure compares builds of a kernel on one launch that stands still in a session
// (profile.Session): first times, warming up, the check of bytes, times in turn, both states of the
// L2 cache. It is the one place with that rule; the search, compare and judge decide by what it gives.
//
// In this order: Begin, Warm, Steady; then of each build that is loaded Check, Fresh and Careful.
package measure
