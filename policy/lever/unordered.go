package lever

import (
	"slices"

	"gnvcc/policy"
	"gnvcc/rewrite/ptx"
	"gnvcc/rewrite/ptx/ir"
)

// Unordered says why a kernel's results may differ from run to run, "" where its PTX shows no reason:
// atomics, whose order the hardware decides (PTX ISA, atom and red), and special registers that count
// time (%clock, %clock64, %globaltimer). Sums of floats are rounded otherwise in another order; sums of
// integers that nothing reads are not.
var Unordered = policy.NewFact(unordered)

func unordered(c policy.Code) string {
	r, err := c.Module.Reach(c.Entry.Name)
	if err != nil {
		return ""
	}
	sums, atomics, clock := false, false, false
	for n, f := range r.Funcs {
		w, err := ir.Of(f)
		if err != nil || n > 0 && f.Entry {
			continue
		}
		clock = clock || w.Others["%clock"] || w.Others["%clock_hi"] || w.Others["%clock64"] || w.Others["%globaltimer"]
		for i := range f.Stmts {
			if x := w.Inst(i); (x.Op == "atom" || x.Op == "red") && !w.Sums(x) {
				atomics = true
				sums = sums || slices.ContainsFunc(x.Words, func(word string) bool {
					return ptx.HasAny([]byte("."+word), "f16", "f16x2", "bf16", "bf16x2", "f32", "f64")
				})
			}
		}
	}
	switch {
	case sums:
		return "its sums depend on the order of atomics"
	case atomics:
		return "its results depend on the order of atomics"
	case clock:
		return "its results depend on a clock that it reads"
	}
	return ""
}
