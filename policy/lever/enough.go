package lever

import (
	"cmp"
	"fmt"
	"strconv"
	"strings"

	"gnvcc/policy"
	"gnvcc/rewrite/demote"
	"gnvcc/rewrite/recipe"
	"gnvcc/sim"
)

// enoughRuns is how many ptxas runs one demotion may take, the first among them.
const enoughRuns = 4

// Enough compiles a recipe. Where it demotes words and ptxas spills others to local memory all the
// same, the number of words is raised by what is spilled until nothing is (RegDem, section 3: the
// target's registers are reached by demotion alone), as long as the words have room and leave more
// warps than nvcc's own build has. It returns the recipe with the fewest spills and its candidate;
// one that spills more than nvcc's own code is refused.
func Enough(k *policy.Kernel, r recipe.Recipe,
	compile func(recipe.Recipe) (*policy.Candidate, error)) (recipe.Recipe, *policy.Candidate, error) {
	best, err := compile(r)
	value, _ := r.Get("demote", "")
	text, strategy, _ := strings.Cut(value, ":")
	words, notNumber := strconv.Atoi(text)
	if err != nil || notNumber != nil {
		return r, best, err
	}
	launch := launchOf(k, r)
	room := demote.Room(launch.Threads, k.Default.Shared+launch.Shared)
	spilled := best.Build.Spill
	for runs := 1; spilled > 0 && runs < enoughRuns && words < room; runs++ {
		words = min(words+max(1, (spilled+3)/4), room)
		more := Join(r, Term("demote", fmt.Sprintf("%d:%s", words, strategy)))
		c, err := compile(more)
		if err != nil || !gains(k, more, c, launch) {
			break
		}
		if spilled = c.Build.Spill; spilled < best.Build.Spill {
			r, best = more, c
		}
	}
	if n := best.Build.Spill; n > k.Default.Spill {
		return r, nil, fmt.Errorf("%d bytes are still spilled to local memory, %d by nvcc", n, k.Default.Spill)
	}
	return r, best, nil
}

// launchOf is the launch that a recipe's second entry is for, the largest block where it has none.
func launchOf(k *policy.Kernel, r recipe.Recipe) (out sim.Shape) {
	out.Threads = cmp.Or(k.MaxThreads, sim.BlockThreads)
	out.Threads = Needed(r, out.Threads)
	for _, t := range r.Terms {
		if g, err := t.Guard(); err == nil {
			out.Shared, _ = g.Dynamic()
		}
	}
	return out
}

// gains reports whether a demotion under a cap leaves more warps than nvcc's own build.
func gains(k *policy.Kernel, r recipe.Recipe, c *policy.Candidate, launch sim.Shape) bool {
	d, known := sim.Lookup(k.CC)
	if !known || !Has(r, "maxnreg") {
		return true
	}
	warps := func(registers, shared int) int {
		s := launch
		s.Shared += shared
		return d.Occupancy(registers, s).Warps
	}
	return warps(c.Build.Registers, c.Build.Shared) > warps(k.Default.Registers, k.Default.Shared)
}
