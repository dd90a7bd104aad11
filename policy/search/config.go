package search

import (
	"fmt"
	"slices"

	"gnvcc/cache"
	"gnvcc/policy"
	"gnvcc/policy/decide"
	"gnvcc/profile"
	"gnvcc/rewrite"
)

// A Config is one configuration of a kernel, as far as a run has come with it. Its methods may be
// asked of nil, of which nothing is known.
type Config struct {
	decide.Config
	k      *kernel
	key    string              // of its notebook
	fresh  map[string]bool     // recipes compared in this run
	looked map[string][]string // by recipe: the captures that it was compared on, in this run
	checks int                 // later launches looked at
	winner *policy.Trial
	cut    bool // its search was ended by time
	left   int  // candidates that it had asked for and did not try
}

// Config returns what is known of a configuration, nil if nothing is.
func (t *Run) Config(of Captured) *Config {
	if k := t.byName[of.id()]; k != nil {
		return k.configs[of.Shape]
	}
	return nil
}

// config returns the configuration of a launch.
func (t *Run) config(k *kernel, l *profile.Launch) *Config {
	shape := policy.ShapeOf(l)
	if c := k.configs[shape]; c != nil {
		return c
	}
	c := &Config{Config: decide.Config{Shape: shape, Launch: l}, k: k, fresh: map[string]bool{},
		key: decide.Key(k.Identity, k.Device, shape, t.o.Leave())}
	if k.Identity != "" {
		c.Notebook = decide.Read(t.memory, c.key, k.Identity)
	}
	k.configs[shape] = c
	k.Configs = append(k.Configs, &c.Config)
	return c
}

// live reports whether anything can still become of the configuration's kernel.
func (c *Config) live() bool { return c != nil && c.k.Alone == "" && c.k.Lost == "" }

// Gain is the part of the default's time that the best takes off so far.
func (c *Config) Gain() float64 {
	if c != nil {
		if best := policy.Rank(c.Notebook.Trials); len(best) > 0 {
			return max(0, 1-best[0].Ratio)
		}
	}
	return 0
}

// Tried reports whether anything was tried, in this run or an earlier one.
func (c *Config) Tried() bool { return c != nil && len(c.Notebook.Trials) > 0 }

// Cut reports whether this run's search was ended by time.
func (c *Config) Cut() bool { return c.live() && c.cut }

// Left is how many candidates this run's search had asked for and did not try.
func (c *Config) Left() int {
	if !c.Cut() {
		return 0
	}
	return c.left
}

// TooShort reports whether launches are too short for a search.
func (c *Config) TooShort() bool { return c != nil && c.Short }

// Decided reports whether the kernel has a winner that varied data could refuse.
func (c *Config) Decided() bool { return c.live() && len(c.k.Winners()) > 0 }

// Varies reports whether that is to be seen on varied data: its results can be compared.
func (c *Config) Varies() bool { return c.Decided() && c.k.Unsteady == "" }

// Missed reports whether what won here was not compared on a capture: a later one has chosen it.
func (c *Config) Missed(capture string) bool { return c.live() && c.missed(capture) }

func (c *Config) missed(capture string) bool {
	return capture != "" && c.winner != nil && c.winner.Refused == "" && c.winner.Same == "" &&
		c.fresh[c.winner.Text] && !slices.Contains(c.looked[c.winner.Text], capture)
}

// Differs reports whether the program's launches of it differ in work.
func (c *Config) Differs() bool { return c.live() && c.Config.Differs() }

// Awaited reports whether what won elsewhere was not compared here, where others were.
func (c *Config) Awaited() bool { return c.live() && c.k.Awaited(&c.Config) }

// Unsearched says why nothing is known of what was replayed, "" if something is: its search ended
// before it began, or there was none. That a launch is too short is known.
func (c *Config) Unsearched() string {
	if c == nil {
		return ""
	}
	if c.k.Alone != "" || c.Short {
		return c.k.Alone
	}
	return c.Alone
}

// Anew makes the next visit choose again where the winner was refused. False: there is nothing to
// choose.
func (c *Config) Anew() bool {
	if !c.live() || c.winner != nil || !c.Searched() || !c.Open() || len(c.k.Winners()) > 0 {
		return false
	}
	c.Phase = decide.Unsearched
	return true
}

// outcome sums up what tuning a configuration gave.
func (c *Config) outcome() policy.Outcome {
	o := policy.Outcome{Before: c.Before, Alone: c.Alone, Tried: len(c.Notebook.Trials)}
	for _, tr := range c.Notebook.Trials {
		if tr.N > 0 {
			o.Run++
		}
		if tr.Refused != "" {
			o.Refused++
			if tr.Because == cache.OtherBits {
				o.Other++
			}
		}
	}
	if c.winner != nil && c.winner.Confirmed != nil {
		o.Recipe, o.Ratio, o.Before = c.winner.Text, c.winner.Confirmed.Ratio, c.winner.Confirmed.Before
		o.Ratio.Estimate = c.winner.Confirmed.Careful()
	}
	if best := policy.Rank(c.Notebook.Trials); len(best) > 0 && best[0].Open != "" {
		o.Open = fmt.Sprintf("%s took %.2fx the default's time, but %s", best[0].Text, best[0].Ratio,
			best[0].Open)
	}
	return o
}

// CutShort says of a configuration that time ended what was done with it. What won there, and had not stood
// so many draws of varied data yet, is not adopted by this run; the next one goes on.
func (t *Run) CutShort(of Captured, draws int) {
	c := t.Config(of)
	if !c.live() {
		return
	}
	c.cut, c.Notebook.Done = true, false
	for _, r := range c.k.Winners() {
		tr := c.Trial(r.String())
		if tr == nil || tr.Confirmed == nil || tr.Varied >= draws || tr.Refused != "" ||
			rewrite.ExactnessOf(r) == rewrite.ByConstruction {
			continue
		}
		tr.Confirmed, tr.Open = nil, "the budget ended before it was checked on varied data"
		delete(c.fresh, tr.Text)
	}
	if err := decide.Write(t.memory, c.key, c.Notebook); err != nil {
		t.progress.Note("can't keep what was measured: " + policy.FirstLine(err))
	}
}
