// Package source is the source stage: it rewrites the preprocessed device code of one translation
// unit (cicc's input, x.cpp1.ii) so that LLVM compiles one kernel in another way, and changes
// nothing else.
//
// It has a reader (Parse) that finds the user's kernels, their parameters and loops; three
// levers, unrolling, approximate functions (for those who ask) and specialisation (Unit.Rewrite),
// for launches that the host chooses by Kernel.Conditions. Kernels of several variants are put into
// one module by rewrite/merge.
//
// It is no C++ front end. It understands as much as it needs, and refuses what it is not sure of
// (refusal), so that the kernel stays as nvcc makes it. What it lets through is always the same
// program: an unrolling factor is a hint, and a specialised kernel is launched only where its
// conditions hold.
//
// The driver may call it (the build) and the tuner through it. It imports gnvcc/rewrite/recipe for
// terms and gnvcc/rewrite/ptx for signatures, nothing else of ours.
//
// Reading the source: lex.go and lines.go (bytes to tokens and positions), decl.go and class.go
// (functions and classes), params.go, body.go, types.go, layout.go (what is inside), kernel.go and
// reach.go (from a PTX name to a kernel and its loops), values.go (what can be fixed), unroll.go,
// fastmath.go, spec.go, edit.go, rewrite.go (the text that comes out), joint.go, host.go,
// resident.go (launches that need all blocks at once), signature.go; unit.go ties them together.
package source
