package lever

import (
	"bytes"

	"gnvcc/policy"
	"gnvcc/rewrite/ptx"
)

// Unordered says why a kernel's results may differ from run to run, "" where its PTX shows no reason:
// atomics, whose order the hardware decides (PTX ISA, atom and red), and special registers that count
// time (%clock, %clock64, %globaltimer). Sums of floats are rounded otherwise in another order. Of red
// on integers the order does not show.
var Unordered = policy.NewFact(unordered)

func unordered(c policy.Code) string {
	r, err := c.Module.Reach(c.Entry.Name)
	if err != nil {
		return ""
	}
	sums, atomics, clock := false, false, false
	for n, f := range r.Funcs {
		for i, s := range f.Stmts {
			if s.Kind != ptx.Inst || n > 0 && f.Entry {
				continue
			}
			op, text := f.Opcode(i), f.Text()[s.OpEnd:s.End]
			floats := ptx.HasAny(op, "f16", "f16x2", "bf16", "bf16x2", "f32", "f64")
			switch string(f.Base(i)) {
			case "atom":
				sums, atomics = sums || floats, true
			case "red":
				sums = sums || floats
			case "mov":
				clock = clock || bytes.Contains(text, []byte("%clock")) || bytes.Contains(text, []byte("%globaltimer"))
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
