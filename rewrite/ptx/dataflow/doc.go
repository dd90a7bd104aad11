// Package dataflow tells what the registers of a PTX body hold, where it branches and what it loops
// around. It reads package ptx and changes nothing.
//
// graph.go is about basic blocks alone. Where a value comes from: origin.go (the constant, the
// parameter or variable that an address begins with, the expression), affine.go (a constant and
// coefficients of leaves), compute.go (an instruction on numbers), forward.go (what is known of a
// register over all that write it); reaching.go says which writes a read may see, where the way
// matters. stride.go and indexed.go are about what neighbouring threads compute, flow.go about
// liveness and groups of accesses; walk.go and spin.go look for spin loops.
package dataflow
