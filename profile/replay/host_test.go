package replay

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"gnvcc/profile"
	"gnvcc/profile/capture"
)

// nothing is a visit that does nothing, with variations.
func nothing(variations ...int) Visit {
	return Visit{
		Search: func(context.Context, *profile.Launch, profile.Session) bool { return true },
		Vary: func(context.Context, int, *profile.Launch, profile.Session) bool {
			return true
		}, Variations: variations}
}

// hosting is a host of one launch.
func hosting(v Visit) *host {
	w := newHost()
	w.visit, w.m, w.launches = v, manifest(), 1
	close(w.ready)
	return w
}

func manifest() *capture.Manifest {
	return &capture.Manifest{Kernel: "k", Cubin: "c", Use: capture.Use{Count: 90, Varied: 3, Sets: 2,
		Params: []capture.Param{{Same: []byte{0, 1, 1, 1}, Align: 3}}}}
}

func launchOf(kernel string) *profile.Launch {
	return &profile.Launch{Kernel: kernel, Cubin: "c", Count: 2,
		Params: []profile.Param{{Size: 4, Value: make([]byte, 4), Same: []byte{1, 1, 1, 1}}}}
}

// sessions holds a session where one is asked for, and notes how long a run may take.
func sessions(held *[]time.Duration) profile.Held {
	return profile.Held{Session: func(long time.Duration, use func(profile.Session)) error {
		*held = append(*held, long)
		use(&times{warm: 1, cold: 1})
		return nil
	}}
}

// The first launch is the replayer's check; the next one is searched with the program's own counts;
// those after it are varied, as long as something won and somebody wants more; then the replayer is
// told to begin no other variation.
func TestHost(t *testing.T) {
	for worth, want := range map[bool]string{
		true:  "[running launch 45, same [0 1 1 1] vary 4 vary 7 enough]",
		false: "[running launch 45, same [0 1 1 1] enough]"} {
		var events []string
		add := func(format string, args ...any) { events = append(events, fmt.Sprintf(format, args...)) }
		v := nothing(4, 7)
		v.Search = func(_ context.Context, l *profile.Launch, _ profile.Session) bool {
			add("launch %d, same %v", l.Count, l.Params[0].Same)
			return worth
		}
		v.Vary = func(_ context.Context, n int, _ *profile.Launch, _ profile.Session) bool {
			add("vary %d", n)
			return n == 4
		}
		w := hosting(v)
		w.running = func() { add("running") }
		w.enough = filepath.Join(t.TempDir(), "enough")
		var held []time.Duration
		if again := w.launch(t.Context(), launchOf("gnvcc_hash"), sessions(&held)); again != 0 {
			t.Errorf("asked again about the tools' own launch: %d", again)
		}
		for i := range 4 {
			if again := w.launch(t.Context(), launchOf("k"), sessions(&held)); again != 1 {
				t.Errorf("launch %d: again %d", i, again)
			}
			if _, err := os.Stat(w.enough); err == nil {
				add("enough")
				break
			}
		}
		if fmt.Sprint(events) != want || held[0] != 0 || worth && held[1] != varied {
			t.Errorf("%q, sessions of %v", events, held)
		}
	}
}

// times is a session whose launches take a time, and another one with an empty cache.
type times struct {
	profile.Session
	warm, cold float64
	again      float64   // behind a run of its own; 0: as warm
	rises      time.Time // until then the clocks are low
	asked      []bool
	last       profile.Measurement
	writes     []profile.Stretch
}

func (s *times) Golden() (profile.Written, error) {
	return profile.Written{Allocations: min(len(s.writes), 1), Where: s.writes}, nil
}

func (s *times) Measure(_ profile.Candidate, n int, m profile.Measurement) ([]float64, error) {
	s.asked, s.last = append(s.asked, m.Cold), m
	t := s.warm
	if m.Cold {
		t = s.cold
	}
	if m.Again && s.again > 0 {
		t = s.again
	}
	if t == 0 {
		return nil, errors.New("gone")
	}
	if time.Now().Before(s.rises) {
		t *= 7. / 6
	}
	return slices.Repeat([]float64{t}, n), nil
}

// A replay is timed as the program was: with the cache that gives its time.
func TestTimed(t *testing.T) {
	for _, c := range []struct {
		program, warm, cold float64 // us
		sampled             int
		empties, noted      bool
		either              bool // the time does not tell
	}{
		{200, 200, 260, 4, false, false, false}, {255, 200, 260, 4, true, false, false},
		{400, 200, 260, 4, true, true, false}, {400, 200, 260, 2, false, false, true},
		{20, 10, 20, 4, false, false, true}, {300, 0, 1, 4, false, false, false},
		{92, 82, 82, 4, false, false, true}, {92, 70, 70, 4, false, true, false},
		{92, 100, 100, 4, false, true, false},
		{30e3, 220, 225, 4, true, true, false}, // it waited for others
		{800, 786, 790, 4, false, false, true}, {30, 25, 40, 4, false, false, false},
		{60, 30, 58, 4, false, false, true},        // it may have been empty
		{4000, 3990, 4000, 4, false, false, false}, // the cache is filled in less
		{4000, 3990, 4000, 1, false, false, false},
	} {
		var log []string
		m := manifest()
		m.Use = capture.Use{Count: 10, Seconds: 10 * c.program * 1e-6, Sampled: c.sampled, Sets: 1}
		w := &host{m: m, say: func(f string, a ...any) { log = append(log, fmt.Sprintf(f, a...)) }}
		s := &times{warm: c.warm * 1e3, cold: c.cold * 1e3}
		var l profile.Launch
		chosen := w.timed(&l, s)
		s.warm, s.asked = 1, nil
		chosen.Measure(profile.Original, 1, profile.Measurement{})
		chosen.Measure(profile.Original, 1, profile.Measurement{Other: true})
		if s.asked[0] != c.empties || s.asked[1] == c.empties || l.Cold != c.empties ||
			len(log) > 0 != c.noted || l.Unlike > 0 != c.noted || l.Either != c.either ||
			w.own > 0 != (c.program == 30e3) || w.own > 0 && w.own != c.cold/c.program {
			t.Errorf("%+v: empties %v, %+v, %q, own %g", c, s.asked, l, log, w.own)
		}
	}
}

// TestTimedClass: where launches differ in work, a replay is compared with the launches of its own class.
func TestTimedClass(t *testing.T) {
	for took, near := range map[float64]bool{200e-6: true, 900e-6: false, 0: false} {
		m := manifest()
		m.Took = took
		m.Use = capture.Use{Sampled: 20, Sets: 1}
		for _, us := range []float64{200, 900} {
			seconds := us / 1e6
			m.Use.Count, m.Use.Seconds = m.Use.Count+10, m.Use.Seconds+10*seconds
			m.Use.Classes = append(m.Use.Classes, profile.Class{Low: profile.ClassOf(seconds), Launches: 10,
				Seconds: 10 * seconds})
		}
		var l profile.Launch
		w := &host{m: m, say: func(string, ...any) {}}
		w.timed(&l, &times{warm: 2e5, cold: 2.1e5})
		if (l.Unlike == 0) != near || (w.own == 0) != near {
			t.Errorf("of %g s: unlike by %g, own %g", took, l.Unlike, w.own)
		}
	}
}

// TestTimedWarm: that the GPU has been idle does not make a replay unlike the program.
func TestTimedWarm(t *testing.T) {
	m := manifest()
	m.Use = capture.Use{Count: 10, Seconds: 2e-3, Sampled: 4, Sets: 1}
	var l profile.Launch
	s := &times{warm: 2e5, cold: 2.6e5, rises: time.Now().Add(40 * time.Millisecond)}
	(&host{m: m}).timed(&l, s)
	if l.Unlike != 0 || l.Cold {
		t.Errorf("unlike by %g, cold %v", l.Unlike, l.Cold)
	}
}

// TestRepeats: a launch is timed on what it left where the program does it in a row, where no
// address can come from there, and where it takes the program's time so. Where one can, nothing may
// be slower with an empty cache.
func TestRepeats(t *testing.T) {
	for _, c := range []struct {
		count  int
		us     float64
		again  float64 // us
		ranges []string
		others bool // other kernels run in between
		own    bool // on what it left
		row    bool
	}{
		{10, 20, 20.5, []string{"float", "double"}, false, true, true},
		{10, 20, 20.5, []string{"float", "double"}, true, false, false},
		{7, 20, 20.5, []string{"float"}, false, false, false},
		{10, 20, 20.5, []string{"float", ""}, false, false, true},
		{10, 20, 20.5, []string{"float", " that is read"}, false, true, true},
		{10, 20, 20.5, []string{"zero"}, false, false, true},
		{10, 20, 20.5, nil, false, false, true}, {10, 4000, 20.5, []string{"float"}, false, false, false},
		{10, 20, 30, []string{"float"}, false, false, false},
		{10, 20, 20.5, []string{" that settles"}, false, true, true},
		{10, 20, 30, []string{" that settles"}, false, false, false},
	} {
		m := manifest()
		m.Use = capture.Use{Count: c.count, Seconds: float64(c.count) * c.us * 1e-6, Sampled: 4, Sets: 1,
			Row: !c.others}
		m.Ranges = nil
		s := &times{warm: 2e4, cold: 2.5e4, again: c.again * 1e3}
		for i, kind := range c.ranges {
			base := uint64(i+1) << 20
			kind, read := strings.CutSuffix(kind, " that is read")
			kind, m.Settles = strings.CutSuffix(kind, " that settles")
			m.Ranges = append(m.Ranges, capture.Range{Base: base, Size: 64, Numbers: kind})
			if !read {
				s.writes = append(s.writes, profile.Stretch{Address: base + 8, Size: 16})
			}
		}
		var l profile.Launch
		chosen := (&host{m: m}).timed(&l, s)
		here, _ := chosen.Measure(profile.Original, 1, profile.Measurement{})
		other, _ := chosen.Measure(profile.Original, 1, profile.Measurement{Other: true})
		want, beside := 2e4, 2.5e4
		if c.own {
			want, beside = c.again*1e3, 2e4
		}
		if c.us < 100 && (here[0] != want || other[0] != beside) || l.Repeats != c.row ||
			c.own && l.Either {
			t.Errorf("%+v: %+v, %v and %v ns", c, l, here, other)
		}
	}
}

// TestTurns: in a row, a launch of a program that takes turns with buffers comes behind one with
// the arguments of the one before, and a short one behind more than one.
func TestTurns(t *testing.T) {
	for us, rows := range map[float64]int{20: 5, 60: 2, 2000: 1, 3: 8} {
		m := turning()
		m.Use = capture.Use{Count: 10, Seconds: 10 * us * 1e-6, Sampled: 4, Sets: 1, Row: true}
		var l profile.Launch
		s := &times{warm: us * 1e3, cold: us * 1e3, again: us * 1e3}
		chosen := (&host{m: m}).timed(&l, s)
		chosen.Measure(profile.Original, 1, profile.Measurement{})
		if !s.last.Again || s.last.Row != rows || !bytes.Equal(s.last.Prior, m.Prior) {
			t.Errorf("%v us: %+v", us, s.last)
		}
		chosen.Measure(profile.Original, 1, profile.Measurement{Other: true})
		if s.last.Again || s.last.Prior != nil {
			t.Errorf("%v us, the other state: %+v", us, s.last)
		}
	}
}

// turning is a captured launch of k(p, q), behind one of k(q, p).
func turning() *capture.Manifest {
	u32 := binary.LittleEndian.AppendUint32
	word := func(v uint64) []byte { return binary.LittleEndian.AppendUint64(nil, v) }
	m := manifest()
	b := append(u32(nil, 1), 'k')
	b = append(b, make([]byte, 3*4+3*4+5*4+8)...)
	for _, v := range []uint32{2, 0, 8, 8, 8, 16} {
		b = u32(b, v)
	}
	m.Settings = append(append(b, word(1<<20)...), word(2<<20)...)
	m.Prior = append(word(2<<20), word(1<<20)...)
	m.Ranges = []capture.Range{{Base: 1 << 20, Size: 64, Numbers: "float"},
		{Base: 2 << 20, Size: 64, Numbers: "float"}}
	return m
}

// TestTimedVaried: where launches have other values, the program's time says nothing of one of
// them, and a gain may be in one state of the cache alone; where buffers alone change places, it
// does.
func TestTimedVaried(t *testing.T) {
	moved, number := []byte{0, 0, 1, 1, 1, 1, 1, 1}, []byte{1, 1, 1, 1, 1, 1, 1, 1}
	for _, c := range []struct {
		what          string
		same          []byte
		us            float64
		row           bool
		either, again bool
	}{
		{"other values", number, 20, false, true, false},
		{"other values in a row", number, 20, true, false, false},
		{"other values, long", number, 4000, false, false, false},
		{"buffers in turns", moved, 20, true, false, true},
	} {
		m := turning()
		m.Use = capture.Use{Count: 10, Varied: 5, Seconds: 10 * c.us * 1e-6, Sampled: 4, Sets: 2,
			Row: c.row, Params: []capture.Param{{Same: c.same}, {Same: c.same}}}
		var l profile.Launch
		s := &times{warm: c.us * 1e3, cold: c.us * 1e3, again: c.us * 1e3}
		chosen := (&host{m: m}).timed(&l, s)
		chosen.Measure(profile.Original, 1, profile.Measurement{})
		if l.Either != c.either || s.last.Again != c.again {
			t.Errorf("%s: either %v, behind launches of its own %v", c.what, l.Either, s.last.Again)
		}
	}
}

// What the replayer says, and what it leaves out when it ends early.
func TestOutcome(t *testing.T) {
	for text, want := range map[string]Outcome{
		"":                                      {Tries: 1},
		"again x\nagain y\nstop no addresses\n": {Tries: 3, Reason: "no addresses"},
		"same\nlaunched 1\ndone\n":              {Tries: 1, Same: true, Whole: true},
		"unlike 1 of 2 MiB\n":                   {Tries: 1, Reason: "1 of 2 MiB", unlike: true},
		"unsteady 1 of 2 MiB\ndone\n":           {Tries: 1, Unsteady: "1 of 2 MiB", Whole: true},
		"same\nvariation 1\nvaried 1\nvariation 2\nstop launching: bad (CUDA error 700)\n": {Tries: 1,
			Same: true, Varied: []int{1}, Failed: 2, Reason: "launching: bad (CUDA error 700)"},
	} {
		path := filepath.Join(t.TempDir(), "status")
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		got := read(path, time.Now())
		got.Spent = nil
		if fmt.Sprint(got) != fmt.Sprint(want) {
			t.Errorf("%q: %+v, want %+v", strings.TrimSpace(text), got, want)
		}
	}
}

// What a replay took, by step, also where a step comes again, and where the last one was
// not reported.
func TestSpent(t *testing.T) {
	path := filepath.Join(t.TempDir(), "status")
	begun := time.Now().Add(-100 * time.Second)
	at := func(s float64) string {
		return fmt.Sprintf("%.6f", float64(begun.UnixMicro())/1e6+s)
	}
	text := "over " + at(0.5) + " init\nover " + at(0.75) + " fill\nsame\nover x fill\nover\nover " +
		at(1.25) + " search\nover " + at(3.25) + " fill\n"
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	got := read(path, begun).Spent
	want := map[string]float64{"init": 0.5, "fill": 2.25, "search": 0.5, "end": 96.75}
	if len(got) != len(want) {
		t.Fatalf("%v, want %v", got, want)
	}
	for step, s := range want {
		if d := got[step] - s; d < -0.01 || d > 5 || d > 0.01 && step != "end" {
			t.Errorf("%s: %v s, want %v", step, got[step], s)
		}
	}
}
