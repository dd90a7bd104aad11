package tuner

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/rs/zerolog"

	"gnvcc/cache"
	"gnvcc/policy"
	"gnvcc/policy/decide"
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
		return capture.Seen{Launch: &profile.Launch{Kernel: kernel, Shape: profile.Shape{Grid: [3]int{grid, 1, 1}}},
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
	if got := strings.Join(why, "|"); got != "it prints|"+tooSmall+"|"+otherSizes+"||other bits|"+unheeded+"|"+tooSmall {
		t.Error(got)
	}
	// The other grid lies between measured ones.
	a.settle([]decide.Result{{Kernel: policy.Kernel{Name: "k"},
		Between: []policy.Shape{{Grid: [3]int{3, 1, 1}}}}})
	if a.rows[2].Why != otherSizes {
		t.Errorf("%+v", a.rows)
	}
	a.rows[3].Cut = true
	a.settle([]decide.Result{{Kernel: policy.Kernel{Name: "k"},
		Between: []policy.Shape{{Grid: [3]int{2, 1, 1}}}}})
	if a.rows[2].Seconds != 5 || a.rows[2].Why != "" || !a.rows[2].Cut || a.rows[3].Seconds != 4 {
		t.Errorf("%+v", a.rows)
	}
	// A crash ended its search: nothing is known of it.
	a.settle([]decide.Result{{Kernel: policy.Kernel{Name: "k"}, Lost: "it crashed"}})
	for i, r := range a.rows {
		if (i == 2 || i == 3) != strings.Contains(r.Why, "it crashed") {
			t.Errorf("%+v", r)
		}
	}
	if s := held(a.cost); s != "; capturing (1.1 GB) delayed the program by 1.5 s" {
		t.Error(s)
	}
	if s := held(capture.Cost{Bytes: 1 << 20, Held: time.Millisecond}); s != "" {
		t.Error(s)
	}
}

// TestOwns: of what a launch waited for others nothing is gained, wherever it was replayed; it
// stays a part of the time.
func TestOwns(t *testing.T) {
	list := []*capture.Manifest{{ID: "a", Kernel: "k"}, {ID: "b", Kernel: "l"}, {ID: "c", Kernel: "k"}}
	for _, m := range list {
		m.Use = capture.Use{Seconds: 8, Sampled: 1}
	}
	var a account
	a.captured(list)
	a.row(list[0]).Own = 0.25
	a.brought(Job{Capture: list[2]}, row{Kernel: "k", Capture: "c", Same: true,
		Seconds: 1, Own: 0.125})
	result := func(name string) decide.Result {
		d := &cache.Decision{Recipe: "maxnreg=32"}
		d.Evidence.Launches = []cache.Launch{{Seconds: 2, Before: cache.Time{Median: 2},
			After: cache.Time{Median: 1}}}
		return decide.Result{Kernel: policy.Kernel{Name: name, Short: name}, Decision: d}
	}
	got := map[string]float64{}
	for _, p := range a.pieces([]decide.Result{result("k"), result("l")}) {
		got[p.Kernel] += p.After
		if p.Seconds != 8 && p.Seconds != 16 {
			t.Errorf("%+v", p)
		}
	}
	if got["k"] != 7+7.5 || got["l"] != 4 {
		t.Error(got)
	}
}

// A capture that comes behind another one of its configuration is not replayed where nothing won;
// where the first one could not be replayed, or in a search without the program, it is.
func TestSettled(t *testing.T) {
	tuner := search.NewRun(context.Background(), policy.Defaults(), nil, nil, nil, nil)
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
		w := &ReplaySearch{Run: tuner, counted: c.counted}
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

func (preparing) Replay(context.Context, replay.Options, *replay.Unpacked,
	replay.Visit) (replay.Outcome, error) {
	return replay.Outcome{}, replay.ErrRefused
}

// TestBrought: of what a worker was to replay that counts as looked at which it has replayed.
func TestBrought(t *testing.T) {
	store, err := cache.Open(filepath.Join(t.TempDir(), "store"))
	if err != nil {
		t.Fatal(err)
	}
	var list []*capture.Manifest
	task := &task{kernel: &policy.Kernel{Identity: "k", Name: "k"}}
	for i, id := range []string{"searched", "stands", "differs", "unheeded"} {
		m := &capture.Manifest{ID: id, Kernel: "k", Cubin: "c", Use: capture.Use{Seconds: 1, Sampled: 1}}
		j := Job{Capture: m}
		if m.Grid[0] = i / 2; i == 1 {
			j.Before = list[0]
		}
		list, task.jobs = append(list, m), append(task.jobs, j)
	}
	w := &ReplaySearch{Say: t.Logf}
	w.account.captured(list)
	s := &spreading{run: &run{Request: Request{Store: store}}, w: w}
	if err := s.take(task, &Done{Rows: []row{{Capture: "searched", Same: true, Cut: true, Seconds: 9},
		{Capture: "stands", Why: standsFor}, {Capture: "differs", Why: "other bits"},
		{Capture: "unheeded", Why: unheeded}}, Lost: "it crashed"}); err != nil {
		t.Fatal(err)
	}
	got := ""
	for _, r := range w.account.rows {
		got += fmt.Sprintf("%g %v %s;", r.Seconds, r.Same, r.Why)
	}
	if want := "2 true ;0 false " + standsFor + ";1 false other bits;1 false " + unheeded + ";"; got != want ||
		!w.account.rows[0].Cut {
		t.Errorf("%s, want %s", got, want)
	}
	if len(s.results) != 1 || s.results[0].Lost != "it crashed" {
		t.Errorf("%+v", s.results)
	}
	s.unsearched(task, errNowhere)
	if r := w.account.rows[3]; !strings.Contains(r.Why, "this machine has no GPU") {
		t.Errorf("%+v", r)
	}
}

// TestUnlike: what gnvcc's replay does otherwise than the program is one reason, whatever differs; other
// refusals keep theirs.
func TestUnlike(t *testing.T) {
	var a account
	list := []*capture.Manifest{{ID: "a"}, {ID: "b"}, {ID: "c"}}
	a.captured(list)
	for i, err := range []error{fmt.Errorf("%w: 1 of 2 MiB", replay.ErrUnlike), fmt.Errorf("%w: 2 of 2 MiB", replay.ErrUnlike),
		fmt.Errorf("%w: no addresses", replay.ErrRefused)} {
		a.replayed(list[i], false, "", err)
	}
	if r := a.rows; r[0].Why != r[1].Why || !strings.Contains(r[0].Why, "a fault of gnvcc's") ||
		!strings.HasSuffix(r[2].Why, ": no addresses") {
		t.Errorf("%+v", a.rows)
	}
}
