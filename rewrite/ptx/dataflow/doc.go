// Package dataflow tells what the registers of a PTX body hold, where it branches and what it loops
// around. It reads package ptx and changes nothing.
//
// loops.go, dominate.go and graph.go are about basic blocks alone; flow.go (liveness, groups of
// accesses), reaching.go (which writes a read may see) and origin.go (what a value is computed of)
// about registers; stride.go and indexed.go about what neighbouring threads compute; walk.go and
// spin.go look for spin loops.
package dataflow
