package confirm

import (
	"fmt"
	"math"
	"slices"
	"strings"

	"gnvcc/policy/stats"
	"gnvcc/rewrite"
	"gnvcc/rewrite/recipe"
)

// The rule. A kernel's launches with its recipe are compared with those of nvcc's code in another run,
// all of them, the clock taken out. Kept is what takes less, by half of the least gain that is looked for
// (stats.Rule) and beyond chance; taken back what does not, beyond chance. Where a kernel without
// a new recipe is slowed and a recipe changes what caches keep, that is taken back unless it gains
// more than was lost. What can't be compared is left as it is.

// A Proposal is a recipe that the second run was built with.
type Proposal struct {
	Identity, Short, Recipe string
	Promised                float64 // nvcc's time over the recipe's, by replays
	Replay                  float64 // seconds of a launch of nvcc's code in replays, in the mean; 0: not known
}

// State is what becomes of one.
type State uint8

const (
	Open      State = iota // it stays proposed
	Kept                   // the program is faster by it
	TakenBack              // it is not
)

// A Verdict is what the program says of a proposal.
type Verdict struct {
	Proposal
	State         State
	Program       float64 // nvcc's time over the recipe's in the program, 0: not known
	Before, After float64 // seconds of all launches, without the clock's drift
	Why           string  // why it stays open, or is taken back

	deviation float64
}

// A Comparison is two runs compared.
type Comparison struct {
	Verdicts []Verdict
	Drift    float64 // what the clock made of times
	// seconds of all kernels, without that; of the spans, as they were
	Before, After         float64
	SpanBefore, SpanAfter float64
	Slowed                []string // kernels without new recipes that take longer, for people
}

const (
	fewest = 4 // launches that are timed, from which on a mean is believed
	// seconds by which events around a launch may be off, at the most; alike in both runs
	around = 30e-6
	// part of the launches by which runs may differ
	alike = 0.02
)

// Base is the newest run in which most of the proposals were nvcc's own code, nil: there is none.
func Base(runs []Run, now *Run, list []Proposal) (base *Run) {
	most := 0
	for i := range runs {
		n := 0
		for _, p := range list {
			if k := runs[i].kernel(p.Identity); k != nil && k.Recipe == "" {
				n++
			}
		}
		if runs[i].Device == now.Device && n > most {
			base, most = &runs[i], n
		}
	}
	return base
}

// Judge compares two runs; base: nil, there is none.
func Judge(base, now *Run, list []Proposal, rule stats.Rule) Comparison {
	var out Comparison
	for _, p := range list {
		out.Verdicts = append(out.Verdicts, Verdict{Proposal: p, Why: "no run of nvcc's own code on this GPU is on record"})
	}
	if base == nil {
		return out
	}
	same := references(base, now)
	ratio, deviation := drift(same)
	out.Drift, out.SpanBefore, out.SpanAfter = ratio, base.Span, now.Span
	if ratio > mostDrift || ratio < 1/mostDrift {
		for i := range out.Verdicts {
			out.Verdicts[i].Why = fmt.Sprintf("kernels without new recipes take %.2f times what they took: the runs can't be compared", ratio)
		}
		return out
	}
	for i := range out.Verdicts {
		out.Verdicts[i].judge(base, now, ratio, deviation, rule)
	}
	late := slowed(same, ratio, deviation)
	for _, k := range late {
		out.Slowed = append(out.Slowed, fmt.Sprintf("%s takes %.2f times what it took", k.Short, k.ratio/ratio))
	}
	out.blame(late, ratio)
	out.whole(same, ratio, deviation)
	return out
}

// judge compares one kernel.
func (v *Verdict) judge(base, now *Run, drift, deviation float64, rule stats.Rule) {
	was, is := base.kernel(v.Identity), now.kernel(v.Identity)
	switch {
	case is == nil:
		v.Why = "it was not launched in this run"
		return
	case is.Recipe != v.Recipe:
		v.Why = "the program is not built with its recipe: gnvcc apply, and link it"
		return
	case was == nil || was.Recipe != "":
		return
	}
	if v.Why = differs(was, is); v.Why != "" {
		return
	}
	v.Before, v.After = was.seconds(), is.seconds()/drift
	before, after := perLaunch(was), perLaunch(is)/drift
	off := before - v.Replay // what events around it take
	if v.Replay == 0 || off < 0 || off > around || off >= after {
		off = 0
	}
	r := (after - off) / (before - off)
	v.Program = 1 / r
	v.deviation = math.Hypot(math.Hypot(was.deviation(), is.deviation())*before/(before-off), deviation)
	enough := 1 / (1 + rule.MinEffect/2)
	switch {
	case r-2*v.deviation > 1:
		v.State, v.Why = TakenBack, "slower in the program"
	case r-2*v.deviation > enough:
		v.State, v.Why = TakenBack, "no faster in the program"
	case r <= enough && r+2*v.deviation < 1:
		v.State = Kept
	default:
		v.Why = fmt.Sprintf("too close to tell (by %.1f %%)", 200*v.deviation)
	}
}

// differs says why two runs' launches of a kernel can't be compared, "" if they can.
func differs(was, is *Kernel) string {
	if a, b := was.count(), is.count(); math.Abs(float64(a-b)) > alike*float64(a) {
		return fmt.Sprintf("launched %d times, and %d times as nvcc's code: another input?", b, a)
	}
	r, err := recipe.Parse(is.Recipe)
	for _, s := range is.Shapes {
		if s.Seconds < alike*is.seconds() {
			continue
		}
		known := slices.ContainsFunc(was.Shapes, func(o Shape) bool {
			return o.Grid == s.Grid && o.Block == s.Block || s.Entry && err == nil && becomes(r, o, s)
		})
		if !known {
			return "launched in other sizes than as nvcc's code: another input?"
		}
	}
	if min(was.sampled(), is.sampled()) < fewest {
		return fmt.Sprintf("too few launches were timed (%d)", min(was.sampled(), is.sampled()))
	}
	return ""
}

// becomes reports whether a second entry is launched so in the place of a launch.
func becomes(r recipe.Recipe, from, to Shape) bool {
	entries, err := r.Entries()
	return err == nil && slices.ContainsFunc(entries, func(e recipe.Recipe) bool {
		grid, block, ok := rewrite.MannerOf(e).Launch(from.Grid, from.Block)
		return ok && grid == to.Grid && block == to.Block
	})
}

// blame takes back what slowed others by what it leaves in the caches, where that costs more than
// these proposals gain.
func (c *Comparison) blame(late []reference, drift float64) {
	lost := 0.0
	for _, k := range late {
		lost += k.before * (k.ratio/drift - 1)
	}
	gained := 0.0
	var list []*Verdict
	for i := range c.Verdicts {
		if v := &c.Verdicts[i]; v.State != TakenBack && v.Program > 0 && caches(v.Recipe) {
			list, gained = append(list, v), gained+v.Before-v.After
		}
	}
	if lost == 0 || gained > lost {
		return
	}
	for _, v := range list {
		v.State, v.Why = TakenBack, "it changes what caches keep, and "+strings.Join(c.Slowed, "; ")
	}
}

// caches reports whether a recipe says what caches keep.
func caches(text string) bool {
	r, err := recipe.Parse(text)
	return err == nil && (rewrite.Uses(r, "hint") || rewrite.Uses(r, "bypass"))
}

// whole adds up, and takes everything back where all kernels together take longer.
func (c *Comparison) whole(same []reference, drift, deviation float64) {
	for _, k := range same {
		c.Before, c.After = c.Before+k.before, c.After+k.before*k.ratio/drift
	}
	chance := c.Before * c.Before * deviation * deviation
	for _, v := range c.Verdicts {
		if v.Program > 0 && v.State != TakenBack {
			c.Before, c.After = c.Before+v.Before, c.After+v.After
			chance += v.Before * v.Before * v.deviation * v.deviation
		}
	}
	if c.After-2*math.Sqrt(chance) <= c.Before {
		return
	}
	for i := range c.Verdicts {
		if v := &c.Verdicts[i]; v.State != TakenBack && v.Program > 0 {
			v.State = TakenBack
			v.Why = fmt.Sprintf("all kernels together take %.2f times what they took", c.After/c.Before)
		}
	}
}
