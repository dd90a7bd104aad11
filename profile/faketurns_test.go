package profile

import (
	"context"
	"encoding/binary"
	"reflect"
	"strings"
	"testing"
)

// turning is a host that is asked about each launch, and has a session at the third one.
type turning struct{ scripted }

func (h *turning) Launch(l *Launch) Verdict {
	h.scripted.Launch(l)
	return Verdict{Tune: l.Count == 3, Again: 1}
}

func (h *turning) Tune(ctx context.Context, l *Launch, s Session) Verdict {
	h.scripted.Tune(ctx, l, s)
	return Verdict{Again: 1}
}

// TestTurns: a launch is reported with the arguments of the one directly before it, where that was
// one of the same; timed behind such a one, it finds memory as before each time, also what that one
// wrote.
func TestTurns(t *testing.T) {
	f := newFakeDriver(t)
	h := &turning{}
	h.tune = func(l *Launch, s Session) Verdict {
		check := func() {
			if d, err := s.Check(Original); err != nil || !d.Same {
				t.Errorf("%v, %v", d, err)
			}
		}
		w, err := s.Golden()
		base := binary.LittleEndian.Uint64(l.Params[0].Value)
		if err != nil || !reflect.DeepEqual(w.Where, []Stretch{{base, 1 << 20}}) {
			t.Errorf("%+v is written, at %#x; %v", w, base, err)
		}
		turn := Measurement{Again: true, Prior: l.Prior}
		if _, err := s.Measure(Original, 2, turn); err != nil {
			t.Error(err)
		}
		check()
		c, _, err := s.Load("/some/cubin", "")
		if err != nil {
			t.Error(err)
		}
		if _, err := s.Measure(c, 2, turn); err != nil {
			t.Error(err)
		}
		check()
		for _, m := range []Measurement{{}, {Again: true}} {
			if _, err := s.Measure(c, 2, m); err != nil {
				t.Error(err)
			}
		}
		turn.Row = 3 // with the other one between
		if _, err := s.Measure(c, 1, turn); err != nil {
			t.Error(err)
		}
		check()
		if _, err := s.Measure(c, 1, Measurement{Again: true, Prior: l.Prior[1:]}); err == nil ||
			!strings.Contains(err.Error(), "the arguments of the launch before") {
			t.Error(err)
		}
		check()
		return Verdict{}
	}
	exit, log := f.run(t, h, "turns", false)
	if exit.Code != 7 || log != "" || len(h.launch) != 5 {
		t.Fatalf("%+v, %q, %q", exit, log, h.events)
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
