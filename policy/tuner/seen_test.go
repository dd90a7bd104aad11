package tuner

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"gnvcc/cache"
	"gnvcc/policy"
	"gnvcc/policy/decide"
	"gnvcc/policy/report"
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

// seen is a launch that a program's run has left, not captured for a reason, "" for none.
func seen(kernel, device string, grid int, seconds float64, why string) capture.Seen {
	return capture.Seen{Launch: &profile.Launch{Kernel: kernel, Cubin: "c", Count: 1,
		Shape:   profile.Shape{Grid: [3]int{grid, 1, 1}, Block: [3]int{32, 1, 1}},
		Process: &profile.Process{}, Device: &profile.Device{Name: device}},
		Why: why, Use: capture.Use{Count: 1, Seconds: seconds, Sampled: 1, Sets: 1}}
}

// captured is one that was.
func captured(kernel string, grid int, seconds float64) capture.Seen {
	s := seen(kernel, "", grid, seconds, "")
	s.Captures = []*capture.Manifest{{ID: fmt.Sprint(kernel, grid), Kernel: kernel, Cubin: "c",
		Shape: s.Launch.Shape, Use: s.Use}}
	return s
}

// searched gives what a run without time makes of what was seen.
func searched(t *testing.T, list []capture.Seen, spread func(context.Context, *ReplaySearch, []Job)) (*ReplaySearch,
	[]decide.Result) {
	t.Helper()
	store, err := capture.Open(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	own := search.NewRun(context.Background(), policy.Defaults(), kernelsByName{}, nil, nil, nil)
	w := &ReplaySearch{Captures: store, Run: own, Kernel: kernelsByName{}.Kernel, Say: t.Logf,
		Budget: time.Nanosecond, spread: spread}
	if _, err := w.searchSeen(&run{Request: Request{Signals: noSignals{context.Background()}}},
		Observed{Run: capture.Run{Seen: list}}); err != nil {
		t.Fatal(err)
	}
	results, err := own.Finish()
	if err != nil {
		t.Fatal(err)
	}
	return w, results
}

// TestElsewhere: a tuning run with workers orders what was captured, and decides itself on the rest
// alone: a kernel of which one configuration was captured and another not is theirs.
func TestElsewhere(t *testing.T) {
	list := []capture.Seen{captured("both", 1, 5), seen("both", "", 2, 4, "too large"),
		seen("left", "", 1, 3, "it prints"), seen("unknown", "", 1, 2, "its module is not known"),
		captured("small", 1, 0.01)}
	for grid := range 4 { // each launched once, in a grid of its own: one stands for another
		s := captured("grids", grid+1, 0.05)
		s.Use.Family = 0.2
		s.Captures[0].Use = s.Use
		list = append(list, s)
	}
	var ordered []string
	spread := func(_ context.Context, _ *ReplaySearch, list []Job) {
		for _, j := range list {
			ordered = append(ordered, j.Capture.Kernel)
		}
		ordered = slices.Compact(ordered)
	}
	for _, with := range []bool{true, false} {
		want := []string{"left", "small", "unknown"}
		if !with {
			spread, want = nil, []string{"both", "grids", "left", "small", "unknown"}
		}
		w, results := searched(t, list, spread)
		var decided []string
		for _, r := range results {
			decided = append(decided, r.Kernel.Name)
		}
		slices.Sort(decided)
		if !slices.ContainsFunc(w.account.rows, func(r row) bool { return r.Why == otherSizes }) {
			t.Errorf("with workers %v: no launch stands for another: %+v", with, w.account.rows)
		}
		if !slices.Equal(decided, want) || !slices.Equal(ordered, []string{"both", "grids"}) {
			t.Errorf("with workers %v: decided on %q, ordered %q", with, decided, ordered)
		}
	}
}

// TestTwoDevices: what was decided for one model of GPU says nothing about the time that the same
// kernel takes on another one, and each has a result of its own.
func TestTwoDevices(t *testing.T) {
	list := []capture.Seen{seen("k", "H100", 1, 4, "too large"), seen("k", "H200", 1, 2, "too large")}
	if _, results := searched(t, list, nil); len(results) != 2 || results[0].Device == results[1].Device {
		t.Fatalf("%+v", results)
	}
	a := account{rows: []row{{Kernel: "k", Device: "H100", Seconds: 4}, {Kernel: "k", Device: "H200", Seconds: 2}}}
	d := &cache.Decision{Recipe: "maxnreg=32", Evidence: cache.Evidence{Device: "H100",
		Launches: []cache.Launch{{Count: 1, Before: cache.Time{Median: 2},
			After: cache.Time{Median: 1}}}}}
	pieces := a.pieces([]decide.Result{{Kernel: policy.Kernel{Name: "k"}, Device: "H100", Decision: d},
		{Kernel: policy.Kernel{Name: "k"}, Device: "H200"}})
	if len(pieces) != 1 || pieces[0].Seconds != 6 || pieces[0].After != 2+2 {
		t.Errorf("%+v", pieces)
	}
}

// TestThousand: of a thousand kernels that take the same, most of which were not captured, the
// closing paragraph says in one sentence that another run goes on, and not that most of the time is
// too small to be looked at.
func TestThousand(t *testing.T) {
	var list []capture.Seen
	for i := range 1000 {
		seconds := 0.01
		if i >= 950 { // beside them some that weigh nothing
			seconds = 1e-5
		}
		list = append(list, seen(fmt.Sprint("k", i), "", 8, seconds, ""))
	}
	w, results := searched(t, list, nil)
	for _, r := range results {
		if len(r.Alone) > 0 {
			t.Fatalf("each is listed: %+v", r.Alone)
		}
	}
	got := strings.Join(strings.Fields(report.Outcome{Parts: w.account.pieces(nil)}.String()), " ")
	if !strings.Contains(got, "nearly all: "+manyMissing+": k") ||
		!strings.Contains(got, ", 947 more < 0.1 %: "+tooSmall) ||
		!strings.HasSuffix(got, ", 47 more") || len(got) > 400 {
		t.Error(got)
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

// A sleepingEngine has workers for which an order takes its kernel's seconds, in simulated time, and
// one more to begin.
type sleepingEngine struct{ seconds map[string]float64 }

func (sleepingEngine) Open(context.Context, string) (int, error) { return 1, nil }
func (sleepingEngine) Here() bool                                { return true }
func (sleepingEngine) Close()                                    {}

func (e sleepingEngine) Run(_ context.Context, _ int, file, out string) error {
	text, err := os.ReadFile(file)
	if err != nil {
		return err
	}
	var o order
	if err := json.Unmarshal(text, &o); err != nil {
		return err
	}
	wait(1 + e.seconds[o.Kernel])
	answer, err := json.Marshal(Done{Order: cache.Hash(text), Host: "here", Device: "simulated",
		Driver: "1.0", Alone: []string{"nothing is searched"}})
	if err != nil {
		return err
	}
	return os.WriteFile(out, answer, 0o600)
}

// TestEightWorkers: eight workers do the searches on a hundred kernels, some of which take very
// long, at least six times as fast as one.
func TestEightWorkers(t *testing.T) {
	store, err := cache.Open(filepath.Join(t.TempDir(), "store"))
	if err != nil {
		t.Fatal(err)
	}
	captures, err := capture.Open(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	took := map[int]time.Duration{}
	for _, workers := range []int{1, 8} {
		synctest.Test(t, func(t *testing.T) {
			e := sleepingEngine{map[string]float64{}}
			s := &spreading{folder: t.TempDir(), since: time.Now(),
				run: &run{Request: Request{On: e, Store: store, Options: policy.Defaults()}},
				w:   &ReplaySearch{Captures: captures, Budget: time.Hour, Say: func(string, ...any) {}}}
			var tasks []*task
			var sum float64
			for i := range 100 {
				name, seconds := fmt.Sprint("k", i), 60/float64(1+i%50)
				e.seconds[name] = seconds
				tasks = append(tasks, &task{kernel: &policy.Kernel{Identity: cache.Hash([]byte(name)),
					Name: name, Short: name}, share: seconds, last: -1})
				sum += seconds
			}
			heaviestFirst(tasks)
			s.state = progress{of: len(tasks), workers: workers}
			left := s.dispatch(t.Context(), tasks, workers, sum)
			if took[workers] = time.Since(s.since); len(left) > 0 || len(s.results) != len(tasks) {
				t.Fatalf("%d of %d kernels came back, %d were left", len(s.results), len(tasks), len(left))
			}
		})
	}
	if ratio := float64(took[1]) / float64(took[8]); ratio < 6 {
		t.Errorf("eight workers are %.2f times as fast as one, at least 6 are expected", ratio)
	}
}
