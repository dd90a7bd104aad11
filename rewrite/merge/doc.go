// Package merge puts kernels from several compiles of one translation unit into one PTX module.
//
// The source stage recompiles a translation unit for each recipe, but decisions are per
// kernel: each kernel is to come from the compile that was made for it, and all others are to stay
// the default ones, byte for byte. So the default module is the base; a kernel of another compile
// (a variant) replaces the default one or is added under a second name, and
// brings what it needs: string constants, and device functions that were not inlined, get names of
// their own where they differ from the default module's. Variables must be the default's.
//
// It is called by driver, in the ptxas stage and for the tuner's candidates.
package merge
