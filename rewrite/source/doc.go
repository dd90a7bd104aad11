// Package source is the source stage: it rewrites the preprocessed device code of one translation unit (cicc's input,
// x.cpp1.ii) so that LLVM compiles one kernel in another way, and changes nothing else.
//
// It has a reader (Parse) that finds the user's kernels, their parameters, loops and hazards; two levers, unrolling and
// guarded specialisation (Unit.Rewrite); and what puts the kernels of several variants back into one PTX module
// (MergeShared, Assemble).
//
// It is no C++ front end. It tells apart what it has to, and where it is not sure it refuses (Refusal), so that the kernel
// stays as nvcc makes it. What it lets through is always the same program: an unrolling factor is a hint, and a
// specialised copy stands behind a guard with the plain copy beside it.
//
// The driver may call it (the build) and the tuner through it. It imports gnvcc/rewrite for the recipe's terms, nothing
// else of ours.
package source
