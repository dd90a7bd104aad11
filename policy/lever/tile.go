package lever

import (
	"fmt"

	"gnvcc/policy"
	"gnvcc/rewrite/recipe"
	"gnvcc/rewrite/tile"
)

// Tiles (Han, Abdelrahman): what the threads of a block read together in some turns of a loop is
// copied to shared memory first, in rows. It pays where a warp's loads are scattered or many
// threads read the same, and L1 does not serve them already; it costs two barriers a tile, the
// copying, and blocks that shared memory no longer has room for. On an H200 it is the scattered
// loads that pay (docs/papers.md): 4 times as fast in the median where each lane
// reads a row of its own, between 0.5 and 2.4 where lanes read side by side. Each loop that can be
// tiled is tried with some numbers of turns, and all of them together.
//
// Boxes are for the block and the dynamic shared memory at hand: so this is for a second entry.

// tileTurns are the numbers of turns that are tried. cicc unrolls by four what it can, so that 8
// turns of such a loop are 32 of the source's.
var tileTurns = []int{8, 16, 32}

// mostTiled bounds the loops of a kernel that are tried by themselves.
const mostTiled = 3

// tilings lists what can be tiled where the kernel is launched with a block and so much dynamic shared
// memory, for some numbers of turns, or says why nothing can. nil: not known.
var tilings = policy.NewFact(func(c policy.Code) func([3]int, int, ...int) ([]tile.Tiling, error) {
	return func(block [3]int, dynamic int, turns ...int) ([]tile.Tiling, error) {
		return tile.Tilings(c.Module, c.Entry.Name, block, dynamic, turns...)
	}
})

var _ = register(Lever{
	// not measured on the 84 programs (Lever.Gain)
	Name: tile.Lever, Idea: "loop iterations whose loads go through shared memory:", Gain: 1,
	Try: func(s *Situation) []recipe.Recipe {
		k, host := s.Kernel, ofKind(s.Values, policy.HostValue)
		find := tilings.Of(k)
		if find == nil || k.NoSecond != "" || len(host) == 0 || k.Calls {
			return nil
		}
		base := spec(host)
		list, _ := find(s.Shape.Block, s.Shape.Dynamic, tileTurns...)
		var out []recipe.Recipe
		loops, of := map[int]bool{}, map[int]int{}
		for _, t := range list {
			of[t.Turns]++
			if loops[t.Loop] = true; len(loops) <= mostTiled {
				out = append(out, Join(base, recipe.Recipe{}.With(recipe.Term{Lever: tile.Lever,
					Site: fmt.Sprint(t.Loop), Value: fmt.Sprint(t.Turns)})))
			}
		}
		for _, n := range tileTurns {
			if of[n] > 1 && of[n] == len(loops) {
				out = append(out, Join(base, Term(tile.Lever, fmt.Sprint(n))))
			}
		}
		return out
	},
	Why: func(s *Situation) string {
		k, find := s.Kernel, tilings.Of(s.Kernel)
		switch {
		case k.NoSecond != "":
			return "it is for second entries, chosen by their block: " + k.NoSecond
		case find == nil || s.Shape.Threads() == 0:
			return "its loads are not known"
		}
		if _, err := find(s.Shape.Block, s.Shape.Dynamic, tileTurns...); err != nil {
			return err.Error()
		}
		return "its blocks are not known"
	},
	Words: func(k *policy.Kernel, t recipe.Term) string {
		if t.Site == "" {
			return fmt.Sprintf("loads of %s iterations of its loops go through shared memory", t.Value)
		}
		return fmt.Sprintf("loads of %s iterations of loop %s go through shared memory", t.Value,
			t.Site)
	},
})
