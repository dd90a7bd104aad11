package decide

import (
	"gnvcc/cache"
	"gnvcc/policy"
	"gnvcc/profile"
	"gnvcc/rewrite"
	"gnvcc/rewrite/recipe"
)

// What a run found of its kernels: all that a decision is made from.

// Findings are those of one kernel.
type Findings struct {
	policy.Kernel
	Alone   string    // why it is left alone altogether
	Lost    string    // what ended a process while this kernel was tuned: nothing is adopted
	Configs []*Config // its configurations, in the order of their first launches
	// why its results differ from run to run with nvcc's own code: nothing can be compared, and no
	// recipe serves it that is not exact by construction; "" where they are the same
	Unsteady string
	won      []recipe.Recipe
	between  []policy.Shape // sizes that others stand for, by what was decided
	Device   string
	Past     *cache.Decision // of an earlier run

	// a recipe that was not measured on enough of the launches, and why it is not adopted
	withheld string
}

// A Phase says how far a run has come with a configuration.
type Phase int

const (
	Unsearched Phase = iota // no launch of it was looked at yet
	Passed                  // and none will be
	Searched                // later launches are looked at, to check what won
	Closed                  // later launches are not looked at
)

// Config is what was found of one configuration.
type Config struct {
	Shape    policy.Shape
	Notebook Notebook
	Launch   *profile.Launch
	Before   cache.Time
	Alone    string // why there was no search; "" if there was, or will be
	Own      bool   // the search was its own: not only what won elsewhere was compared
	Short    bool   // its launches are too short for a search
	Phase    Phase
	Count    int
	Varied   int
	Seconds  float64           // that its launches took in the program; 0: not known
	Sampled  int               // launches that were timed there
	Classes  []profile.Class   // all of them by time; none: not known
	Note     string            // for people
	Random   policy.Error      // by which the kernel's own results differ from run to run
	Untried  map[string]string // levers with nothing to try, and why
}

// Searched reports whether a launch of it was searched on.
func (c *Config) Searched() bool { return c.Phase >= Searched }

// Open reports whether launches of it may still be looked at.
func (c *Config) Open() bool { return c.Phase != Passed && c.Phase != Closed }

// Close ends it: no launch of it is looked at any more.
func (c *Config) Close() {
	if c.Searched() {
		c.Phase = Closed
	} else {
		c.Phase = Passed
	}
}

// Trial returns what is known of a recipe, nil if nothing.
func (c *Config) Trial(text string) *policy.Trial {
	for _, tr := range c.Notebook.Trials {
		if tr.Text == text {
			return tr
		}
	}
	return nil
}

// Forget takes a trial out of the notebook.
func (c *Config) Forget(tr *policy.Trial) {
	for i, other := range c.Notebook.Trials {
		if other == tr {
			c.Notebook.Trials = append(c.Notebook.Trials[:i:i], c.Notebook.Trials[i+1:]...)
			return
		}
	}
}

// at returns the configuration of a shape, nil if there was none.
func (k *Findings) at(shape policy.Shape) *Config {
	for _, c := range k.Configs {
		if c.Shape == shape {
			return c
		}
	}
	return nil
}

// divided reports whether this run divides a configuration otherwise than an earlier one did: by sets
// of values, by others, or no longer. What was measured on all of it then stands for none.
func (k *Findings) divided(shape policy.Shape) bool {
	whole := shape
	for _, c := range k.Configs {
		if whole.Set = c.Shape.Set; c.Shape == whole && (whole.Set == "") != (shape.Set == "") &&
			c.Searched() {
			return true
		}
	}
	return false
}

// Searched counts the configurations that were searched.
func (k *Findings) Searched() int {
	n := 0
	for _, c := range k.Configs {
		if c.Searched() {
			n++
		}
	}
	return n
}

// Win notes a recipe that is better somewhere.
func (k *Findings) Win(r recipe.Recipe) {
	for _, old := range k.won {
		if old.String() == r.String() {
			return
		}
	}
	k.won = append(k.won, r)
}

// Winners returns the recipes that won on any configuration and were refused on none.
func (k *Findings) Winners() []recipe.Recipe {
	var out []recipe.Recipe
	for _, r := range k.won {
		if k.refused(r.String()) == "" && k.Incomparable(r) == "" {
			out = append(out, r)
		}
	}
	return out
}

// Incomparable says why a recipe's results can't be checked where it needs that, "" if they can, or
// it does not.
func (k *Findings) Incomparable(r recipe.Recipe) string {
	if k.Unsteady == "" || rewrite.ExactnessOf(r) == rewrite.ByConstruction {
		return ""
	}
	return k.Unsteady + ": what changes its arithmetic can't be checked"
}

// refused says why a recipe was refused on any configuration, "" if on none.
func (k *Findings) refused(text string) string {
	for _, c := range k.Configs {
		if tr := c.Trial(text); tr != nil && tr.Refused != "" {
			return tr.Refused
		}
	}
	return ""
}

// measured returns the configurations that a decision must regard.
func (k *Findings) measured() []*Config {
	var out []*Config
	for _, c := range k.Configs {
		if c.Searched() && c.Alone == "" && len(c.Notebook.Trials) > 0 {
			out = append(out, c)
		}
	}
	return out
}

// earlier returns configurations of the earlier decision that this run did not see, from the
// notebook.
func (k *Findings) earlier(t *Run) []*Config {
	if k.Past == nil || k.Past.Evidence.Device != k.Device {
		return nil
	}
	var out []*Config
	for _, l := range k.Past.Evidence.Launches {
		shape := policy.ShapeMeasured(l)
		if c := k.at(shape); c != nil && c.Searched() || k.divided(shape) {
			continue
		}
		c := &Config{Shape: shape, Count: l.Count, Seconds: l.Seconds, Before: l.Before, Phase: Searched}
		if c.Notebook = Read(t.Memory, Key(k.Identity, k.Device, shape, t.Options.Leave()),
			k.Identity); len(c.Notebook.Trials) > 0 {
			out = append(out, c)
		}
	}
	return out
}
