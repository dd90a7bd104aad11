package policy

import (
	"cmp"
	"slices"
)

// A Piece is a part of a run's time on the GPU: what one kernel took, or that part of it which was
// left alone for one reason.
type Piece struct {
	Kernel  string  // as people write it
	Seconds float64 // as it was observed
	After   float64 // with what was decided
	Why     string  // it was left alone; "" where it was looked at
	Cut     bool    // it was looked at, and the budget ended before the search did
	Left    int     // candidates that were then asked for and not tried
}

// OfGraphs stands in a kernel's place for graphs whose kernels are not seen one by one.
const OfGraphs = "kernels in CUDA graphs"

// ByTime joins what is one kernel's and has one reason, and sorts by time.
func ByTime(parts []Piece) []Piece {
	var out []Piece
	at := map[Piece]int{}
	for _, p := range parts {
		key := Piece{Kernel: p.Kernel, Why: p.Why, Cut: p.Cut}
		i, ok := at[key]
		if !ok {
			at[key] = len(out)
			out = append(out, p)
			continue
		}
		out[i].Seconds, out[i].After = out[i].Seconds+p.Seconds, out[i].After+p.After
		out[i].Left += p.Left
	}
	slices.SortStableFunc(out, func(a, b Piece) int {
		return cmp.Or(cmp.Compare(b.Seconds, a.Seconds), cmp.Compare(a.Kernel, b.Kernel),
			cmp.Compare(a.Why, b.Why))
	})
	return out
}
