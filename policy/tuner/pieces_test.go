package tuner

import (
	"math"
	"testing"

	"gnvcc/cache"
	"gnvcc/policy"
	"gnvcc/policy/decide"
	"gnvcc/profile"
)

// TestPieces: a kernel's recipe counts for all of its time, also for launches that nobody replayed;
// one that is in the loaded build already gains nothing. Graphs whose kernels nobody saw are a
// part.
func TestPieces(t *testing.T) {
	of := func(name, recipe, applied string, before, after float64) decide.Result {
		d := &cache.Decision{Recipe: recipe}
		d.Evidence.Launches = []cache.Launch{{Count: 1, Seconds: before,
			Before: cache.Time{Median: before * 1e9}, After: cache.Time{Median: after * 1e9}}}
		return decide.Result{Kernel: policy.Kernel{Name: name, Short: name + "()", Applied: applied},
			Decision: d}
	}
	piece := func(kernel string, seconds, after float64, why string) policy.Piece {
		return policy.Piece{Kernel: kernel, Seconds: seconds, After: after, Why: why}
	}
	a := account{rows: []row{{Kernel: "k", Seconds: 3, Same: true},
		{Kernel: "k", Seconds: 1, Why: tooSmall}, {Kernel: "built", Seconds: 2, Same: true},
		{Kernel: "same", Seconds: 1, Same: true}, {Kernel: "_Z5printv", Seconds: 5, Why: "it prints"}}}
	a.graphs([]profile.Unseen{{Why: "it is wide", Launches: 4, Seconds: 4}})
	got := a.pieces([]decide.Result{of("k", "maxnreg=32", "", 4, 2), of("built", "hint@ld=cs", "hint@ld=cs", 2, 1),
		of("same", "", "", 1, 1), {Kernel: policy.Kernel{Name: "_Z5printv", Short: "print"}}})
	want := []policy.Piece{piece("print", 5, 5, "it prints"),
		piece(policy.OfGraphs, 4, 4, "it is wide"), piece("k()", 3, 1.5, ""), piece("built()", 2, 2, ""),
		piece("k()", 1, 0.5, tooSmall), piece("same()", 1, 1, "")}
	if len(got) != len(want) {
		t.Fatalf("%+v", got)
	}
	for i, w := range want {
		if g := got[i]; g.Kernel != w.Kernel || g.Why != w.Why || g.Seconds != w.Seconds ||
			math.Abs(g.After-w.After) > 1e-9 {
			t.Errorf("%+v, want %+v", g, w)
		}
	}
}
