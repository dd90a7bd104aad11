// Package contract tells which sums of a kernel nvcc's own build contracts with which products, and
// writes the same into variants of it that are compiled by -fmad=0, or into its own PTX before that
// is rewritten: PTX that leaves it open leaves it to ptxas, and ptxas may decide in another way
// where anything near the sum is rewritten. docs/contraction.md has why that is sound.
//
// Callers: driver/compile, which compiles the texts, and reads in the machine code what ptxas did
// in nvcc's own build.
//
// Reading the source: write.go; body.go (a function's values and places), own.go (what nvcc's own
// build does), match.go and leaf.go (which sums are the same), present.go and begins.go (that none
// was computed by a compiler).
package contract
