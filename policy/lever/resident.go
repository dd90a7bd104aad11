package lever

import (
	"fmt"
	"strconv"

	"gnvcc/cache"
	"gnvcc/policy"
	"gnvcc/rewrite"
	"gnvcc/rewrite/coarsen"
	"gnvcc/rewrite/recipe"
	"gnvcc/sim"
)

// Levers that act on the same thing. A block's size (shape), register caps (maxnreg), the number of
// resident blocks (throttle) and the number of a block's warps that use a cache (bypass) all say
// how many warps run, or share a cache, at a time. What one of them was found to be best at alone,
// it was at the others' default. Together with another it is counted anew, so that as many warps
// do.

const warp = 32 // threads

// Combine is Join for recipes that were measured alone:
//
//   - throttling keeps its number of warps where the block's size changes, and asks for no more
//     blocks than a cap leaves;
//   - a bypassing threshold keeps the number of warps that share the cache;
//   - a cap keeps the warps that it made room for, where blocks of another size would fit worse.
//
// False: that can't be had, the recipes can't be one, or one of them is for nothing beside the
// other: a cap that makes room for blocks that throttling keeps away.
func (s *Situation) Combine(a, b recipe.Recipe) (recipe.Recipe, bool) {
	out := Join(a, b)
	for _, name := range []string{rewrite.MaxNReg, rewrite.Throttling, bypass} { // each counts with those before
		value, ok := out.Get(name, "")
		if !ok {
			continue
		}
		from := a // who brought it
		if theirs, has := b.Get(name, ""); has && theirs == value {
			from = b
		}
		t, ok := s.keep(recipe.Term{Lever: name, Value: value}, from, out)
		if !ok {
			return recipe.Recipe{}, false
		}
		out = out.With(t)
	}
	if s.idle(out) {
		return recipe.Recipe{}, false
	}
	return out, rewrite.Check(out) == nil
}

// keep counts a term of a recipe anew for the one that it becomes a part of.
func (s *Situation) keep(t recipe.Term, from, together recipe.Recipe) (recipe.Term, bool) {
	n, err := strconv.Atoi(t.Value)
	if err != nil {
		return t, true
	}
	n, ok := levers()[t.Lever].Recount(s, n, from, together)
	t.Value = fmt.Sprint(n)
	return t, ok
}

// capFor is the largest cap, not above one, that leaves room for as many warps as that does in the
// blocks that it was measured in; where there is none, the cap as it is.
func (s *Situation) capFor(limit int, from, together recipe.Recipe) int {
	if !s.Known {
		return limit
	}
	warps := func(n int, r recipe.Recipe) int {
		return s.Device.Occupancy(n, s.simFor(r)).Warps
	}
	for n := limit; n >= LowestCap; n-- {
		if warps(n, together) >= warps(limit, from) {
			return n
		}
	}
	return limit
}

// blocks is the number of resident blocks under a recipe, as far as caps, throttling and the
// block's size make it; 0: not known.
func (s *Situation) blocks(r recipe.Recipe) int {
	if !s.Known {
		return 0
	}
	registers := s.buildFor(r).Registers
	if value, ok := r.Get(rewrite.MaxNReg, ""); ok {
		if n, err := strconv.Atoi(value); err == nil {
			registers = n
		}
	}
	n := s.Device.Occupancy(registers, s.simFor(r)).Blocks
	if most := rewrite.Throttle(r); most > 0 {
		n = min(n, most)
	}
	return n
}

// idle reports whether a recipe's cap makes room for blocks that its throttling keeps away. A cap
// that makes no room had another reason to be fast, and code of another source has registers of its
// own: of these nothing is said.
func (s *Situation) idle(r recipe.Recipe) bool {
	most := rewrite.Throttle(r)
	if most == 0 || !Has(r, rewrite.MaxNReg) || HasStage(r, rewrite.Source) {
		return false
	}
	r = r.Without(rewrite.Throttling)
	own := s.blocks(r.Without(rewrite.MaxNReg))
	return own >= most && s.blocks(r) > own
}

// ShapeFor is the shape in which a recipe launches the launch at hand.
func (s *Situation) ShapeFor(r recipe.Recipe) policy.Shape {
	out := s.Shape
	if grid, block, ok := rewrite.MannerOf(r).Launch(out.Grid, out.Block); ok {
		out.Grid, out.Block = grid, block
	}
	return out
}

// simFor is the same for sim, with what a block takes.
func (s *Situation) simFor(r recipe.Recipe) sim.Shape { return s.ShapeFor(r).Sim(s.buildFor(r)) }

// buildFor is the build by which resident blocks are counted under a recipe that has no cap: the
// default's; where a block does the work of several, that of this lever alone, once it is known.
func (s *Situation) buildFor(r recipe.Recipe) cache.Build {
	if value, ok := r.Get(coarsen.Lever, ""); ok {
		tr := s.Trial(coarsened(s, value).String())
		if tr != nil && tr.Build.Registers > 0 {
			return tr.Build
		}
	}
	return s.Kernel.Default
}
