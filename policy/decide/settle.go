package decide

import (
	"fmt"
	"strings"
	"time"

	"gnvcc/cache"
	"gnvcc/policy"
	"gnvcc/rewrite/recipe"
)

// What is decided at the end of a run.
//
// A kernel's recipe is chosen over all its configurations, each weighted by its launches times its
// time. Eligible is a recipe that was compared on fresh samples on every configuration that was
// measured (in this run or, by the notebook, in those that the earlier decision rests on), that is
// Better on one of them at least, Harmful (more than 1 % slower) on none, and refused on none. Of
// these the one that saves most time. Where guards did not hold for some launches (their arguments
// varied), those count with the kernel's own time.

// A Result is one kernel as a run left it.
type Result struct {
	Kernel   policy.Kernel
	Device   string          // the model of the GPU
	Decision *cache.Decision // nil if nothing was measured or decided
	Alone    []string        // why it was left alone, or configurations of it were
	Lost     string          // what ended a process while this kernel was tuned
	Withheld string          // a recipe that is faster where it was measured, and why it is not adopted
	Unheld   string          // of an earlier recipe with values: that no launch had them
	Between  []policy.Shape  // sizes that were not measured, and for which others stand
}

// Run is what a run's decisions are made with.
type Run struct {
	Options *policy.Options
	Memory  policy.Memory
	Now     func() time.Time
	Kernels []*Findings // in the order of their first launches
}

// Settle decides on every kernel. Results come in the kernels' order.
func (t *Run) Settle() []Result {
	var out []Result
	for _, k := range t.Kernels {
		r := Result{Kernel: k.Kernel, Device: k.Device, Lost: k.Lost, Alone: k.leftAlone()}
		k.between = nil
		if k.Lost == "" && k.Identity != "" {
			var eligible []choice
			if k.Alone == "" {
				eligible = t.eligible(k)
			}
			r.Decision = t.decide(k, eligible)
			r.Between = k.between
			if len(eligible) == 0 {
				r.Withheld = k.withheld
			}
			r.Unheld = k.unheld()
			if r.Decision != nil && r.Unheld != "" {
				r.Decision.Evidence.Note = strings.TrimPrefix(r.Decision.Evidence.Note+"; "+r.Unheld, "; ")
			}
		}
		out = append(out, r)
	}
	return out
}

// leftAlone lists why it was left alone: altogether, or configurations of it.
func (k *Findings) leftAlone() (out []string) {
	if k.Alone != "" {
		return []string{k.Alone}
	}
	for _, c := range k.Configs {
		if c.Alone != "" {
			out = append(out, c.Alone)
		}
	}
	return out
}

// unheld says of an earlier recipe with values that no launch of this run had them, "" if one did
// or may have.
func (k *Findings) unheld() string {
	if k.Past == nil {
		return ""
	}
	r, err := recipe.Parse(k.Past.Recipe)
	if err != nil || !r.HasSecond() {
		return ""
	}
	seen := false
	for _, c := range k.Configs {
		if c.Launch == nil {
			continue
		}
		seen = true
		for _, t := range r.Terms {
			if g, err := t.Guard(); err == nil && !c.excluded(&k.Kernel, g) {
				return ""
			}
		}
	}
	if !seen {
		return ""
	}
	return fmt.Sprintf(
		"no launch of this run met the conditions of %s: all ran the default kernel",
		k.Past.Recipe)
}
