package search

import (
	"fmt"
	"slices"
	"time"

	"gnvcc/policy"
	"gnvcc/policy/decide"
	"gnvcc/policy/lever"
	"gnvcc/profile"
)

// Kernels that agree with themselves by chance. Where several threads store to one word, the last
// one decides what it is; two runs of the original, which follow the same schedule, mostly leave
// the same, and a candidate, of which other blocks are resident, leaves something else without
// being wrong. So where a candidate has left other bits the original runs again, under other
// schedules, and where it disagrees with itself in any of them its results say nothing about a
// candidate.
//
// The code, the arguments and the memory are the original's each time, so that a kernel whose
// results its code determines can't disagree. What could be seen of a schedule is the shared memory
// that keeps blocks away: kernels that read how much they have, or of which a part is in another
// file and can't be looked at, run as they are, and so do those whose blocks may wait for each
// other. That a program asks for a kernel's occupancy changes nothing here: the launch is the one
// that it has made by the answer.

// repeats is how often the original runs again as it is: an agreement by chance, of a word that is
// one or the other half of the time, outlasts that in one of 16 cases.
const repeats = 4

// slowest is how long a run may take that has fewer blocks at a time: one that takes too long ends
// the process.
const slowest = 400 * time.Millisecond

// schedules are the ones under which the original runs again where its results are in doubt.
func (s *search) schedules() []profile.Schedule {
	out := append(make([]profile.Schedule, repeats), profile.Schedule{Cold: true})
	if k := &s.k.Kernel; !s.sit.Known || lever.NoThrottle.Of(k) != "" || k.External != "" {
		return out
	}
	sim := s.sit.Shape.Sim(s.k.Default)
	resident := s.sit.Device.Occupancy(s.k.Default.Registers, sim).Blocks
	for _, n := range slices.Compact([]int{(resident + 1) / 2, 1}) {
		if s.c.Before.Median*float64(resident)/float64(n) > float64(slowest) {
			break
		}
		if more, ok := s.sit.Device.Keeps(n, sim.Shared); ok && n < resident {
			o := profile.Schedule{Dynamic: more}
			out = append(out, o, o)
		}
	}
	return out
}

// disagrees runs the original under schedules and says how it has left other bits than before, ""
// where it never has. An error means that the process is lost.
func (s *search) disagrees(under []profile.Schedule) (how string, err error) {
	for i, o := range under {
		d, err := s.s.CheckUnder(s.on.Base, o)
		switch {
		case dead(err):
			return "", err
		case err != nil || decide.Within(&s.t.o, &s.k.Kernel, d):
			continue // it says nothing
		case o.Dynamic > 0:
			return fmt.Sprintf("with fewer resident blocks the original's results differ, too (%s)", d), nil
		}
		return fmt.Sprintf("the original agrees with itself by chance: run %d gave different bits (%s)", i+3,
			d), nil
	}
	return "", nil
}

// doubt asks, once, after a candidate has left other bits than the program's own launch, whether
// that launch is one of a nondeterministic kernel. Then recipes that are exact by construction are no
// longer refused for what they leave (unsteady.go); else the refusal stands: what is promised are the
// bits of that launch. Fewer resident blocks are not asked about: on the data of the
// program what the original leaves each time it runs there is what counts.
func (s *search) doubt(tr *policy.Trial) error {
	if s.doubted {
		return nil
	}
	s.doubted = true
	how, err := s.disagrees(make([]profile.Schedule, repeats))
	if err == nil && how != "" {
		err = s.unsteady(how, tr)
	}
	return err
}
