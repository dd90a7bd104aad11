package lever

import (
	"fmt"
	"strconv"
	"strings"

	"gnvcc/policy"
	"gnvcc/rewrite"
	"gnvcc/rewrite/recipe"
)

// Levers that act on the same thing. A block's size (shape), the number of resident blocks
// (throttle) and the number of a block's warps that use a cache (bypass) all say how many warps
// share it. What the last two were found to be best at was counted in blocks of the size that the
// program launches; in a recipe with another block the same number of warps is another number.

const warp = 32 // threads

// Combine is Join for recipes that were measured alone: a level of throttling and a bypassing
// threshold that stood without a block of another size keep their number of warps. block is the
// launch's own. False: it can't be kept, or the recipes can't be one.
func Combine(a, b recipe.Recipe, block [3]int) (recipe.Recipe, bool) {
	now := rewrite.Shape(a)
	other, moved := a, b
	if now == [3]int{} {
		now = rewrite.Shape(b)
		other, moved = b, a
	}
	if now == [3]int{} {
		return Join(a, b), true
	}
	if rewrite.Shape(moved) != [3]int{} || !Has(moved, "throttle") && !Has(moved, "bypass") {
		r := Join(a, b)
		return r, rewrite.Check(r) == nil
	}
	was, is := block[0]*block[1]*block[2], now[0]*now[1]*now[2]
	moved, ok := rescale(moved, was, is)
	if !ok {
		return recipe.Recipe{}, false
	}
	r := Join(other, moved)
	return r, rewrite.Check(r) == nil
}

// shapeFor is the shape in which a recipe launches the launch at hand.
func (s *Situation) shapeFor(r recipe.Recipe) policy.Shape {
	out := s.Shape
	if grid, ok := rewrite.Reshape(out.Grid, out.Block, rewrite.Shape(r)); ok {
		out.Grid, out.Block = grid, rewrite.Shape(r)
	}
	return out
}

// rescale counts throttling and bypassing anew for blocks of another number of threads.
func rescale(r recipe.Recipe, was, is int) (recipe.Recipe, bool) {
	out := recipe.Recipe{}
	for _, t := range r.Terms {
		prefix, digits := "", t.Value
		if rest, ok := strings.CutPrefix(t.Value, "L2:"); ok {
			prefix, digits = "L2:", rest
		}
		n, err := strconv.Atoi(digits)
		switch {
		case t.Lever == "throttle" && err == nil: // blocks on a multiprocessor
			if n = (n*was + is/2) / is; n < 1 || n > 31 {
				return r, false
			}
			t.Value = fmt.Sprint(n)
		case t.Lever == "bypass" && err == nil: // warps of a block
			n = (n*is + was/2) / was
			if warps := (is + warp - 1) / warp; n < 1 && prefix == "" || n >= warps {
				return r, false
			}
			t.Value = prefix + fmt.Sprint(n)
		}
		out.Terms = append(out.Terms, t)
	}
	return out, true
}
