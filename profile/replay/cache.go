package replay

import (
	"math"
	"slices"
	"time"

	"gnvcc/profile"
	"gnvcc/profile/capture"
)

// How a launch finds the L2 cache in the program is not known: its time is, and whether launches of
// the same went before it. Where the program does the launch in a row, so does the replay, if it
// may: each timed run comes behind some of its own, which left their results there, and drove out
// what they did (measured on an H200: the time in a row is had again within 1 % so, where copies
// that went before gave 0.89 to 1.09 of it). Else it is timed with what the last copies left in the
// cache, or with an empty one, whichever comes nearer. Where other kernels run in between, the
// cache is in neither state: a kernel of 27 us took 26 and 29 there, and hints that gained 9 % with
// what copies had left, and 2 % with nothing, gained 2 % in the program.

const (
	// Below, the events' own microseconds say more than the cache does: it is not emptied.
	shortest = 80 * time.Microsecond
	// slack is what events around a launch that the device waits for take themselves, at the most: the
	// first one is there before the launch.
	slack = 15 * time.Microsecond
	// near is how far a replay's time may be from the program's.
	near = 0.05
)

// few is below how many timed launches the program's time says little: a launch beside which memory
// was captured comes to a device that has been idle, with low clocks (measured on an H200: 523 us
// for 474, 175 for 120, 65 for 12).
const few = 3

// many is from how many launches on a row is one.
const many = 8

// filling is how long launches in a row take until the L2 cache holds what a row leaves in it, and
// no more what was copied before: several times what fills it, at an H200's 50 MB and 4.8 TB/s.
// Measured there with two buffers in turns (iso2dfd, bench/results/2026-11-23-claims): behind one
// launch of 22 us as behind five or twenty, it takes what it takes in the program.
const filling = 100 * time.Microsecond

// mostRow is how many launches a row has at the most: each costs the search its time.
const mostRow = 8

// rows is how many launches a timed one comes behind; ns is what one takes in the program.
func rows(ns float64) int {
	return min(max(int(math.Ceil(float64(filling.Nanoseconds())/max(ns, 1))), 1), mostRow)
}

// soon is from where on the state of the L2 cache makes no difference: to fill all of it takes some
// 20 us.
const soon = 3 * time.Millisecond

// state is a session that times in one state of the L2 cache, and in the other one if asked.
type state struct {
	profile.Session
	cold bool // it is emptied before each timed run
	// each timed run comes behind some of its own; the other state is what copies leave
	again bool
	prior []byte // what that one is given, nil: the same
	row   int    // so many of its own
}

func (s state) Measure(a profile.Candidate, n int, m profile.Measurement) ([]float64, error) {
	if s.again {
		if m = (profile.Measurement{Again: !m.Other}); m.Again {
			m.Prior, m.Row = s.prior, s.row
		}
	} else {
		m.Cold, m.Other = s.cold != m.Other, false
	}
	return s.Session.Measure(a, n, m)
}

// took is what launches such as the captured one take in the program, ns: where launches differ in work, those of
// its class.
func took(m *capture.Manifest) float64 {
	u := m.Use
	if m.Took > 0 && profile.Unlike(u.Classes) {
		for _, x := range u.Classes {
			if x.Low == profile.ClassOf(m.Took) {
				return x.Mean() * 1e9
			}
		}
	}
	return u.Seconds / float64(u.Count) * 1e9
}

// timed chooses how a session is timed, and notes in the launch how far the replay then is from the
// program. Where neither comes near, that is said: what is gained there need not be gained in the
// program, and the search asks for more. Where both do, or the program's time is of too few
// launches to tell, a candidate's gain may still be in one of them alone, and the search looks at
// both.
func (w *host) timed(l *profile.Launch, s profile.Session) profile.Session {
	warm := state{Session: s}
	u := w.m.Use
	if u.Sampled == 0 || u.Count == 0 {
		return warm
	}
	program := took(w.m)
	l.Repeats = u.Row && u.Count >= many && program < float64(soon.Nanoseconds())
	if err := warmUp(s); err != nil {
		return warm // the host meets it too
	}
	full, err := s.Measure(profile.Original, 3, profile.Measurement{})
	if err != nil {
		return warm
	}
	if u.Varied > 0 && u.Sets > 1 && !w.m.Moves() {
		// Launches with other values take other times: the program's time says nothing of this one's.
		l.Either = !l.Repeats && median(full) < float64(soon.Nanoseconds())
		return warm
	}
	empty, err := s.Measure(profile.Original, 3, profile.Measurement{Cold: true})
	if err != nil {
		return warm
	}
	inFull, inEmpty := off(median(full), program), off(median(empty), program)
	if l.Repeats && w.repeatable(s) {
		in := state{Session: s, again: true, prior: w.m.Turn(), row: rows(program)}
		again, err := in.Measure(profile.Original, 3, profile.Measurement{})
		if err != nil {
			return warm
		}
		// one that takes another time on what it left does not do the same there
		if l.Repeats = off(median(again), program) <= max(near, min(inFull, inEmpty)); l.Repeats {
			return in
		}
	}
	if u.Sampled < few {
		l.Either = median(full) < float64(soon.Nanoseconds())
		return warm
	}
	// of a short launch the time alone does not tell that its cache was not empty
	l.Either = inEmpty <= near && program < float64(soon.Nanoseconds()) &&
		(inFull <= near || program < float64(shortest.Nanoseconds()))
	if program < float64(shortest.Nanoseconds()) {
		return warm
	}
	l.Cold = inEmpty < inFull
	if unlike := min(inFull, inEmpty); unlike > near {
		l.Unlike = unlike
		w.log(
			"%s: a launch took %.4g us in the program, %.4g us in the replay, %.4g with an empty L2 cache: what is gained in the program may differ, so more is asked for",
			w.m.Kernel, program/1e3, median(full)/1e3, median(empty)/1e3)
	}
	if alone := max(median(full), median(empty)); program > waits*alone {
		w.own = alone / program
	}
	return state{Session: s, cold: l.Cold}
}

// waits is how many times as long as in the replay a launch takes of which most is something else:
// streams beside each other, of which each has the whole device in turn, make it tens (a kernel of
// 0.22 ms behind another one in each of 64 streams: 30 ms), and caches and clocks less than two.
// What a recipe gains is not gained of that.
const waits = 2

// warming is how long the original is launched before its times are compared with the program's: a
// GPU that was idle has low clocks at first.
const warming = 60 * time.Millisecond

func warmUp(s profile.Session) error {
	for begun, n := time.Now(), 1; time.Since(begun) < warming; {
		ns, err := s.Measure(profile.Original, n, profile.Measurement{})
		if err != nil {
			return err
		}
		n = min(max(1, int(float64(warming)/8/max(ns[len(ns)-1], 1))), 100)
	}
	return nil
}

// repeatable reports whether the launch can be done on what it left itself: it was seen to, or all
// memory that it writes, and that the one before it writes in the program, holds numbers that
// addresses don't come from. What it only reads is as it was.
func (w *host) repeatable(s profile.Session) bool {
	if w.m.Settles && w.m.Turn() == nil {
		return true
	}
	written, err := s.Golden()
	if err != nil || len(w.m.Ranges) == 0 || len(written.Where) < written.Allocations {
		return false
	}
	for _, x := range append(written.Where, w.m.Turned()...) {
		if !w.m.Numeric(x.Address, x.Size) {
			return false
		}
	}
	return true
}

// off is how far a replay's time is from the program's, of which some may be the events' own: alike
// in both directions.
func off(replay, program float64) float64 {
	if replay <= program && replay >= program-float64(slack.Nanoseconds()) {
		return 0
	}
	if replay < program {
		program -= float64(slack.Nanoseconds())
	}
	return max(replay/max(program, 1), program/max(replay, 1)) - 1
}

// median is that of an odd number of times.
func median(ns []float64) float64 { return slices.Sorted(slices.Values(ns))[len(ns)/2] }
