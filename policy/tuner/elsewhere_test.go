package tuner

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"math"
	"slices"
	"testing"
	"time"

	"gnvcc/policy"
	"gnvcc/policy/search"
	"gnvcc/profile"
	"gnvcc/profile/capture"
)

// kernelsByName is a compiler that knows kernels whose identity is their name.
type kernelsByName struct{ policy.Compiler }

func (kernelsByName) Kernel(cubin, name string) (*policy.Kernel, error) {
	if name == "unknown" {
		return nil, errors.New("nothing is known of it")
	}
	return &policy.Kernel{Identity: name, Name: name, Short: name}, nil
}

// TestElsewhere: a tuning run with workers orders what was captured, and decides itself on the rest
// alone: a kernel of which one configuration was captured and another not is theirs.
func TestElsewhere(t *testing.T) {
	seen := func(kernel string, grid int, seconds float64, captured bool, why string) capture.Seen {
		s := capture.Seen{Launch: &profile.Launch{Kernel: kernel, Cubin: "c", Grid: [3]int{grid, 1, 1},
			Block: [3]int{32, 1, 1}, Count: 1, Process: &profile.Process{}, Device: &profile.Device{}},
			Why: why, Use: capture.Use{Count: 1, Seconds: seconds, Sampled: 1, Sets: 1}}
		if captured {
			s.Captures = []*capture.Manifest{{ID: fmt.Sprint(kernel, grid), Kernel: kernel, Cubin: "c",
				Grid: s.Launch.Grid, Block: s.Launch.Block, Use: s.Use}}
		}
		return s
	}
	made := Observed{Run: capture.Run{Seen: []capture.Seen{seen("both", 1, 5, true, ""),
		seen("both", 2, 4, false, "too large"), seen("left", 1, 3, false, "it prints"),
		seen("unknown", 1, 2, false, "its module is not known"), seen("small", 1, 0.01, true, "")}}}
	for grid := range 4 { // each launched once, in a grid of its own: one stands for another
		s := seen("grids", grid+1, 0.05, true, "")
		s.Use.Family = 0.2
		s.Captures[0].Use = s.Use
		made.Seen = append(made.Seen, s)
	}
	for _, with := range []bool{true, false} {
		store, err := capture.Open(t.TempDir())
		if err != nil {
			t.Fatal(err)
		}
		var ordered []string
		own := search.NewRun(context.Background(), policy.Defaults(), kernelsByName{}, nil, nil, nil)
		w := &ReplaySearch{Captures: store, Run: own, Kernel: kernelsByName{}.Kernel,
			Say: t.Logf, Budget: time.Nanosecond}
		if with {
			w.spread = func(_ context.Context, _ *ReplaySearch, list []Job) {
				for _, j := range list {
					ordered = append(ordered, j.Capture.Kernel)
				}
			}
		}
		r := &run{Request: Request{Signals: noSignals{context.Background()}}}
		if _, err := w.searchSeen(r, made); err != nil {
			t.Fatal(err)
		}
		results, err := own.Finish()
		if err != nil {
			t.Fatal(err)
		}
		var decided []string
		for _, r := range results {
			decided = append(decided, r.Kernel.Name)
		}
		slices.Sort(decided)
		stands := slices.ContainsFunc(w.account.rows, func(r row) bool {
			return r.Why == otherSizes
		})
		if !stands {
			t.Errorf("with workers %v: no launch stands for another: %+v", with, w.account.rows)
		}
		want := []string{"both", "grids", "left", "small", "unknown"}
		if with {
			want = []string{"left", "small", "unknown"}
		}
		if !slices.Equal(decided, want) || with && !slices.Equal(slices.Compact(ordered), []string{"both", "grids"}) {
			t.Errorf("with workers %v: decided on %q, ordered %q", with, decided, ordered)
		}
	}
}

// TestQueue: of several programs' captures each has the same part of the budget.
func TestQueue(t *testing.T) {
	var list []*capture.Manifest
	for _, m := range []struct {
		program, kernel string
		seconds         float64
	}{{"hours", "a", 900}, {"hours", "b", 100}, {"hours", "none", 1}, {"second", "c", 0.3},
		{"second", "d", 0.1}} {
		list = append(list, &capture.Manifest{ID: m.kernel, Program: m.program, Kernel: m.kernel,
			Cubin: m.program, Use: capture.Use{Count: 1, Seconds: m.seconds, Sampled: 1, Sets: 1}})
	}
	shares := map[string]float64{}
	for _, j := range (&ReplaySearch{}).queue(list) {
		shares[j.Capture.Kernel] = math.Round(1000 * j.Share)
	}
	if want := map[string]float64{"a": 450, "b": 50, "c": 375, "d": 125}; !maps.Equal(shares, want) {
		t.Errorf("%v, want %v", shares, want)
	}
}
