package lever

import (
	"bytes"
	"compress/gzip"
	"fmt"
	"math"
	"strings"
	"sync"

	_ "embed"

	"gnvcc/policy"
	"gnvcc/rewrite"
	"gnvcc/rewrite/recipe"
	"gnvcc/rewrite/tile"
	"gnvcc/sim/forest"
)

// Tiles (Han, Abdelrahman): what the threads of a block read together in some turns of a loop is
// copied to shared memory first, in rows. It pays where a warp's loads are scattered or many
// threads read the same, and L1 does not serve them already; it costs two barriers a tile, the
// copying, and blocks that shared memory no longer has room for. On an H200 it is the scattered
// loads that pay (bench/results/2026-11-22-tiles): 4 times as fast in the median where each lane
// reads a row of its own, between 0.5 and 2.4 where lanes read side by side. Each loop that can be
// tiled is tried with some numbers of turns, and all of them together.
//
// A forest that was grown on made-up kernels (bench/predict) says which of them are not worth a
// compile; it knows one GPU, and on others everything is tried. What it says of a kernel stands in
// no decision.
//
// Boxes are for the block and the dynamic shared memory at hand: so this is for a second entry.

// tileTurns are the numbers of turns that are tried. cicc unrolls by four what it can, so that 8
// turns of such a loop are 32 of the source's.
var tileTurns = []int{8, 16, 32}

// hopeless is the predicted speed-up below which a tile is not tried: well below 1, since what the
// forest says is no measurement.
const hopeless = 0.9

// mostTiled bounds the loops of a kernel that are tried by themselves.
const mostTiled = 3

var _ = register(Lever{
	// not measured on DESIGN.md's programs
	Name: "tile", Idea: "turns of a loop whose loads come through shared memory:", Gain: 1,
	Try: func(s *Situation) []recipe.Recipe {
		base, list := tilings(s)
		var out []recipe.Recipe
		loops, of := map[int]bool{}, map[int]int{}
		for _, t := range list {
			of[t.Turns]++
			if loops[t.Loop] = true; len(loops) <= mostTiled {
				out = append(out, Join(base, recipe.Recipe{}.With(recipe.Term{Lever: "tile",
					Site: fmt.Sprint(t.Loop), Value: fmt.Sprint(t.Turns)})))
			}
		}
		for _, n := range tileTurns {
			if of[n] > 1 && of[n] == len(loops) {
				out = append(out, Join(base, Term("tile", fmt.Sprint(n))))
			}
		}
		return out
	},
	Why: func(s *Situation) string {
		k := s.Kernel
		switch {
		case k.NoSecond != "":
			return "it is for second entries, chosen by their block: " + k.NoSecond
		case k.Untiled == nil || s.Shape.Threads() == 0:
			return "its loads are not known"
		}
		if err := k.Untiled(s.Shape.Block, s.Shape.Dynamic); err != nil {
			_, why, _ := strings.Cut(err.Error(), ": ")
			return why
		}
		if len(k.Tilings(s.Shape.Block, s.Shape.Dynamic, tileTurns...)) > 0 {
			return "a forest grown on other kernels predicts that it would cost time"
		}
		return "no shared memory is left"
	},
	Around: func(s *Situation, best policy.Trial) []recipe.Recipe {
		if rewrite.Uses(best.Recipe, "tile") {
			return nil
		}
		base, list := tilings(s)
		var out []recipe.Recipe
		for _, t := range list {
			r := recipe.Recipe{}.With(recipe.Term{Lever: "tile", Site: fmt.Sprint(t.Loop),
				Value: fmt.Sprint(t.Turns)})
			if tr := s.Trial(Join(base, r).String()); tr != nil && tr.Usable() && tr.Ratio < Step {
				if best.Recipe.HasSecond() {
					out = append(out, Join(best.Recipe, r))
				} else {
					out = append(out, Join(best.Recipe, Join(base, r)))
				}
			}
		}
		return out
	},
	Words: func(k *policy.Kernel, t recipe.Term) string {
		turns, _, one := strings.Cut(t.Value, ":")
		what := "what a block reads"
		if one {
			what = "one array that a block reads"
		}
		if t.Site == "" {
			return fmt.Sprintf("%s in %s turns of its loops comes through shared memory", what, turns)
		}
		return fmt.Sprintf("%s in %s turns of loop %s comes through shared memory", what, turns, t.Site)
	},
})

// tilings is what can be tiled and is not hopeless, and the second entry that it is for.
func tilings(s *Situation) (base recipe.Recipe, list []tile.Tiling) {
	k := s.Kernel
	host := ofKind(s.Values, policy.HostValue)
	if k.Tilings == nil || k.NoSecond != "" || len(host) == 0 || k.Calls {
		return base, nil
	}
	for _, t := range k.Tilings(s.Shape.Block, s.Shape.Dynamic, tileTurns...) {
		if speed, known := predictedTile(s, &t); !known || speed >= hopeless {
			list = append(list, t)
		}
	}
	return spec(recipe.Second, host), list
}

// predictedTile is the speed-up that the forest expects of a tile with its best box alone; false on
// a GPU that it does not know.
func predictedTile(s *Situation, t *tile.Tiling) (speed float64, known bool) {
	f := tileForest()
	if f == nil || f.Device != s.Options.Device {
		return 0, false
	}
	for i := range t.Boxes {
		b := &t.Boxes[i]
		one := *t
		one.Bytes = b.Bytes
		// how many tiles a thread works through is not known: as many as in the middle of the trials
		x := b.Features(&one, s.Kernel.Default.Registers, s.Shape.Grid, s.Shape.Block, usualTiles)
		speed = max(speed, math.Exp(f.Predict(x)))
	}
	return speed, true
}

// usualTiles is the median of the tiles that a thread works through in bench/predict.
const usualTiles = 16

// tileForest reads the forest, nil where it is not what this program knows.
var tileForest = sync.OnceValue(func() *forest.Forest {
	in, err := gzip.NewReader(bytes.NewReader(tileTrees))
	if err != nil {
		return nil
	}
	f, err := forest.Load(in, tileDevice, tile.FeatureNames)
	if err != nil {
		return nil
	}
	return f
})

// tileDevice is the GPU that the forest was grown on: bench/results/2026-11-22-tiles, by
// `tiles fit -device "NVIDIA H200" -grow tile.json .`, then gzip -9n.
const tileDevice = "NVIDIA H200"

//go:embed tile.json.gz
var tileTrees []byte
