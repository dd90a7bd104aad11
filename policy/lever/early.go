package lever

import (
	"gnvcc/policy"
	"gnvcc/rewrite/early"
	"gnvcc/rewrite/recipe"
)

// Loads in front of the stores that stand before them. A loop that stores in each turn asks memory
// once a turn: the turns that cicc unrolls wait one after the other, since a load may be of what
// was just stored. Under the lever they ask together, and so do several turns of what is left.
//
// On an H200, chemv of HeCBench, which is 1.00 with all other levers: 1.41 with its loop's four
// unrolled turns, 2.48 with four times as many in the one kernel and eight in the other
// (bench/results/2026-11-22-early). knn is slower under it.

// Early is what the lever finds to do.
var Early = policy.NewFact(func(c policy.Code) (out EarlyLoads) {
	out.Loads, out.Turns = early.Loads(c.Entry, c.Module.AddressSize)
	return out
})

type EarlyLoads struct {
	Loads int  // done in front of stores
	Turns bool // it can be done for several turns of a loop at once
}

var _ = register(Lever{
	Name: early.Lever, Idea: "loads moved ahead of stores to other addresses:", Gain: 1.02,
	Try: func(s *Situation) []recipe.Recipe {
		var out []recipe.Recipe
		found := Early.Of(s.Kernel)
		if found.Loads > 0 {
			out = append(out, Term(early.Lever, "on"))
		}
		if found.Turns {
			out = append(out, Term(early.Lever, "2"), manyTurns(s, "4"), manyTurns(s, "8"))
		}
		return out
	},
	Around: func(s *Situation, best policy.Trial) []recipe.Recipe {
		if value, _ := best.Recipe.Get(early.Lever, ""); value == "8" {
			return []recipe.Recipe{best.Recipe.With(recipe.Term{Lever: early.Lever, Value: "16"})}
		}
		return nil
	},
	Words: func(k *policy.Kernel, t recipe.Term) string {
		words := "loads moved ahead of stores to other addresses"
		if t.Value != "on" {
			words += ", " + t.Value + " iterations at once"
		}
		return words
	},
	Why: func(s *Situation) string {
		return "no plain load after a store with its address known earlier"
	},
})

// manyTurns keeps as many values in registers as the largest block might have no room for: it is
// for a second entry, chosen by the block at hand, where there can be one; else under a cap.
func manyTurns(s *Situation, turns string) recipe.Recipe {
	r, host := Term(early.Lever, turns), ofKind(s.Values, policy.HostValue)
	switch {
	case len(host) > 0 && s.Kernel.NoSecond == "":
		return Join(spec(host), r)
	case s.kept() == "" && s.Known:
		return Join(Cap(min(255, s.Device.MostRegisters(s.Largest))), r)
	}
	return r
}
