package confirm

import "fmt"

// String is a verdict as people read it.
func (v Verdict) String() string {
	what := fmt.Sprintf("%s: %s: promised %.2f", v.Short, v.Recipe, v.Promised)
	if v.Program > 0 {
		what += fmt.Sprintf(", in the program %.2f", v.Program)
	}
	switch v.State {
	case Kept:
		return what + ": kept"
	case TakenBack:
		return what + ": taken back: " + v.Why
	}
	return what + ": stays proposed: " + v.Why
}

// Lines are all of a comparison, for people.
func (c Comparison) Lines() (out []string) {
	for _, v := range c.Verdicts {
		out = append(out, v.String())
	}
	for _, s := range c.Slowed {
		out = append(out, "no recipe of its own was compared, and "+s)
	}
	if c.Before > 0 && c.After > 0 {
		text := fmt.Sprintf("kernels that can be compared: %.3g s as nvcc builds them, %.3g s now (%.2f)", c.Before,
			c.After, c.Before/c.After)
		if c.SpanBefore > 0 && c.SpanAfter > 0 {
			text += fmt.Sprintf("; from the first launch to the last %.3g s and %.3g s", c.SpanBefore, c.SpanAfter)
		}
		out = append(out, text)
	}
	return out
}
