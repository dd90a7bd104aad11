// Package predict estimates, from machine code alone, how long candidates of one kernel take
// against each other: by RegDem's compile-time predictor as its authors printed it, and by a model
// of ours. Nothing was run, and whatever shows a prediction says so.
//
// policy and cmd may call it; it calls sim, sim/cubin, sim/sass and sim/xmodel, and runs no tool.
//
// Files: regdem.go the paper's algorithm, units.go rates and latencies by class, ours.go our model,
// counted.go how often code runs by what was counted, throughput.go the X-model of a launch,
// chip.go what all SMs share, rank.go candidates in
// order, chance.go how often such predictions came true, picture.go the values that an explanation
// of a kernel draws.
package predict
