package decide

import (
	"slices"
	"sort"

	"gnvcc/policy"
	"gnvcc/policy/lever"
	"gnvcc/profile"
	"gnvcc/rewrite"
	"gnvcc/rewrite/recipe"
)

// What a candidate must be to be measured at all, and what is taken in a winner's place. These
// rules look at builds and figures; whoever measures asks them in between (policy/search).

// Shrinks says, from the build alone, why a candidate could fail where the default would not; ""
// where it could not. largest is the default's largest block.
func Shrinks(k *policy.Kernel, r recipe.Recipe, c *policy.Candidate, largest int,
	launch *profile.Launch) string {
	l := rewrite.Launches{Largest: lever.Needed(r, largest), Waits: k.Awaits,
		Instead: r.HasSecond()} // the Compiler has looked at the file's other kernels
	if l.Waits == "" && !r.HasSecond() { // a second entry is launched by <<<>>> alone
		l.Waits = k.Together
		if launch.Together() {
			l.Waits = "the launch is cooperative, or in clusters"
		}
	}
	dynamic := launch.Dynamic
	if lever.ForDynamic(r) {
		l.Dynamic = &dynamic
	}
	was := rewrite.Code{Registers: k.Default.Registers, Shared: k.Default.Shared,
		Stack: k.Default.Stack}
	now := rewrite.Code{Registers: c.Build.Registers, Shared: c.Build.Shared, Threads: c.Limit(),
		Stack: c.Build.Stack}
	if err := l.Shrinks(was, now); err != nil {
		return err.Error()
	}
	return ""
}

// Copies reports whether a trial's code was had before, and notes whose figures it has: the
// default's, whose code is original, or another trial's.
func Copies(tr *policy.Trial, original string, other *policy.Trial) bool {
	switch {
	case tr.Code == "":
		return false
	case tr.Code == original:
		tr.Same, tr.Ratio = "-", 1
		return true
	case other == nil:
		return false
	}
	tr.Same, tr.Ratio = other.Text, other.Ratio
	if other.Refused != "" {
		tr.Refused, tr.Because = other.Refused, other.Because
	}
	return true
}

// Within reports whether a difference is allowed: none, or one within the bound that the user gave.
func Within(o *policy.Options, k *policy.Kernel, d profile.Difference) bool {
	return o.Within.Allows(k.ErrorOf(d))
}

// Simple are the trials that are compared with a winner because they are simpler: those that the
// race saw within 3 % of it, the two simplest. Few samples don't tell more.
func Simple(trials []*policy.Trial, winner *policy.Trial) []*policy.Trial {
	var simple []*policy.Trial
	for _, tr := range trials {
		if tr != winner && tr.Ratio <= winner.Ratio*1.03 && policy.Simpler(tr.Recipe, winner.Recipe) {
			simple = append(simple, tr)
		}
	}
	sort.SliceStable(simple, func(i, j int) bool {
		return policy.Simpler(simple[i].Recipe, simple[j].Recipe)
	})
	return simple[:min(2, len(simple))]
}

// Unhinted are the trials that are compared with a winner whose gain is smaller in another state of
// the L2 cache: the fastest that lack one lever's hints of it. None for a winner of which that is
// not so.
func Unhinted(trials []*policy.Trial, winner *policy.Trial) (out []*policy.Trial) {
	if c := winner.Confirmed; c == nil || c.Careful() <= 1.01*c.Ratio.Estimate {
		return nil
	}
	for _, hint := range lever.Caching() {
		if !lever.Has(winner.Recipe, hint) {
			continue
		}
		i := slices.IndexFunc(trials, func(tr *policy.Trial) bool { return !lever.Has(tr.Recipe, hint) })
		if i >= 0 && trials[i].Ratio <= lever.Step && !slices.Contains(out, trials[i]) {
			out = append(out, trials[i])
		}
	}
	return out
}

// Instead reports whether a simpler trial is taken in a winner's place: it loses less than 1 %. Both
// were compared with the default on fresh samples.
func Instead(simpler, winner *policy.Trial) bool {
	return simpler.Confirmed.Careful() <= winner.Confirmed.Careful()*1.01
}
