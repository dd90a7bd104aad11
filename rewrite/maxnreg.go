package rewrite

import (
	"errors"
	"fmt"

	"gnvcc/rewrite/pass"
	"gnvcc/rewrite/recipe"
)

// MaxNReg is the lever's name.
const MaxNReg = "maxnreg"

// maxnreg=N sets the number of registers that ptxas may give a thread, down or up.
//
//	.visible .entry k(.param .u64 p)      .visible .entry k(.param .u64 p)
//	{                                     .maxnreg 56
//	                                      {
//
// It beats -maxrregcount, takes the place of the source's own .maxnreg and .minnctapersm, works
// beside .maxntid, and raises the count as well as lowering it, since ptxas without a cap
// settles on 32, 40, 48, ... by itself. It is met only roughly: read the count back from the
// cubin.
//
// Allowed: N from 24 (ptxas raises less to 24, with a warning) to 255 (the instruction set's
// limit). Not with setmaxnreg, whose warps trade registers from the count at launch. What the
// source or the command line asks for is policy's business: who kept it (tune
// --keep-directives) has no such recipe.
//
// Safe: the instructions' arithmetic is the same. A launch could fail only where a block needs more
// registers than an SM has, so the largest block that fits must not become smaller than with nvcc's
// own compile (see fitsBefore).
//
// From: Li et al., Critical Points Based Register-Concurrency Autotuning for GPUs, DATE 2016.
func maxnreg(k *pass.Kernel, terms []recipe.Term) error {
	value, err := pass.Only(terms)
	if err != nil {
		return err
	}
	n, err := recipe.Number(value, pass.MinRegisters, pass.MaxRegisters)
	if err != nil {
		return err
	}
	if k.Machine.Trades { // in this file; in this kernel?
		t, err := k.Uses()
		if err != nil {
			return err
		}
		if t.SetMaxNReg {
			return errors.New(
				"the kernel moves registers between warps (setmaxnreg), which builds on the count at launch")
		}
	}
	for _, name := range boundDirectives {
		if _, ok := k.Directive(name); ok {
			k.RemoveDirective(name)
		}
	}
	if !k.Options.ReadBack {
		before := k.Options.Registers[k.Name]
		if !fitsBefore(k.Func, before, n) {
			return fmt.Errorf(
				"blocks of %d threads, which can be launched now, could not be with %d registers a thread (at most %d)",
				LargestBlock(k.Func, before), n, largestCount(k.Func, before))
		}
	}
	k.AddDirective(fmt.Sprintf(".maxnreg %d", n))
	return nil
}

// boundDirectives are hints for a kernel's registers.
var boundDirectives = []string{".maxnreg", ".minnctapersm", ".maxnctapersm"}
