package report

import (
	"bytes"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"gnvcc/cache"
	"gnvcc/policy"
	"gnvcc/policy/stats"
	"gnvcc/rewrite/recipe"
)

var update = flag.Bool("update", false, "rewrite the golden files in testdata: read the diff")

// golden compares with a file in testdata.
func golden(t *testing.T, name string, got []byte) {
	t.Helper()
	path := filepath.Join("testdata", name)
	if *update {
		if err := os.MkdirAll("testdata", 0o777); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, got, 0o666); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(got, want) {
		t.Errorf("%s (go test -update rewrites it):\n%s\nwant:\n%s", name, got, want)
	}
}

// someDecisions are decisions of every kind.
func someDecisions() []cache.Decision {
	at := time.Date(2026, 3, 4, 5, 6, 0, 0, time.UTC)
	us := func(m float64) cache.Time {
		return cache.Time{Median: m * 1e3, Low: m * 0.996e3, High: m * 1.004e3, N: 39}
	}
	faster := cache.Decision{Identity: "1", Kernel: "_Z7stencilIfLi4EEvPT_S1_i", Target: "sm_90",
		Recipe: "hint@ld=L2::256B maxnreg=64 spec{#1=1024,blockDim.x=256} unroll@2=8", Exactness: "checked",
		Time: at,
		Evidence: cache.Evidence{Device: "NVIDIA H200", Driver: "580.1", Version: "0.1",
			Default: cache.Build{Registers: 40}, Chosen: cache.Build{Registers: 64},
			Names: map[string]string{"#1": "n"},
			Launches: []cache.Launch{
				{Grid: [3]int{1000, 1, 1}, Block: [3]int{256, 1, 1}, Count: 400, Checked: 5, Before: us(101),
					After: us(71.9), Values: map[string]string{"n": "1024"}},
				{Grid: [3]int{10, 10, 1}, Block: [3]int{16, 16, 1}, Dynamic: 2048, Count: 4, Checked: 1,
					Before: us(11), After: us(11)},
			},
			Tried: []cache.Trial{
				{Recipe: "hint@ld=L2::256B maxnreg=64 spec{#1=1024,blockDim.x=256} unroll@2=8",
					Build: cache.Build{Registers: 64}, Ratio: 0.712},
				{Recipe: "unroll=8", Build: cache.Build{Registers: 56}, Ratio: 0.8},
				{Recipe: "hint@ld=L2::256B", Build: cache.Build{Registers: 40}, Ratio: 0.95},
				{Recipe: "maxnreg=32", Build: cache.Build{Registers: 32, Spill: 48}, Ratio: 1.4},
				{Recipe: "hint@ld=cs", Build: cache.Build{Registers: 40}, Ratio: 1,
					Refused: "the same code as the default", Because: cache.SameCode},
				{Recipe: "bypass=2", Build: cache.Build{Registers: 44},
					Refused: "it does not compile: simulated"},
				{Recipe: "early=on", Build: cache.Build{Registers: 40},
					Refused: "the same code as the default", Because: cache.SameCode},
				{Recipe: "unroll=4", Build: cache.Build{Registers: 48},
					Refused: "different bits: 3 words differ, first in allocation 1 at byte 128 of 4096 (word 32): 0x2 instead of 0x1", Because: cache.OtherBits},
			},
			Untried: map[string]string{"spin": "no spin loop",
				"demote": "nothing is spilled"}}}
	same := cache.Decision{Identity: "2", Kernel: "plain", Target: "sm_90", Exactness: "construction",
		Time: at,
		Evidence: cache.Evidence{Device: "NVIDIA H200", Default: cache.Build{Registers: 32},
			Chosen: cache.Build{Registers: 32},
			Note:   "maxnreg=48 took 0.90x the default's time when tried, but the budget ended before it was compared",
			Launches: []cache.Launch{{Grid: [3]int{100, 1, 1}, Block: [3]int{128, 1, 1}, Count: 10,
				Before: us(50), After: us(50)}},
			Tried: []cache.Trial{{Recipe: "unroll=4", Refused: "different bits: 1 words differ",
				Because: cache.OtherBits}}}}
	alone := cache.Decision{Identity: "3", Kernel: "_Z6randomPf", Target: "sm_90",
		Exactness: "construction", Time: at,
		Evidence: cache.Evidence{Note: "nondeterministic: two runs of the default differ"}}
	return []cache.Decision{alone, same, faster}
}

func TestReport(t *testing.T) {
	for name, write := range map[string]func(io.Writer) error{
		"report.txt": func(w io.Writer) error { return Write(w, someDecisions(), Options{}) },
		"kernel.txt": func(w io.Writer) error { Explain(w, NewEntry(someDecisions()[2])); return nil },
	} {
		var b bytes.Buffer
		if err := write(&b); err != nil {
			t.Fatal(err)
		}
		if bytes.ContainsAny(b.Bytes(), "\x1b\r\t") {
			t.Errorf("%s has control characters", name)
		}
		golden(t, name, b.Bytes())
	}
	var b bytes.Buffer
	if err := json.NewEncoder(&b).Encode(Options{}.Entries(someDecisions())); err != nil {
		t.Fatal(err)
	}
	var back []Entry
	if err := json.Unmarshal(b.Bytes(), &back); err != nil || len(back) != 3 ||
		len(back[0].Levers) != 7 || back[0].Levers[0].Best != "unroll=8" ||
		back[0].Levers[0].SpeedUp != 1.25 ||
		back[0].Decision.Evidence.Launches[0].Values["n"] != "1024" || back[0].SpeedUp < 1.39 {
		t.Errorf("JSON: %v\n%s", err, b.Bytes())
	}
	b.Reset()
	if err := Write(&b, nil, Options{}); err != nil || b.Len() == 0 {
		t.Errorf("nothing known: %q, %v", b.String(), err)
	}
	if err := Write(failing{}, someDecisions(), Options{}); err == nil {
		t.Error("a failing writer goes unnoticed")
	}
}

// TestColumns: the report has no line of more than 80 columns, however long names and recipes are;
// three kernels of one name are told apart; what saves most time stands first.
func TestColumns(t *testing.T) {
	var all []cache.Decision
	for i, file := range []string{"a.cu", "b.cu", "sub/c.cu"} {
		d := someDecisions()[2]
		d.Identity, d.Imported = fmt.Sprint(file, i), strings.Repeat("long", 50)
		d.Evidence.Launches = slices.Clone(d.Evidence.Launches)
		d.Evidence.Launches[0].Count = 400 * (i + 1)
		all = append(all, d)
	}
	long := someDecisions()[2]
	long.Identity, long.Kernel = "long", strings.Repeat("kernel_of_a_template", 20)
	long.Recipe = "spec{" + strings.Repeat("#1=1,", 60) + "blockDim.x=256}"
	all = append(all, long, someDecisions()[0], someDecisions()[1])
	place := func(d cache.Decision) Place {
		return Place{strings.TrimRight(d.Identity, "012"), "./app"}
	}
	var b bytes.Buffer
	if err := Write(&b, all, Options{Place: place}); err != nil {
		t.Fatal(err)
	}
	for _, line := range strings.Split(b.String(), "\n") {
		if n := utf8.RuneCountInString(line); n > 80 {
			t.Errorf("%d columns: %s", n, line)
		}
	}
	at := 0
	for _, file := range []string{"in sub/c.cu, ./app", "in b.cu, ./app", "in a.cu, ./app"} {
		i := strings.Index(b.String(), file)
		if i < at {
			t.Errorf("%s stands at %d, or not in its order:\n%s", file, i, b.String())
		}
		at = i
	}
}

type failing struct{}

func (failing) Write([]byte) (int, error) { return 0, errors.New("disk full") }

func TestProgress(t *testing.T) {
	for name, tty := range map[string]bool{"progress.txt": false, "progress-terminal.txt": true} {
		var b bytes.Buffer
		p := NewLines(&b, tty)
		clock := time.Unix(0, 0)
		p.now = func() time.Time { clock = clock.Add(100 * time.Millisecond); return clock }
		k := &policy.Kernel{Name: "_Z1kPf", Short: "k", Identity: "1"}
		s := policy.Shape{Grid: [3]int{100, 1, 1}, Block: [3]int{256, 1, 1}}
		half := policy.Shape{Grid: [3]int{50, 1, 1}, Block: [3]int{256, 1, 1}}
		p.Trying(k, s, "register caps and hints", 24)
		p.Trying(k, s, "confirming the best", 0)
		p.Tuned(k, s, policy.Outcome{Recipe: "maxnreg=48", Ratio: stats.Interval{Estimate: 0.8, N: 9},
			Before: cache.Time{Median: 1e5}, Tried: 24, Other: 2})
		p.At(2, 7, time.Unix(34, 0))
		p.Trying(k, half, "register caps and hints", 24)
		p.Tuned(k, half, policy.Outcome{Before: cache.Time{Median: 5e4}, Tried: 24})
		p.Alone(k, s, "captured into a graph")
		p.Alone(&policy.Kernel{Short: "another"}, s, "captured into a graph")
		p.Lost(k, s, errors.New("a candidate crashed on the device"))
		p.Note("something else")
		p.Trying(k, s,
			"a very long doing that a terminal of usual width can't show in one line without breaking it, which would look broken", 24)
		p.Close()
		golden(t, name, b.Bytes())
		if !tty && bytes.ContainsAny(b.Bytes(), "\r\x1b") {
			t.Error("control characters in a pipe")
		}
		b.Reset()
		p.Note("of a worker\x1b]0;x\a")
		p.Trying(k, s, "\x1b[2J", 1)
		if strings.Contains(strings.ReplaceAll(b.String(), "\r\x1b[K", ""), "\x1b") {
			t.Errorf("a text of another machine steers the terminal: %q", &b)
		}
	}
}

func TestDuration(t *testing.T) {
	for ns, want := range map[float64]string{0: "-", 12: "12 ns", 1234: "1.23 us", 99960: "100 us",
		9.996e6: "10.0 ms", 2.5e9: "2.50 s"} {
		if got := Duration(ns); got != want {
			t.Errorf("Duration(%g) = %q, want %q", ns, got, want)
		}
	}
}

// TestOutvoted: the report names the hints that a recipe does not keep, and what that gains; of a
// recipe by hand nobody knows a gain.
func TestOutvoted(t *testing.T) {
	d := cache.Decision{Kernel: "_Z1kv", Target: "sm_90", Recipe: "maxnreg=64"}
	d.Evidence.Outvoted = []string{"__launch_bounds__(..., 2)"}
	for want, change := range map[string]func(){
		"k: your __launch_bounds__(..., 2)\n": func() { d.Pinned = true },
		"k: your __launch_bounds__(..., 2): 1.25x": func() {
			d.Pinned = false
			d.Evidence.Launches = []cache.Launch{{Count: 1, Seconds: 1, Before: cache.Time{Median: 10, N: 9},
				After: cache.Time{Median: 8, N: 9}}}
		},
	} {
		change()
		var b bytes.Buffer
		if err := Write(&b, []cache.Decision{d}, Options{}); err != nil {
			t.Fatal(err)
		}
		if !bytes.Contains(b.Bytes(), []byte(want)) {
			t.Errorf("no %q in\n%s", want, b.String())
		}
		d.Evidence.Launches = nil
	}
}

// TestRefusal: what failed, where, why, and what helps; each once.
func TestRefusal(t *testing.T) {
	at := func(t recipe.Term) string { return map[string]string{"2": "loop at k.cu:7"}[t.Site] }
	for _, c := range [][3]string{
		{"unroll@2=4", "it does not compile: unroll@2=4: it ends", "(loop at k.cu:7) it ends"},
		{"maxnreg=40 unroll@2=4", "unroll@2=4: it ends", "(unroll@2=4, loop at k.cu:7) it ends"},
		{"unroll=4", "source: kernel _Z1kv is left alone: no loop to unroll", "no loop to unroll"},
		{"maxnreg=128", "with 72 registers (40 by nvcc) blocks of 1024 threads could not be launched",
			"with 72 registers (40 by nvcc) blocks of 1024 threads could not be launched; " +
				"__launch_bounds__ with the largest block that is launched makes room for it"},
		{"a recipe{ of another version", "unknown", "unknown"},
	} {
		if got := Refusal(c[0], c[1], at); got != c[2] {
			t.Errorf("%s, %s:\n%s\nwant:\n%s", c[0], c[1], got, c[2])
		}
	}
}
