package lever

import (
	"fmt"
	"slices"

	"gnvcc/rewrite/recipe"
)

// The order in which a grid's blocks work (rewrite/order.go). No GPU has measured it yet, so that
// it is tried only where the user names it (--levers order).

var _ = register(Lever{
	Name: "order", Idea: "blocks in another order:", Gain: 1,
	Try: func(s *Situation) []recipe.Recipe {
		grid := s.Shape.Grid
		if !slices.Contains(s.Options.Levers, "order") || grid[0] < 2 || grid[1] < 2 ||
			s.Kernel.Awaits != "" {
			return nil
		}
		out := []recipe.Recipe{Term("order", "transposed")}
		for n := 4; n <= 16 && 2*n <= grid[1]; n *= 2 {
			out = append(out, Term("order", fmt.Sprintf("groups.%d", n)))
		}
		return out
	},
	Why: func(s *Situation) string {
		switch {
		case s.Kernel.Awaits != "":
			return "its blocks may wait for each other (" + s.Kernel.Awaits + ")"
		case s.Shape.Grid[0] < 2 || s.Shape.Grid[1] < 2:
			return "its grid has one row of blocks, or one column"
		}
		return "it is tried only where it is asked for: --levers order"
	},
})
