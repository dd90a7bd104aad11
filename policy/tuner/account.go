package tuner

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/rs/zerolog"

	"gnvcc/policy"
	"gnvcc/policy/decide"
	"gnvcc/profile"
	"gnvcc/profile/capture"
	"gnvcc/profile/replay"
)

// What a tuning run cost the user and how much of the program it stands on, for GNVCC_LOG: one line
// a run, which benchmarks read.

// An account is kept by a ReplaySearch while it works.
type account struct {
	ran   time.Duration // the program, from its start to its end
	ended time.Time     // when it had; of a search on captures alone, when the search began
	kept  time.Time     // when all captures were in the store
	cost  capture.Cost
	times capture.Times
	rows  []row
	at    map[string]int // row of a capture, by its ID
}

// A row is a part of the program's time on the GPU: a captured launch's, or that of launches which
// were not captured.
type row struct {
	at      policy.Shape
	Kernel  string  `json:"kernel"`
	Device  string  `json:"device,omitempty"` // the model of the GPU
	Capture string  `json:"capture,omitempty"`
	Seconds float64 `json:"seconds"`        // on the device, in the program
	Same    bool    `json:"same"`           // replayed, with the bits that the program had, or with what differs from run to run
	Why     string  `json:"why,omitempty"`  // it is not, or nothing was searched on it
	Cut     bool    `json:"cut,omitempty"`  // the budget ended before its search did
	Left    int     `json:"left,omitempty"` // candidates that it then had asked for and not tried
	// the part of Seconds that a recipe's gain is of (replay.Outcome), 0: all
	Own float64 `json:"own,omitempty"`
	// what a recipe that was decided before makes of Seconds, and that is to be built yet; 0: nothing
	ratio float64
	// seconds: that the search waited for its file, and in which it was replayed
	Unpacking float64 `json:"unpacking,omitempty"`
	Replaying float64 `json:"replaying,omitempty"`
	// seconds of that by step, in the replayer's words (profile/replay)
	Spent map[string]float64 `json:"spent,omitempty"`
}

const (
	tooSmall   = "it takes less than 1 % of the time"
	unheeded   = "the budget ended before it was replayed"
	standsFor  = "represented by another launch"
	otherSizes = "launches of this size were not measured"
)

// enter takes down what was seen: captures, none of which has been replayed, and launches that have
// none. Where the kernel was captured in other sizes, these may stand for them (settle).
func (a *account) enter(seen []capture.Seen, why func(capture.Seen) string) {
	var list []*capture.Manifest
	captured := map[string]bool{}
	for _, s := range seen {
		list = append(list, s.Captures...)
		if len(s.Captures) > 0 {
			captured[kind(s.Launch)] = true
		}
	}
	for _, s := range seen {
		if len(s.Captures) > 0 {
			continue
		}
		reason := tooSmall
		if captured[kind(s.Launch)] && s.Use.Set == "" {
			reason = otherSizes
		}
		a.rows = append(a.rows, row{at: policy.ShapeOf(s.Profile().Launch), Kernel: s.Launch.Kernel,
			Device: s.Launch.Model(), Seconds: s.Use.Seconds, Why: cmp.Or(why(s), reason)})
	}
	a.captured(list)
}

// stand enters launches of kernels whose decisions stand.
func (a *account) stand(seen []capture.Seen, by *standings) {
	for _, s := range seen {
		of := by.find(s.Launch)
		a.rows = append(a.rows, row{at: policy.ShapeOf(s.Profile().Launch), Kernel: of.kernel,
			Device: s.Launch.Model(), Seconds: s.Use.Seconds, ratio: of.ratio})
	}
}

// graphs enters what graphs took whose kernels nobody saw one by one.
func (a *account) graphs(unseen []profile.Unseen) {
	for _, g := range unseen {
		a.rows = append(a.rows, row{Kernel: policy.OfGraphs, Seconds: g.Seconds, Why: g.Why})
	}
}

// kind is what launches have in common that differ in size and values alone.
func kind(l *profile.Launch) string {
	return fmt.Sprint(l.Cubin, l.Kernel, l.Dynamic, l.Model())
}

// about tells whether a result is about a row.
func (r *row) about(of *decide.Result) bool {
	return r.Kernel == of.Kernel.Name && r.Device == of.Device
}

// settle ends the account by what was decided. Nothing is known of a kernel whose search was lost,
// and of sizes that nobody measured only of those between measured ones, for which these stand.
// Where a search among these was cut off, theirs was, too.
func (a *account) settle(results []decide.Result) {
	for _, r := range results {
		cut := false
		for i := range a.rows {
			if x := &a.rows[i]; x.about(&r) && x.Why == "" {
				if cut = cut || x.Cut; r.Lost != "" {
					x.Why = "unchanged, since its search failed: " + r.Lost
				}
			}
		}
		for i := range a.rows {
			x := &a.rows[i]
			if x.about(&r) && (x.Why == otherSizes || x.Capture == "") && r.Lost == "" &&
				slices.Contains(r.Between, x.at) {
				x.Why, x.Cut = "", cut
			}
		}
	}
}

// captured enters captures.
func (a *account) captured(list []*capture.Manifest) {
	a.at = map[string]int{}
	for _, m := range list {
		a.at[m.ID] = len(a.rows)
		a.rows = append(a.rows, row{at: configuration(m).Shape, Kernel: m.Kernel,
			Device: m.Device, Capture: m.ID, Seconds: m.Weight(), Why: tooSmall})
	}
}

// row is a capture's; of one that was not entered, a row of its own that no account has.
func (a *account) row(m *capture.Manifest) *row {
	if i, ok := a.at[m.ID]; ok {
		return &a.rows[i]
	}
	return &row{}
}

// wanted says of captures that they are to be replayed.
func (a *account) wanted(list []Job) {
	for _, j := range list {
		a.row(j.Capture).Why = unheeded
	}
}

// stands lets a capture stand for another one, too, which is not replayed: of the same
// configuration, or else only where that lies between others (settle).
func (a *account) stands(m, other *capture.Manifest) {
	x, y := a.row(m), a.row(other)
	switch {
	case x.Capture == "" || x == y:
	case configuration(m) != configuration(other):
		y.Why = otherSizes
	default:
		x.Seconds += y.Seconds
		y.Seconds, y.Why = 0, standsFor
	}
}

// brought enters how a capture went elsewhere.
func (a *account) brought(j Job, r row) {
	if r.Why == standsFor {
		a.stands(j.Before, j.Capture)
		return
	}
	x := a.row(j.Capture)
	r.Seconds, r.at = x.Seconds, x.at
	*x = r
}

// replayed enters how the first replay of a capture went: why there was no search on it, "" if
// there was; where other bits were left, err.
func (a *account) replayed(m *capture.Manifest, same bool, alone string, err error) {
	if r := a.row(m); !r.Same {
		if r.Same, r.Why = same, alone; !same {
			r.Why = fmt.Sprint(err)
			if errors.Is(err, replay.ErrUnlike) { // counted together, wherever it is
				r.Why = replay.ErrUnlike.Error()
			}
		}
	}
}

// spend adds up a replay's seconds by step.
func (r *row) spend(steps map[string]float64) {
	if r.Spent == nil {
		r.Spent = map[string]float64{}
	}
	for step, s := range steps {
		r.Spent[step] += s
	}
}

// log writes the line; decided is when everything was.
func (a *account) log(log zerolog.Logger, decided time.Time) {
	if a.ended.IsZero() {
		return
	}
	log.Info().Float64("program", a.ran.Seconds()).Float64("held", a.cost.Held.Seconds()).
		Int64("captured", a.cost.Bytes).Float64("kept", max(0, a.kept.Sub(a.ended).Seconds())).
		Float64("driver", a.times.Driver.Seconds()).Float64("launch", a.times.Launch.Seconds()).
		Float64("end", a.times.End.Seconds()).
		Float64("decided", decided.Sub(a.ended).Seconds()).
		Interface("rows", a.rows).Msg("tuned")
}

// held says what capturing took of the program's time, where that is worth a word.
func held(c capture.Cost) string {
	if c.Held < 100*time.Millisecond {
		return ""
	}
	return fmt.Sprintf("; capturing (%.2g GB) delayed the program by %.1f s", float64(c.Bytes)/1e9,
		c.Held.Seconds())
}
