package judge

import (
	"fmt"

	"gnvcc/cache"
	"gnvcc/policy"
)

// What is said of an edit.

// A Judgement is what came of one edit.
type Judgement struct {
	File, Of      string
	Kernels       []JudgedKernel
	Equal, Faster bool // all of them; one is, and none is slower
	Notes         []string
	Error         string  `json:",omitempty"` // it could not be judged
	Compiled, Ran float64 // seconds
}

// A JudgedKernel is one of the file's.
type JudgedKernel struct {
	Kernel, Short string
	Emulated      bool // nothing was run on a GPU
	SameCode      bool // the machine code is the original's: nothing was run at all
	Verdict
	Faster, Slower bool
	// edit over original: below 1 is faster; 0: not known. With Predicted it was not measured
	Ratio, Low, High float64
	Predicted        bool
	Original, Edit   cache.Build
	Notes            []string
}

// note says what an edit needs more of.
func (k *JudgedKernel) note() {
	for _, x := range []struct {
		what     string
		was, now int
	}{{"bytes of static shared memory", k.Original.Shared, k.Edit.Shared},
		{"bytes of local memory a thread", k.Original.Stack, k.Edit.Stack},
		{"bytes of spills", k.Original.Spill, k.Edit.Spill}} {
		if x.now > x.was {
			k.Notes = append(k.Notes, fmt.Sprintf("it needs %d %s, the original %d", x.now, x.what, x.was))
		}
	}
}

// Sentence says it for people.
func (k *JudgedKernel) Sentence() string {
	var text string
	switch {
	case k.SameCode:
		text = "the same machine code"
	case k.How == Same:
		text = fmt.Sprintf("the same bytes on %s", policy.Count(k.Launches, "launch"))
	case k.How == Near:
		text = fmt.Sprintf("within what is allowed on %s", policy.Count(k.Launches, "launch"))
	case k.How == Hangs:
		text = "NOT EQUAL: it does not end: " + k.Why
	default:
		text = "NOT EQUAL: " + k.Why
	}
	if !k.Equal && k.Where != "" {
		text += " (" + k.Where + ")"
	}
	switch {
	case k.Ratio <= 0:
	case k.Predicted:
		text += fmt.Sprintf("; predicted to be %.2f times as fast (not measured)", 1/k.Ratio)
	default:
		text += fmt.Sprintf("; %.3f times as fast (%.3f to %.3f)", 1/k.Ratio, 1/k.High, 1/k.Low)
	}
	return text
}

// Lines are what else there is to say.
func (k *JudgedKernel) Lines() (out []string) {
	if k.Original.Registers != k.Edit.Registers {
		out = append(out, fmt.Sprintf("%d registers, the original %d", k.Edit.Registers,
			k.Original.Registers))
	}
	out = append(out, k.Notes...)
	if k.Emulated && !k.SameCode {
		out = append(out, "run in the emulator, not on a GPU")
	}
	if k.Unstable {
		out = append(out,
			"in another order of blocks the original leaves other bytes: these were compared in one order alone")
	}
	if k.Modelled {
		out = append(out, "special functions were needed (sin, rsqrt, ...), whose results are modelled")
	}
	return out
}
