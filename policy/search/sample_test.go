package search

import (
	"context"
	"encoding/binary"
	"errors"
	"math"
	"slices"
	"strings"
	"testing"

	"gnvcc/cache"
	"gnvcc/policy"
	"gnvcc/policy/decide"
	"gnvcc/policy/lever"
	"gnvcc/rewrite"
	"gnvcc/rewrite/bypass"
	"gnvcc/rewrite/recipe"
)

// A samplingSim is a simulated GPU whose compiler makes sampling builds, too: a threshold takes as
// long as its cycles say.
type samplingSim struct {
	*simGPU
	asked  int
	o      bypass.Sampling
	refuse bool
	cycles func(threshold int) uint64
	runs   uint64
}

const samplingPath = "sampling"

func (g *samplingSim) Sampling(ctx context.Context, k *policy.Kernel,
	list []int, window int) (*policy.Candidate, bypass.Sampling, error) {
	g.asked++
	g.o = bypass.Sampling{Thresholds: list, Window: window}
	if g.refuse {
		return nil, g.o, errors.New("it can't be sampled")
	}
	return &policy.Candidate{Path: k.Name + "|false|" + samplingPath + "=on"}, g.o, nil
}

// table is what the multiprocessors have added up after some runs of two blocks of a warp each,
// every other one of which is slow.
func (g *samplingSim) table(variable string, size int) ([]byte, error) {
	if variable != bypass.Table || size != g.o.Size() {
		return nil, errors.New("no such variable")
	}
	b := make([]byte, size)
	n := len(g.o.Thresholds)
	for cell := range 132 * (n + 1) {
		if cell%(n+1) == n {
			continue // what is not looked at
		}
		lanes := 64 * g.runs
		cycles := g.cycles(g.o.Thresholds[cell%(n+1)])
		if cell/(n+1)%2 == 1 {
			cycles *= 3
			lanes *= uint64(1 + cell%(n+1)) // and has some thresholds more often
		}
		for i, v := range []uint64{cycles * lanes, lanes, lanes} {
			binary.LittleEndian.PutUint64(b[24*cell+8*i:], v)
		}
	}
	g.runs++
	return b, nil
}

// TestSampledOrder: a slow kernel's thresholds are tried in the order that one launch gave, with
// one among them that would be left out; where nothing is known, in today's order.
func TestSampledOrder(t *testing.T) {
	for name, c := range map[string]struct {
		refuse  bool
		trouble string
		exact   bool
		blocks  int
		want    string // the first thresholds tried
		why     string
		asked   int
	}{
		"voted":             {want: "7 6 4 3", asked: 1},
		"refused":           {refuse: true, want: "1 2 3 4", asked: 1},
		"noticed":           {trouble: "bits", want: "1 2 3 4", why: "noticed", asked: 1},
		"refused by driver": {trouble: "load", want: "1 2 3 4", why: "218", asked: 1},
		"few blocks":        {blocks: 8, want: "1 2 3 4"},
		"not to be checked": {exact: true},
		"it hangs":          {trouble: "hang", want: "1 2 3 4", why: "finish", asked: 1},
		"it faults":         {trouble: "fault", want: "1 2 3 4", why: "illegal", asked: 1},
	} {
		t.Run(name, func(t *testing.T) {
			k := &simKernel{Kernel: policy.Kernel{Loads: 3}, time: 20e6,
				trouble: func(r recipe.Recipe, launch int) string {
					if r.String() == samplingPath+"=on" {
						return c.trouble
					}
					return ""
				}}
			g := &samplingSim{simGPU: newSim(t, k), refuse: c.refuse,
				cycles: func(n int) uint64 { return uint64(1000 - 10*n) }}
			g.read = g.table
			o := simOptions()
			o.Levers = []string{"bypass"}
			if c.exact {
				o.Exact = rewrite.ByConstruction
			}
			l := appLaunch{kernel: k.Name, shape: shape(100000, 256)}
			if c.blocks > 0 {
				l.shape = shape(c.blocks, 256)
			}
			g.runWith(g, o, app{launches: l.times(4)})
			if c.trouble == "hang" || c.trouble == "fault" { // another process goes on
				g.runWith(g, o, app{launches: l.times(4)})
			}
			if g.asked != c.asked {
				t.Errorf("asked %d times", g.asked)
			}
			// 126 waves of blocks (40 registers) in 40 million cycles, three of them a window
			if g.asked > 0 && g.o.Window != 20 {
				t.Errorf("windows of 2^%d cycles", g.o.Window)
			}
			notebook := notebookOf(t, g.simGPU)
			var tried []string
			for _, tr := range notebook.Trials {
				if n, ok := tr.Recipe.Get("bypass", ""); ok && !strings.Contains(n, ":") {
					tried = append(tried, n)
				}
				if tr.Refused != "" {
					t.Errorf("%s is refused: %s", tr.Text, tr.Refused)
				}
			}
			if got := strings.Join(tried[:min(4, len(tried))], " "); got != c.want {
				t.Errorf("tried %s", got)
			}
			if c.why != "" && (notebook.Sampled == nil || !strings.Contains(notebook.Sampled.Why, c.why)) {
				t.Errorf("%+v", notebook.Sampled)
			}
			if c.asked > 0 && c.why == "" && !c.refuse && (notebook.Sampled.Why != "" ||
				len(notebook.Sampled.Cycles) != 7 ||
				math.Abs(notebook.Sampled.Cycles[6]/notebook.Sampled.Cycles[0]-930./990) > 1e-6) {
				t.Errorf("%+v", notebook.Sampled)
			}
		})
	}
}

// TestSampledValues: thresholds that are left out are tried where they were voted for, and nothing
// is left out for it.
func TestSampledValues(t *testing.T) {
	s := &lever.Situation{Kernel: &policy.Kernel{Loads: 3, CC: 70}, Shape: shape(1000, 512)}
	values := func() (out []string) {
		for _, r := range lever.Named("bypass").Try(s) {
			v, _ := r.Get("bypass", "")
			out = append(out, v)
		}
		return out
	}
	if got := strings.Join(values(), " "); got != "1 2 3 4 8 12" {
		t.Error(got)
	}
	s.Sampled = []int{11, 12, 10, 4, 9, 8, 3, 2, 1}
	if got := strings.Join(values(), " "); got != "11 12 4 8 3 2 1" {
		t.Error(got)
	}
	got := voted(&cache.Sampled{Thresholds: []int{1, 2, 3}, Cycles: []float64{5, 3, 4}})
	if !slices.Equal(got, []int{2, 3, 1}) {
		t.Error(got)
	}
}

// notebookOf is the only notebook.
func notebookOf(t *testing.T, g *simGPU) decide.Notebook {
	t.Helper()
	if len(g.memos) != 1 {
		t.Fatalf("%d notebooks", len(g.memos))
	}
	for key := range g.memos {
		for _, k := range g.kernels {
			return decide.Read(g, key, k.Identity)
		}
	}
	panic("no kernel")
}
