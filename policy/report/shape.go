package report

import (
	"fmt"

	"gnvcc/cache"
	"gnvcc/rewrite"
	"gnvcc/rewrite/coarsen"
	"gnvcc/rewrite/recipe"
)

// Why other blocks, or fewer, are faster, where the launch alone shows it.

// Launched is a launch as a recipe makes the host do it.
func Launched(r recipe.Recipe, l cache.Launch) cache.Launch {
	entries, err := r.Entries()
	if err != nil {
		return l
	}
	for _, e := range entries {
		guards, err := e.Guards()
		if err != nil || len(guards) != 1 || guards[0].Block() != l.Block {
			continue
		}
		if grid, block, ok := rewrite.MannerOf(e).Launch(l.Grid, l.Block); ok {
			l.Grid, l.Block = grid, block
		}
		return l
	}
	return l
}

// reshaped says it of the launch that takes most time of those that are done otherwise, "" where
// nothing is to be said.
func reshaped(d *cache.Decision, r recipe.Recipe) string {
	var was, now cache.Launch
	most := -1.0
	for _, l := range d.Evidence.Launches {
		n := Launched(r, l)
		if t := float64(l.Count) * l.Before.Median; t > most && (n.Grid != l.Grid || n.Block != l.Block) {
			was, now, most = l, n, t
		}
	}
	if most < 0 {
		return ""
	}
	if now.Block == was.Block {
		return fmt.Sprintf("each block does the work of %d: %d blocks, not %d",
			blocksIn(was)/blocksIn(now), blocksIn(now), blocksIn(was))
	}
	if rewrite.Uses(r, coarsen.Lever) {
		return fmt.Sprintf("%d blocks of %d threads, not %d of %d: a warp has %d threads, not %d",
			blocksIn(now), threadsIn(now), blocksIn(was), threadsIn(was), min(32, threadsIn(now)),
			min(32, threadsIn(was)))
	}
	text := fmt.Sprintf("%dx%d blocks", now.Block[0], now.Block[1])
	if now.Block[1] == 1 && now.Block[2] == 1 {
		text = fmt.Sprintf("blocks of %d", now.Block[0])
	} else if now.Block[2] > 1 {
		text = fmt.Sprintf("%dx%dx%d blocks", now.Block[0], now.Block[1], now.Block[2])
	}
	const warp = 32
	row := func(l cache.Launch) int { return min(warp, l.Block[0]) }
	before, after := occupancy(d.Target, d.Evidence.Chosen, was),
		occupancy(d.Target, d.Evidence.Chosen, now)
	switch {
	case row(now) != row(was):
		return fmt.Sprintf("%s: a warp has %d threads of a row, not %d", text, row(now), row(was))
	case fullest(d.Target, was) > 1.05*fullest(d.Target, now):
		return fmt.Sprintf(
			"%s: the fullest multiprocessor has %.2f times as many threads as the average, not %.2f", text,
			fullest(d.Target, now), fullest(d.Target, was))
	case before > 0 && (after > before*1.01 || after < before*0.99):
		return fmt.Sprintf("%s: occupancy %.0f %%, not %.0f %%",
			text, 100*after, 100*before)
	case blocksIn(now) > blocksIn(was):
		return fmt.Sprintf("%s: %d blocks, not %d: smaller ones finish more evenly", text,
			blocksIn(now), blocksIn(was))
	}
	return fmt.Sprintf("%s: %d blocks to start, not %d", text, blocksIn(now), blocksIn(was))
}

// fullest is how many more threads the multiprocessor that gets most blocks has to do than all of
// them have on average; 0 where their number is not known. Blocks are dealt out one by one, and all
// take the same time.
func fullest(target string, l cache.Launch) float64 {
	d, ok := deviceOf(target)
	if !ok || d.SMs == 0 || blocksIn(l) == 0 {
		return 0
	}
	n := blocksIn(l)
	return float64((n+d.SMs-1)/d.SMs*d.SMs) / float64(n)
}

func blocksIn(l cache.Launch) int { return l.Grid[0] * l.Grid[1] * l.Grid[2] }

func threadsIn(l cache.Launch) int { return l.Block[0] * l.Block[1] * l.Block[2] }
