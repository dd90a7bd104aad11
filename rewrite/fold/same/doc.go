// Package same compares what the compiler made of a kernel and of a variant of it, and tells
// whether each floating-point operation of the source was treated alike in both: contracted with
// the same product or with none, and not computed by the compiler with other bits than the GPU's.
//
// fold tells what a compiler could do, before it runs; this package what cicc did. What ptxas did
// with the sums that cicc left to it is not in the PTX: the answer lists what has to be asked of
// the machine code.
//
// same.go is the question, model.go and graph.go what is read of a kernel, local.go its variables
// in local memory, folded.go what its loads may be handed, fused.go the sums of which it is known
// what ptxas did, constant.go and values.go what may become known, copy.go variants that are
// copies but for integers, match.go the search for each instruction's original, choice.go and
// otherwise.go the sums, sign.go where a change of sign may have gone, scaled.go products with a
// power of two, neutral.go operations that a constant takes away, selection.go values that are
// chosen from the same two, origins.go what an operand may hold, address.go and written.go what a
// load may read.
package same
