// Package confirm compares two runs of a program, one as nvcc builds it and one with recipes, and says
// of each recipe whether the program keeps it. What a search finds is measured on single launches,
// replayed alone: a hint that makes one kernel 1.05 times as fast may make the next one slower, and
// a launch that was captured may stand for no other.
//
// policy/tuner notes what runs took, and enters the verdicts. Nothing is launched here.
//
// Files: run.go what a run took, judge.go the rule, drift.go kernels that are the same in both runs,
// text.go verdicts for people.
package confirm
