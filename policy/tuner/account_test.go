package tuner

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/rs/zerolog"

	"gnvcc/policy"
	"gnvcc/policy/search"
	"gnvcc/profile"
	"gnvcc/profile/capture"
	"gnvcc/profile/replay"
)

// A logged is the line of a tuning run in GNVCC_LOG.
type logged struct {
	Message                string
	Program, Held, Decided float64
	Captured               int64
	Rows                   []row
}

func loggedIn(t *testing.T, text []byte) (out []logged) {
	t.Helper()
	for lines := bufio.NewScanner(bytes.NewReader(text)); lines.Scan(); {
		var l logged
		if err := json.Unmarshal(lines.Bytes(), &l); err != nil {
			t.Fatalf("%v: %s", err, lines.Text())
		}
		if l.Message == "tuned" {
			out = append(out, l)
		}
	}
	return out
}

// TestAccount: each part of the program's time has a reason, and the first replay's outcome counts.
func TestAccount(t *testing.T) {
	var a account
	list := []*capture.Manifest{{ID: "a", Kernel: "k"}, {ID: "b", Kernel: "k"}, {ID: "c", Kernel: "k"},
		{ID: "d", Kernel: "k"}}
	for i, m := range list {
		m.Use = capture.Use{Seconds: float64(4 - i), Sampled: 1, Sets: 1}
	}
	seen := func(kernel string, grid int, seconds float64, why string,
		of ...*capture.Manifest) capture.Seen {
		return capture.Seen{Launch: &profile.Launch{Kernel: kernel, Grid: [3]int{grid, 1, 1}},
			Use: capture.Use{Seconds: seconds}, Captures: of, Why: why}
	}
	a.enter([]capture.Seen{seen("alone", 1, 2, "it prints"), seen("small", 1, 0.001, ""),
		seen("k", 1, 10, "", list...), seen("k", 2, 5, "")},
		func(s capture.Seen) string { return s.Why })
	a.wanted([]Job{{Capture: list[0]}, {Capture: list[1]}, {Capture: list[2]}})
	a.replayed(list[0], true, "", nil)
	a.replayed(list[0], false, "", errors.New("a candidate's crash"))
	a.replayed(list[1], false, "", errors.New("other bits"))
	a.ran, a.cost = 3*time.Second, capture.Cost{Bytes: 1 << 30, Held: 1500 * time.Millisecond}
	var b bytes.Buffer
	if a.log(zerolog.New(&b), time.Now()); b.Len() > 0 {
		t.Error("a line of a run that never was")
	}
	a.ended = time.Now()
	a.log(zerolog.New(&b), a.ended.Add(2*time.Second))
	lines := loggedIn(t, b.Bytes())
	if len(lines) != 1 || lines[0].Decided != 2 || lines[0].Program != 3 || lines[0].Held != 1.5 ||
		lines[0].Captured != 1<<30 {
		t.Fatalf("%+v", lines)
	}
	var why []string
	for _, r := range lines[0].Rows {
		why = append(why, r.Why)
	}
	if got := strings.Join(why, "|"); got != "it prints|"+tooSmall+"||other bits|"+unheeded+"|"+tooSmall {
		t.Error(got)
	}
	if s := lines[0].Rows[2].Seconds; s != 6 { // 4 of 10, and so much of the 5 of another grid
		t.Errorf("%g s", s)
	}
	if s := held(a.cost); s != "; captures (1.1 GB) held the program up for 1.5 s" {
		t.Error(s)
	}
	if s := held(capture.Cost{Bytes: 1 << 20, Held: time.Millisecond}); s != "" {
		t.Error(s)
	}
}

// A capture that comes behind another one of its configuration is not replayed where nothing won;
// where the first one could not be replayed, or in a search without the program, it is.
func TestSettled(t *testing.T) {
	tuner := search.NewTuner(context.Background(), policy.Defaults(), nil, nil, nil, nil)
	defer tuner.Finish()
	first := &capture.Manifest{ID: "a", Kernel: "k", Cubin: "c"}
	second := &capture.Manifest{ID: "b", Kernel: "k", Cubin: "c"}
	j := Job{Capture: second, Before: first}
	for _, c := range []struct {
		same, counted, now, want bool
	}{
		{true, true, false, true}, {false, true, false, false}, {true, false, false, false},
		{false, true, true, true}, {false, false, true, false},
	} {
		w := &ReplaySearch{Tuner: tuner, counted: c.counted}
		w.account.captured([]*capture.Manifest{first, second})
		w.account.replayed(first, c.same, "", errors.New("other bits"))
		var now *capture.Manifest
		if c.now {
			now = first
		}
		if got := w.settled(j, now); got != c.want {
			t.Errorf("%+v: %v", c, got)
		}
		if w.settled(Job{Capture: first}, now) {
			t.Error("the first one is not replayed")
		}
		asked := ""
		w.GPU = preparing(func(uuid string) { asked += uuid + ";" })
		w.rest = []Job{j, {Capture: &capture.Manifest{Kernel: "other", UUID: "its"}}}
		second.UUID = "second"
		w.prepare(context.Background(), now)
		if want := map[bool]string{true: "its;", false: "second;"}[c.want]; asked != want {
			t.Errorf("%+v: a process is prepared for %q, not %q", c, asked, want)
		}
	}
}

// preparing is told for which GPU a process is prepared.
type preparing func(uuid string)

func (p preparing) Prepare(_ context.Context, _ replay.Options, uuid string) *replay.Standby {
	p(uuid)
	return nil
}

func (preparing) Replay(context.Context, replay.Options, *replay.Unpacked, profile.Decider, int,
	[]int) (replay.Outcome, error) {
	return replay.Outcome{}, replay.ErrRefused
}
