package profile

import (
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"
)

// Graphs, on the fake driver.

// seeing captures each launch that it is asked about, and asks again at the next one.
func seeing(t *testing.T) *host {
	return &host{dir: t.TempDir(), again: func(*Launch) int { return 1 }}
}

// firstBytes are the first two bytes of the memory in each capture of the range that comes first.
func (h *host) firstBytes(t *testing.T) (out []string) {
	t.Helper()
	for _, path := range h.paths {
		if _, err := os.Stat(path); err != nil {
			continue
		}
		list := records(t, path)
		if i := slices.IndexFunc(list, func(r record) bool { return r.kind == recData }); i >= 0 {
			out = append(out, fmt.Sprint(list[i].body[8:10]))
		}
	}
	return out
}

// TestGraphNodes: a graph's kernels are counted as launches, with what the program gave them last,
// and are timed and captured where the graph is launched node by node: each capture holds what the
// nodes before it left. Each node runs once a launch, and afterwards none is switched off.
func TestGraphNodes(t *testing.T) {
	h := seeing(t)
	log := newFakeDriver(t).run(t, h, "nodes", true)
	count, sampled := h.launches()
	for _, k := range h.sums[0].Kernels {
		if !k.Launch.Past {
			t.Errorf("a launch of a graph is taken for one of a host stub: %+v", k.Launch)
		}
	}
	// node by node: the first, second, fourth and eighth launch; the very first has a time by itself
	if count != 9*3 || sampled < 4*3-1 || h.sums[0].Graphs != 1 {
		t.Errorf("%d launches, %d times, %d graphs; %s", count, sampled, h.sums[0].Graphs, log)
	}
	want := []string{"[1 8]", "[2 9]", "[100 10]", "[101 11]", "[102 12]", "[100 13]"}
	if got := h.firstBytes(t); len(got) < 6 || !slices.Equal(got[:6], want) {
		t.Errorf("captured %v, %q", got, h.why)
	}
}

// TestGraphsLeft: graphs that can't be launched node by node, and those of which a part can't be:
// all is done as the program wants it, and the reason is reported.
func TestGraphsLeft(t *testing.T) {
	f := newFakeDriver(t)
	const none = "none is launched by itself"
	for _, c := range []struct{ what, set, want string }{
		{"nodes", "WIDE=1", "its nodes are no single row"},
		{"nodes", "FAIL=cuGraphGetEdges", "its nodes are no single row"},
		{"nodes", "FAIL=cuGraphNodeGetType", ""},
		{"nodes", "FAIL=cuGraphNodeSetEnabled", "a kernel of a graph"},
		{"nodes", "FAIL=cuGraphNodeGetEnabled", "a kernel of a graph"},
		{"nodes", "FAIL=cuGraphKernelNodeGetParams_v2", ""},
		{"nodes", "STUCK=3", "a kernel of a graph"}, // in the midst of switching off
		{"nodes", "STUCK=8", ""},                    // on again, behind a walk: it is asked again
		{"nodes", "STUCK=10:5", ""},
		{"nodes", "STUCK=8:23", ""}, // and at the next launch
		{"nodes", "LAUNCHES=0", ""}, // of ours, the first kernel's
		{"nodes", "LAUNCHES=1", ""},
		{"nodes", "LAUNCHES=5", ""},
		{"nodes", "FAIL=cuGraphLaunch", ""}, // of ours, for the memset
		{"nodes", "FAIL=cuFuncGetParamInfo", none},
		{"nodes", "FAIL=cuGraphKernelNodeGetAttribute", none},
		{"nodes", "FAIL=cuStreamGetId", "a stream that is not known"},
		{"nodes", "FAIL=cuStreamQuery", "its nodes were not launched one by one"},
		{"nodes", "BUSY=60000", "its nodes were not launched one by one"},
		{"nodes of kernels", "", "kernels may launch graphs"},
		{"nodes in turns", "", ""},
		{"nodes that stay", "", ""},
		{"nodes without a graph", "", "has destroyed the graph"},
		{"nodes alone", "", ""},
	} {
		h := seeing(t)
		exit, log := f.try(t, h, c.what, true, c.set)
		said := strings.Join(h.events, "\n") + strings.Join(h.why, "\n") + log
		walked := strings.Count(strings.Join(h.events, "\n"), " \n") // launches without a reason against them
		if c.what == "nodes that stay" && (walked == 0 || walked > 9) {
			t.Errorf("node by node also after a change that failed: %q", said)
		}
		if exit.Code != 7 || (c.want == none && walked > 0) ||
			(c.want == "" && strings.HasPrefix(c.set, "STUCK") && walked == 0) ||
			(c.want != none && !strings.Contains(said, c.want)) {
			t.Errorf("%s, %s: %+v, %q", c.what, c.set, exit, said)
		}
	}
	// nothing is looked at where nobody observes
	h := &host{}
	if f.run(t, h, "nodes", false); h.sums[0].Graphs != 9 {
		t.Errorf("%+v", h.sums)
	}
}

// TestGraphTokens: launches into a stream that is captured become nodes, and are no launches: those
// are counted where the graph is launched, however often the stream is captured again. What the
// executable graph was updated with last counts.
func TestGraphTokens(t *testing.T) {
	f := newFakeDriver(t)
	for what, nodes := range map[string]int{"tokens": 1, "tokens grow": 8} {
		h := seeing(t)
		log := f.run(t, h, what, true)
		if count, _ := h.launches(); count != 8*3 {
			t.Errorf("%s: %d launches of 8 times 3 kernels; %q, %s", what, count, h.events, log)
		}
		if asked := strings.Count(strings.Join(h.events, "\n"), "the launch is captured into a graph"); asked != nodes {
			t.Errorf("%s: asked %d times about what becomes a node: %q", what, asked, h.events)
		}
	}
}

// TestGraphsCounted: nodes count as often as they ran, where the program switches them on and off,
// and where one graph was instantiated twice, for a stream each, both launched node by node.
func TestGraphsCounted(t *testing.T) {
	f := newFakeDriver(t)
	for what, want := range map[string]int{"switches": 24*3 - 12, "twins": 24 * 3} {
		h := seeing(t)
		log := f.run(t, h, what, true)
		if count, _ := h.launches(); count != want || h.sums[0].Graphs != 0 {
			t.Errorf("%s: %d launches, want %d; %d graphs; %s", what, count, want, h.sums[0].Graphs, log)
		}
	}
}

// TestBothWays: launches of one configuration by the host stub and in graphs: it is the graphs'
// where they have some of them, since no second entry is chosen there.
func TestBothWays(t *testing.T) {
	f := newFakeDriver(t)
	for what, want := range map[string]bool{"both ways": true, "both ways once": false} {
		h := &host{}
		if f.run(t, h, what, true); len(h.sums[0].Kernels) != 1 {
			t.Fatalf("%s: %+v", what, h.sums)
		}
		if l := h.sums[0].Kernels[0].Launch; l.Past != want {
			t.Errorf("%s: %d launches, past the host stub: %v", what, l.Count, l.Past)
		}
	}
}

// TestGraphsAlone: of a program that launches graphs and nothing else is known what it did so far,
// also where it never ends by itself.
func TestGraphsAlone(t *testing.T) {
	f := newFakeDriver(t)
	for _, set := range []string{"WIDE=1", "ROW=1"} {
		h := &host{}
		log := f.run(t, h, "graphs alone", true, set)
		count, _ := h.launches()
		timed := 0
		for _, u := range h.sums[0].Unseen {
			timed += u.Launches
		}
		if wide := set == "WIDE=1"; count < 350*3 || wide && timed < 350 || !wide && timed > 0 {
			t.Errorf("%s: %d launches of 1800, %d of 600 graphs, %s", set, count, timed, log)
		}
	}
}

// TestGraphTimes: a graph that is never launched node by node is timed as a whole, also one that is
// gone before its times are there.
func TestGraphTimes(t *testing.T) {
	f := newFakeDriver(t)
	for _, c := range []struct {
		set, why string
		launches int
	}{
		{"WIDE=1", "its nodes are no single row: some stand beside each other", 9},
		{"FAIL=cuGraphLaunch", "", 0}, // each walk of it was one
		{"BUSY=60000", "its nodes were not launched one by one", 9},
	} {
		h := &host{}
		f.run(t, h, "nodes", true, c.set)
		launches, seconds := 0, 0.0
		for _, u := range h.sums[0].Unseen {
			launches, seconds = launches+u.Launches, seconds+u.Seconds
			if !strings.Contains(u.Why, c.why) && u.Launches > 1 {
				t.Errorf("%s: %+v, want %q", c.set, u, c.why)
			}
		}
		if took := 5e-4 * float64(launches); launches != c.launches || seconds < 0.99*took ||
			seconds > 1.01*took {
			t.Errorf("%s: %d launches, %g s: %+v", c.set, launches, seconds, h.sums[0].Unseen)
		}
	}
}

// TestGridTooLarge: a cooperative launch that the driver refuses is the program's own error: its
// capture is given up, with the reason, and the next launch is captured.
func TestGridTooLarge(t *testing.T) {
	h := seeing(t)
	newFakeDriver(t).run(t, h, "too large", true)
	if len(h.got) != 2 || h.got[0].Why != "the launch failed" || h.got[1].Why != "" {
		t.Fatalf("%+v, %q", h.got, h.why)
	}
	if _, err := os.Stat(h.paths[0]); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("the capture of a launch that failed is left: %v", err)
	}
	for _, k := range h.sums[0].Kernels {
		if timed := k.Launch.Grid[0] == 132; (k.Sampled > 0) != timed {
			t.Errorf("%v: %d times", k.Launch.Grid, k.Sampled)
		}
	}
}
