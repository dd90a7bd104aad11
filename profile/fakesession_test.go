package profile

import (
	"encoding/binary"
	"errors"
	"math"
	"os"
	"reflect"
	"strings"
	"testing"
)

// Sessions, on the fake driver.

// load loads a candidate; the fake driver takes any path.
func load(t *testing.T, s Session) Candidate {
	t.Helper()
	c, _, err := s.Load("/some/cubin", "")
	if err != nil {
		t.Error(err)
	}
	return c
}

// TestDriverFails: whichever of the driver's functions fails, a session ends in an error or does
// not begin, or nothing depends on it. No time is made up.
func TestDriverFails(t *testing.T) {
	f := newFakeDriver(t)
	// What may fail without a word, and why.
	harmless := map[string]string{
		"cuGetErrorString":     "the error has its number",
		"cuDriverGetVersion":   "it is for people",
		"cuCtxGetCurrent":      "not called",
		"cuMemHostRegister_v2": "copies are slower then",
		"cuMemHostUnregister":  "so",
		"cuMemcpyDtoHAsync_v2": "for captures alone, as the two that follow",
		"cuCtxSetCurrent":      "so",
		"cuStreamCreate":       "so",
		"cuMemFree_v2":         "what is left goes with the process",
		"cuEventDestroy_v2":    "so",
		"cuModuleUnload":       "so",
		"cuKernelGetFunction":  "then it is the function itself",
		"cuKernelGetAttribute": "then the function's is asked for",
		"cuKernelGetName":      "the function's name is known",
		"cuFuncGetModule":      "then its cubin is not known, and the launch is not of a kernel that was built",
		"cuFuncGetName":        "the kernel's name is asked for then",
		"cuFuncGetParamInfo":   "then it has no parameters that are known: all memory is saved, whatever they point to",
		"cuLibraryGetModule":   "then a module is found by its kernel's name",
		"cuCtxGetLimit":        "for captures", "cuCtxGetCacheConfig": "so", "cuMemHostGetFlags": "so",
		"cuStreamQuery":                     "so",
		"cuLaunchKernelEx":                  "not used here",
		"cuPointerGetAttribute":             "it knows no pointer here either",
		"cuStreamIsCapturing":               "no stream is captured",
		"cuThreadExchangeStreamCaptureMode": "no stream is captured",
		"cuMemcpyHtoD_v2":                   "for memory that is kept on the host",
		"cuGraphLaunch":                     "no graph here",
		"cuGraphGetNodes":                   "so",
		"cuGraphNodeGetType":                "so",
		"cuGraphNodeSetEnabled":             "so",
		"cuGraphNodeGetEnabled":             "so",
		"cuGraphKernelNodeGetAttribute":     "so",
		"cuStreamWaitEvent":                 "so",
		"cuMemcpy3DAsync_v2":                "no array here",
	}
	session := func(fail string) (string, Exit) {
		var said []string
		note := func(what string, err error) {
			if err != nil {
				said = append(said, what+": "+err.Error())
			}
		}
		h := &host{tune: func(l *Launch, s Session) {
			_, err := s.Golden()
			note("golden", err)
			c, _, err := s.Load("/some/cubin", "")
			note("load", err)
			for _, c := range []Candidate{Original, c} {
				for _, m := range []Measurement{{}, {Cold: true}, {Again: true}} {
					times, err := s.Measure(c, 3, m)
					note("measure", err)
					for _, ns := range times {
						if math.Abs(ns-5e5) > 1 { // without what events take themselves
							t.Errorf("%s: a time of %g ns", fail, ns)
						}
					}
				}
				for _, o := range []Schedule{{}, {Cold: true}, {Dynamic: 4096}} {
					_, err := s.CheckUnder(c, o)
					note("check", err)
				}
			}
			counts, err := s.Read(c, "counts", 16)
			note("read", err)
			if err == nil && (counts[0] != 5 || counts[8] != 7) {
				t.Errorf("%s: the variable is %v", fail, counts)
			}
			for _, bad := range []struct {
				c    Candidate
				name string
				size int
			}{{c, "counts", 8}, {c, "another", 16}, {Original, "counts", 16}, {c + 7, "counts", 16}} {
				b, err := s.Read(bad.c, bad.name, bad.size)
				if err == nil {
					t.Errorf("%s: %v is read of what is not there", fail, b)
				}
				if fault := (*Fault)(nil); errors.As(err, &fault) {
					note("read", err)
				}
			}
		}}
		exit, log := f.try(t, h, "launch", false, "FAIL="+fail)
		for _, p := range h.starts {
			said = append(said, p.Trouble)
		}
		for _, e := range h.events {
			if strings.HasPrefix(e, "left alone") {
				said = append(said, e)
			}
		}
		if len(h.launch) == 0 {
			said = append(said, "no launch is reported")
		}
		return strings.TrimSpace(strings.Join(said, "\n") + log), exit
	}
	if said, exit := session(""); said != "" || exit.Code != 7 {
		t.Fatalf("nothing fails: %q, %+v", said, exit)
	}
	for _, symbol := range driverSymbols(t, "agent/source/driver.h") {
		said, exit := session(symbol)
		if said == "" && (harmless[symbol] == "" || exit.Code != 7) {
			t.Errorf("%s fails, and nobody says so: %+v", symbol, exit)
		}
		if exit.Code != 7 && exit.Code != 4 { // memory could not be put back
			t.Errorf("%s fails: the replayer ends with %+v (%s)", symbol, exit, said)
		}
	}
}

// driverSymbols lists the driver's functions in a header's table.
func driverSymbols(t *testing.T, path string) []string {
	t.Helper()
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	var out []string
	for line := range strings.Lines(string(text)) {
		if parts := strings.Split(line, `"`); strings.HasPrefix(line, "  X(") && len(parts) == 3 {
			out = append(out, parts[1])
		}
	}
	if len(out) < 20 {
		t.Fatalf("only %q", out)
	}
	return out
}

// TestSchedules: with more shared memory it is the same kernel that runs, and what it leaves then
// is compared with what it left before; what the kernel may be launched with is as it was, and so
// is memory. What the driver refuses is reported, and the session goes on.
func TestSchedules(t *testing.T) {
	h := &host{tune: func(l *Launch, s Session) {
		for _, c := range []Candidate{Original, load(t, s)} {
			for _, o := range []struct {
				Schedule
				same bool
			}{{Schedule{}, true}, {Schedule{Cold: true}, true}, {Schedule{Dynamic: 1000}, true},
				{Schedule{Dynamic: 4096}, false}, {Schedule{true, 4096}, false}, {Schedule{}, true}} {
				d, err := s.CheckUnder(c, o.Schedule)
				if err != nil || d.Same != o.same || !d.Same && (d.Words != 1 || d.Want^d.Got != 0x40<<40) {
					t.Errorf("candidate %d, %+v: %+v, %v", c, o, d, err)
				}
			}
			var refused *CandidateError
			if _, err := s.CheckUnder(c, Schedule{Dynamic: 228 << 10}); !errors.As(err, &refused) {
				t.Errorf("candidate %d with too much shared memory: %v", c, err)
			}
			if d, err := s.Check(c); err != nil || !d.Same {
				t.Errorf("candidate %d after that: %+v, %v", c, d, err)
			}
		}
	}}
	if log := newFakeDriver(t).run(t, h, "schedules", false); log != "" {
		t.Error(log)
	}
}

// TestChecks: what a candidate prints must be the lines that the original prints, as many of each,
// in any order; arrays that surfaces may write are put back before each run, and what is left there
// is compared. However often it was timed before.
func TestChecks(t *testing.T) {
	f := newFakeDriver(t)
	for _, x := range []struct {
		app, env string
		same     bool
	}{
		{"replay", "PRINTS=one\ntwo\ntwo\n", true}, {"replay", "PRINTS=two\none\ntwo\n", true},
		{"replay", "PRINTS=", false}, {"replay", "PRINTS=one\ntwo\n", false},
		{"replay", "PRINTS=one\none\ntwo\n", false}, {"replay", "PRINTS=one\ntwo\ntwo", false},
		{"replay", "PRINTS=one\ntwo\nten\n", false}, {"replay", "PRINTS=one\ntwo\ntwo\n\n", false},
		{"replay surfaces", "SURFACE=1", true}, {"replay surfaces", "SURFACE=2", false},
	} {
		prints := x.app == "replay"
		h := &host{tune: func(l *Launch, s Session) {
			w, err := s.Golden()
			if err != nil || !prints && (w.Allocations != 2 || w.Bytes != 1<<20+600) {
				t.Errorf("%+v, %v", w, err)
			}
			c := load(t, s)
			for range 2 {
				if _, err := s.Measure(c, 3, Measurement{}); err != nil {
					t.Error(err)
				}
				own, err := s.Check(Original)
				if err != nil || !own.Same {
					t.Errorf("%q: the original differs from itself: %v, %v", x.env, own, err)
				}
				d, err := s.Check(c)
				if err != nil || d.Same != x.same {
					t.Errorf("%q: %v, %v; want %v", x.env, d, err, x.same)
				}
				if !x.same && !prints && !strings.Contains(d.Where, "(array)") ||
					!x.same && prints && (!math.IsInf(d.Relative32, 1) || !math.IsInf(d.Mean64, 1) ||
						!strings.Contains(d.String(), "what it printed")) {
					t.Errorf("%q: %v: %+v", x.env, d, d)
				}
			}
		}}
		if log := f.run(t, h, x.app, false, x.env); log != "" || len(h.launch) != 1 || h.launch[0].LeaveAlone != "" {
			t.Errorf("%q: %q, %q", x.env, log, h.events)
		}
	}
}

// TestTurns: a launch is reported with the arguments of the one directly before it, where that was
// one of the same; timed behind such a one, it finds memory as before each time, also what that one
// wrote.
func TestTurns(t *testing.T) {
	h := &host{again: func(*Launch) int { return 1 }}
	h.tune = func(l *Launch, s Session) {
		if l.Count != 3 {
			return
		}
		check := func() {
			if d, err := s.Check(Original); err != nil || !d.Same {
				t.Errorf("%v, %v", d, err)
			}
		}
		measure := func(c Candidate, n int, m Measurement) {
			if _, err := s.Measure(c, n, m); err != nil {
				t.Error(err)
			}
		}
		w, err := s.Golden()
		base := binary.LittleEndian.Uint64(l.Params[0].Value)
		if err != nil || !reflect.DeepEqual(w.Where, []Stretch{{base, 1 << 20}}) {
			t.Errorf("%+v is written, at %#x; %v", w, base, err)
		}
		turn := Measurement{Again: true, Prior: l.Prior}
		measure(Original, 2, turn)
		check()
		c := load(t, s)
		measure(c, 2, turn)
		check()
		measure(c, 2, Measurement{})
		measure(c, 2, Measurement{Again: true})
		turn.Row = 3 // with the other one between
		measure(c, 1, turn)
		check()
		if _, err := s.Measure(c, 1, Measurement{Again: true, Prior: l.Prior[1:]}); err == nil ||
			!strings.Contains(err.Error(), "the arguments of the launch before") {
			t.Error(err)
		}
		check()
	}
	if log := newFakeDriver(t).run(t, h, "turns", false); log != "" || len(h.launch) != 5 {
		t.Fatalf("%q, %q", log, h.events)
	}
	p, q := h.launch[0].Params[0].Value, h.launch[1].Params[0].Value
	if binary.LittleEndian.Uint64(p) == binary.LittleEndian.Uint64(q) {
		t.Fatal("one buffer")
	}
	for i, want := range []string{"", string(p), string(q), "", ""} {
		if got := string(h.launch[i].Prior); got != want {
			t.Errorf("launch %d comes behind %x, want %x", i+1, got, want)
		}
	}
}
