// Package predict estimates, from machine code alone, how long candidates of one kernel take
// against each other. Nothing was run, and whatever shows a prediction says so.
//
// policy and cmd may call it; it calls sim, sim/cubin and sim/sass, and runs no tool.
//
// Files: units.go rates and latencies by class, ours.go the model, rank.go candidates in order,
// chance.go how often such predictions came true.
package predict
