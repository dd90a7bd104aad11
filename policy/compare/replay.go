// SPDX-License-Identifier: Apache-2.0

package compare

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math"
	"time"

	"gnvcc/policy"
	"gnvcc/policy/measure"
	"gnvcc/policy/stats"
	"gnvcc/policy/tuner"
	"gnvcc/profile"
	"gnvcc/profile/capture"
	"gnvcc/profile/replay"
	"gnvcc/rewrite/manner"
)

// Captured launches, replayed in turn: the earlier build is in the capture, as the program's own
// would be; the later one is loaded as well. Both get the same memory, and what they leave is
// compared byte by byte.

// A Bench is where launches are replayed.
type Bench struct {
	Captures *capture.Store
	GPU      tuner.GPU // nil: this machine's
	Agent    string    // the built agent
	Replayer string    // the built replayer
	Say      func(format string, args ...any)
}

// A Measured is what a launch took and left in both builds.
type Measured struct {
	Ratio, Low, High float64 // time over the earlier build's, with its interval
	N                int     // pairs of blocks that it rests on
	// the same in the other state of the L2 cache, where the program's is not known; 0: not taken
	Other         float64 `json:",omitempty"`
	Before, After float64 // ns, medians
	// by more than 1 %, all of the interval on that side of 1, and so with other
	Slower, Faster bool
	Bits           string // sameBits, otherBits or unsteady
	Where          string `json:",omitempty"` // the first that differs, and how many
	Words          int64  `json:",omitempty"` // of 4 bytes, that differ
	// the largest relative error; 0: what it writes is no floating point alone
	Error float64 `json:",omitempty"`
}

// What a later build left.
const (
	sameBits  = "same"
	otherBits = "other"
	unsteady  = "unsteady" // the earlier build's own differ from run to run
)

// errFails is wrapped where the later build can't be loaded, launched or brought to its end.
var errFails = errors.New("it can't be run")

// A Loaded is one build's module of a kernel.
type Loaded struct {
	capture.Code
	Kernel *policy.Kernel // what is known of it; its name is what is launched
	Path   string         // the cubin as a file
	Entry  string         // what is launched in it, "": the kernel
	Manner manner.Manner  // how

	// gives what this launch takes, of several; nil: there is but one
	choose func(*profile.Launch) (Loaded, error)
}

// Run replays one captured launch, of both builds in turn.
func (b *Bench) Run(ctx context.Context, m *capture.Manifest, before, after Loaded) (*Measured,
	error) {
	if before.Kernel.Name != m.Kernel {
		return nil, fmt.Errorf("%w: it was captured as %s", capture.ErrUnlike, m.Kernel)
	}
	was, err := b.Captures.Edited(m, before.Code)
	if err != nil {
		return nil, err
	}
	if _, err := b.Captures.Edited(m, after.Code); err != nil {
		return nil, err
	}
	if own, err := b.Captures.Code(m); err == nil {
		loaded, err1 := policy.CodeHash(own, m.Kernel)
		built, err2 := policy.CodeHash(before.Cubin, m.Kernel)
		if err1 == nil && err2 == nil && loaded == built {
			was = m // what it left in the program is known, and compared with as well
		}
	}
	folder, err := tuner.SocketScratch()
	if err != nil {
		return nil, err
	}
	defer folder.Remove()
	u, err := replay.Unpack(b.Captures, was, folder.Path)
	if err != nil {
		return nil, err
	}
	defer u.Close()
	o := replay.Options{Program: b.Replayer, Agent: b.Agent, Log: b.Say, Scratch: folder.Path}
	at := replay.Open(func(v replay.Visit) (replay.Outcome, error) {
		return tuner.ThisGPU(b.GPU).Replay(ctx, o, u, v)
	}, true, nil)
	t := &turns{before: before, after: after}
	stop := at.Next()
	switch {
	case stop == nil:
	case stop.Alone != "":
		err = errors.New(stop.Alone)
	default:
		err = t.compare(stop.Context, stop.Launch, stop)
	}
	out, failed := at.Close()
	switch {
	case failed != nil:
		return nil, failed
	case err != nil:
		return nil, err
	case stop == nil:
		return nil, fmt.Errorf("%w: %s", replay.ErrRefused, out.Reason)
	}
	return &t.out, nil
}

// turns compares both builds in one replay.
type turns struct {
	before, after Loaded
	out           Measured
}

func (t *turns) compare(ctx context.Context, l *profile.Launch, s profile.Session) error {
	on := measure.Launch{Session: s, Seen: l, Base: profile.Original, Rule: stats.Standard}
	steady, err := on.Steady()
	if err != nil {
		return fmt.Errorf("the earlier build: %w", err)
	}
	if t.after.choose != nil {
		if t.after, err = t.after.choose(l); err != nil {
			return err
		}
	}
	c, _, err := s.LoadAs(t.after.Path, cmp.Or(t.after.Entry, t.after.Kernel.Name), t.after.Manner)
	if err == nil {
		var d profile.Difference
		if d, err = s.Check(c); err == nil {
			t.bits(steady, d)
		}
	}
	if err != nil {
		if ctx.Err() != nil {
			return ctx.Err()
		}
		return fmt.Errorf("%w: %w", errFails, err)
	}
	if err := on.Begin(func(time.Duration) error { return nil }); err != nil {
		return err
	}
	if err := on.Warm(); err != nil {
		return err
	}
	found, err := on.Harm(c, false)
	if err != nil {
		return err
	}
	r := found.Ratio
	t.out.Ratio, t.out.Low, t.out.High, t.out.N = r.Estimate, r.Low, r.High, r.N
	t.out.Slower = on.Rule.Harmful(r) && r.Low > 1
	t.out.Faster = r.Estimate < 1-on.Rule.Harm && r.High < 1
	if math.IsInf(r.High, 1) { // too few launches for an interval
		t.out.Low, t.out.High = 0, 0
	}
	t.out.Before, t.out.After = stats.Median(found.Base), stats.Median(found.Cand)
	if l.Either {
		other, err := on.Harm(c, true)
		if err != nil {
			return err
		}
		t.out.Other = other.Ratio.Estimate
		t.out.Slower = t.out.Slower && t.out.Other > 1
		t.out.Faster = t.out.Faster && t.out.Other < 1
	}
	return nil
}

// bits notes what was left; steady is how two runs of the earlier build differ.
func (t *turns) bits(steady, d profile.Difference) {
	switch {
	case !steady.Same:
		t.out.Bits, t.out.Where = unsteady, steady.String()
	case d.Same:
		t.out.Bits = sameBits
	default:
		t.out.Bits, t.out.Where, t.out.Words = otherBits, d.String(), d.Words
		if e := t.before.Kernel.ErrorOf(d); e.Max < policy.UnknownError {
			t.out.Error = e.Max
		}
	}
}
