package judge

import (
	"bytes"
	"errors"
	"fmt"
	"time"

	"gnvcc/policy"
	"gnvcc/policy/measure"
	"gnvcc/policy/stats"
	"gnvcc/profile"
	"gnvcc/profile/replay"
	"gnvcc/sim/cubin"
)

// An edit on a GPU: profile/replay does the captured launch again, in a process of its own,
// and this decides what is run there. Every run begins with the memory of the launch as it was
// captured.

// A Replayed is what an edit gave on one captured launch.
type Replayed struct {
	Path, Kernel string // the edit's cubin
	Within       Within
	Variables    []cubin.Global // of the edit, which the original does not have
	Timed        bool           // equal edits are timed
	Variations   []int          // of the data, which are compared as well
	// "float" or "double" where all that the launch reaches is that, else "": then nothing but the
	// same bits is equal, since words that differ are not distinguished by what they are
	Numbers string

	Verdict
	Done    bool             // it came to a verdict
	Changes bool             // the original leaves other bytes than there were
	Speed   *policy.Compared // edit over original; nil: not timed
	Better  bool             // by tune's rule, in both states of the L2 cache
}

// Replay judges at each stop of a replay, as long as the edit is equal; play is replay.Open's.
func (r *Replayed) Replay(play func(replay.Visit) (replay.Outcome, error)) error {
	at := replay.Open(play, true, r.Variations)
	for stop := at.Next(); stop != nil && r.stop(stop); stop = at.Next() {
	}
	_, err := at.Close()
	return err
}

// stop judges at one; false: nothing is left to be compared.
func (r *Replayed) stop(s *replay.Stop) bool {
	switch {
	case s.Variation > 0 && (!r.Done || !r.Equal):
		return false
	case s.Alone != "":
		r.refuse(Refused, "the launch can't be repeated: "+s.Alone)
	case s.Variation == 0:
		r.Verdict = Verdict{How: Same, Equal: true, Where: "the captured launch " + s.Launch.Capture}
		r.judge(s, s.Launch, true)
	default:
		r.Where = fmt.Sprintf("the captured launch %s with data varied (%d)", s.Launch.Capture, s.Variation)
		r.judge(s, s.Launch, false)
	}
	return r.Equal
}

func (r *Replayed) refuse(how, why string) {
	r.Done, r.How, r.Equal, r.Why = true, how, false, why
}

// judge compares on what is in memory now. Varied data on which the original does not repeat itself
// proves nothing. What an edit keeps in variables of its own stays there
// from run to run, as it would in a program: so it is compared again behind the timed runs.
func (r *Replayed) judge(s profile.Session, l *profile.Launch, captured bool) {
	r.Done = true
	written, err := s.Golden()
	if err != nil {
		r.refuse(Refused, "the original can't be run again: "+err.Error())
		return
	}
	r.Changes = r.Changes || written.Bytes > 0
	c, _, err := s.Load(r.Path, r.Kernel)
	if err != nil {
		r.refuse(Refused, err.Error())
		return
	}
	defer func() { _ = s.Unload(c) }()
	on := measure.Launch{Session: s, Seen: l, Base: profile.Original, Rule: stats.Standard}
	switch d, err := on.Steady(); {
	case !captured && (err != nil || !d.Same):
		return
	case err == nil && !d.Same:
		r.refuse(Refused, "two runs of the original differ: "+d.String())
		return
	}
	before, err := r.kept(s, c)
	if err == nil {
		err = r.check(s, c)
	}
	if err == nil && r.Equal && captured && r.Timed {
		if err = r.time(&on, c); err == nil {
			err = r.check(s, c)
		}
	}
	if err == nil && r.Equal {
		var after [][]byte
		if after, err = r.kept(s, c); err == nil {
			r.compareKept(before, after)
		}
	}
	var fault *profile.Fault
	switch {
	case err == nil:
	case errors.Is(err, profile.ErrHung):
		r.refuse(Hangs, "it did not end in time; its process was ended")
	case errors.As(err, &fault) && fault.Candidate != profile.Original:
		r.refuse(Faults, err.Error())
	default:
		r.refuse(Refused, err.Error())
	}
}

func (r *Replayed) check(s profile.Session, c profile.Candidate) error {
	d, err := s.Check(c)
	if err != nil {
		return err
	}
	r.Launches++
	if d.Same {
		return nil
	}
	relative := map[string]float64{"float": d.Relative32, "double": d.Relative64}
	if far, known := relative[r.Numbers]; known && r.Within.Relative > 0 && far <= r.Within.Relative {
		r.How = Near
		return nil
	}
	r.How, r.Equal, r.Why = Different, false, d.String()
	if d.Words == 0 {
		return nil // it has printed something else
	}
	r.Difference = &Difference{Argument: d.Where, Index: int(d.Offset / 4), Type: "32 bits",
		Want: fmt.Sprintf("%x", d.Want), Got: fmt.Sprintf("%x", d.Got), Elements: int(d.Words),
		beyond: true}
	return nil
}

// time measures edit and original in turn. Each time is from before the launch until the device
// has nothing left to do for it.
func (r *Replayed) time(on *measure.Launch, c profile.Candidate) error {
	if err := on.Begin(func(time.Duration) error { return nil }); err != nil {
		return err
	}
	if err := on.Warm(); err != nil {
		return err
	}
	found, err := on.Fresh(c)
	if err != nil {
		return err
	}
	r.Speed = policy.Compare(found, on.Rule.Confidence)
	r.Better, err = on.Careful(c, r.Speed)
	r.Better = r.Better && r.Speed.Better(on.Rule)
	return err
}

// kept reads the variables in which an edit could keep something.
func (r *Replayed) kept(s profile.Session, c profile.Candidate) (out [][]byte, err error) {
	for _, v := range r.Variables {
		b, err := s.Read(c, v.Name, v.Size)
		if err != nil {
			return nil, fmt.Errorf("read its variable %s: %w", v.Name, err)
		}
		out = append(out, b)
	}
	return out, nil
}

func (r *Replayed) compareKept(before, after [][]byte) {
	for n, v := range r.Variables {
		if !bytes.Equal(before[n], after[n]) {
			r.refuse(Different, "it keeps something from one launch to the next, in its variable "+v.Name)
			return
		}
	}
}
