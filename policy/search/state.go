package search

import (
	"slices"
	"time"

	"gnvcc/policy"
	"gnvcc/policy/decide"
	"gnvcc/policy/lever"
	"gnvcc/profile"
	"gnvcc/rewrite"
	"gnvcc/rewrite/recipe"
)

// How far a run has come with each kernel and configuration, and what it may still spend on them.

// A kernel is what the run found of one, with what a run needs to go on.
type kernel struct {
	decide.Findings
	crashes  int               // of candidates, that cost a process of our own
	heapless *policy.Candidate // its build that does not allocate, once it was made
	configs  map[policy.Shape]*config
}

// A config is one configuration of a kernel.
type config struct {
	decide.Config
	key    string              // of its notebook
	fresh  map[string]bool     // recipes compared in this run
	looked map[string][]string // by recipe: the captures that it was compared on, in this run
	checks int                 // later launches looked at
	again  int                 // the last distance asked for
	winner *policy.Trial
	// when the launch was taken that is to be looked at: copying memory aside is the budget's, too
	asked   time.Time
	used    time.Duration // of the budget in this run
	cut     bool          // its search was ended by time
	goOn    bool          // the next launch's search goes on where the last one has ended
	retuned int           // searches because values changed
	resumed int           // searches because more was compiled meanwhile
}

const maxResumed = 3 // each may take a budget

// later asks for a launch later on: after 1, 2, 4, ... more launches.
func (c *config) later() profile.Verdict {
	c.again = max(1, 2*c.again)
	return profile.Verdict{Again: c.again}
}

// pending tells whether a searched configuration has something to be looked at at this launch.
func (k *kernel) pending(c *config, l *profile.Launch, o *policy.Options, p *pool) bool {
	const look = 10 // launches that it takes to check a winner
	if c.used+time.Duration(look*c.Before.Median) >= o.Budget {
		return false
	}
	if c.goOn {
		return true
	}
	if c.winner != nil && c.retuned < 2 && k.Broken(c.winner.Recipe, l) && c.searchable(o) {
		return true
	}
	if c.Phase == decide.Resumable && c.resumed < maxResumed && p.idle(&k.Kernel) && c.searchable(o) {
		return true
	}
	if c.missed(l.Capture) && c.checks < 2*o.Checks {
		return true
	}
	for _, r := range k.Winners() {
		tr := c.Trial(r.String())
		if tr == nil || tr.Refused == "" && tr.Confirmed == nil {
			return true
		}
		if tr.Refused == "" && c.checks < o.Checks {
			return true
		}
	}
	return false
}

// missed tells whether what won was not compared on a capture: a later one has chosen it.
func (c *config) missed(capture string) bool {
	return capture != "" && c.winner != nil && c.winner.Refused == "" && c.winner.Same == "" &&
		c.fresh[c.winner.Text] && !slices.Contains(c.looked[c.winner.Text], capture)
}

// looks is the part of a budget that is kept for later launches, on which what won is checked
// again.
const looks = 8

// left is what a search may use of the budget.
func (c *config) left(o *policy.Options) time.Duration { return o.Budget - o.Budget/looks - c.used }

// searchable tells whether that is enough to begin one.
func (c *config) searchable(o *policy.Options) bool { return c.left(o) > o.Budget/(2*looks) }

// config returns the configuration of a launch.
func (k *kernel) config(l *profile.Launch, t *Tuner) *config {
	shape := policy.ShapeOf(l)
	if c := k.configs[shape]; c != nil {
		return c
	}
	c := &config{Config: decide.Config{Shape: shape, Launch: l}, fresh: map[string]bool{},
		key: decide.Key(k.Identity, k.Device, shape, t.o.Leave())}
	if k.Identity != "" {
		c.Notebook = decide.Read(t.memory, c.key, k.Identity)
	}
	k.configs[shape] = c
	k.Configs = append(k.Configs, &c.Config)
	return c
}

// remember brings in an earlier decision: its recipe competes, and its configurations count.
func (k *kernel) remember(t *Tuner, device string) {
	if t.sink == nil {
		return
	}
	k.Past = t.sink.Past(&k.Kernel, device)
	if k.Past == nil || k.Past.Recipe == "" {
		return
	}
	r, err := recipe.Parse(k.Past.Recipe)
	if err != nil || rewrite.ExactnessOf(r) > t.o.Exact {
		return
	}
	if !lever.Allowed(&t.o, &k.Kernel, r) {
		return
	}
	entries, err := r.Entries()
	if err != nil {
		return
	}
	if len(entries) < 2 {
		k.Win(r)
		return
	}
	for _, e := range entries { // each is a kernel of its own, and is looked at by itself
		k.Win(e)
	}
}

// crashed tells whether a search that a candidate's crash has ended goes on in another process.
func (k *kernel) crashed(c *config, o *policy.Options, first bool) bool {
	if k.crashes >= o.Crashes {
		return false
	}
	k.crashes++
	if first {
		c.Phase = decide.Unsearched
	}
	return true
}
