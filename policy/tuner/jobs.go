package tuner

import (
	"maps"
	"slices"
	"sort"

	"gnvcc/policy"
	"gnvcc/policy/search"
	"gnvcc/profile"
	"gnvcc/profile/capture"
)

// Which captures are worth a search, in which order, and with which share of the budget.

// A Job is a capture that is worth a search, with its share of the run's time.
type Job struct {
	Capture *capture.Manifest
	Share   float64
	// the capture of another size, on which is searched for this one, too: what won there is checked
	// here; nil: it is searched on itself
	Leader *capture.Manifest
	// another one of the same configuration, which comes before; nil: this is the first
	Before *capture.Manifest
	// share of the other sizes than its leader's, for which it is searched on itself where nothing won
	// on that; 0: it is not
	Rest float64
}

// later is the part of a configuration's share that goes to its captures beyond the first one: on
// these, what won is only checked.
const later = 0.1

// Jobs gives the captures that are worth a search, the first one of each configuration in front
// of all others.
func (w *ReplaySearch) Jobs(list []*capture.Manifest, total float64) []Job {
	var first, checked, others []Job
	had := map[search.Captured]*capture.Manifest{}
	list = mostOf(list)
	of, floor := families(list, total), floor(list, total)
	more := map[*capture.Manifest]float64{} // for those that lead sizes besides their own
	for _, j := range of {
		if j.Leader != nil && of[j.Leader].Capture == nil {
			more[j.Leader] += j.Share / (1 - leading) * leading
		}
	}
	for _, m := range list {
		if j, ok := of[m]; ok {
			switch {
			case j.Leader == nil:
				first = append(first, j)
			case j.Share > 0:
				checked = append(checked, j)
			default:
				w.account.stands(j.Leader, m)
			}
			continue
		}
		share := m.Weight() / max(total, 1e-12)
		n := float64(max(m.Use.Sets, 1)) // of this configuration
		if share*n < floor && m.Use.Sampled > 0 {
			continue
		}
		switch is := configuration(m); {
		case n == 1:
			first = append(first, Job{Capture: m, Share: share + more[m]})
		case had[is] == nil:
			had[is] = m
			first = append(first, Job{Capture: m, Share: share*n*(1-later) + more[m]})
		default:
			others = append(others, Job{Capture: m, Share: share * n * later / (n - 1), Before: had[is]})
		}
	}
	slices.Reverse(checked) // the least ones first: between them and the leaders lies the most
	return slices.Concat(first, checked, others)
}

// floor is the share below which a configuration is not searched.
func floor(list []*capture.Manifest, total float64) float64 {
	shares := map[search.Captured]float64{}
	for _, m := range list {
		shares[configuration(m)] = m.Weight() / max(total, 1e-12) * float64(max(m.Use.Sets, 1))
	}
	return capture.Floor(slices.Collect(maps.Values(shares)))
}

// mostOf puts, of the captures of one configuration, the one in front that stands for most of its
// time: that is where it is searched.
func mostOf(list []*capture.Manifest) []*capture.Manifest {
	out := slices.Clone(list)
	at := map[search.Captured]int{}
	for i, m := range out {
		if first, ok := at[configuration(m)]; !ok {
			at[configuration(m)] = i
		} else if partOf(m) > partOf(out[first]) {
			out[first], out[i] = m, out[first]
		}
	}
	return out
}

// partOf is the part of its configuration's time that a capture stands for, 0: not known.
func partOf(m *capture.Manifest) float64 {
	for _, c := range m.Use.Classes {
		if m.Part == 0 && m.Took > 0 && profile.ClassOf(m.Took) == c.Low {
			return c.Seconds / max(m.Use.Seconds, 1e-12)
		}
	}
	return m.Part
}

// leading is the part of a family's share that its leader gets, and the rest those that are
// checked.
const leading = 0.7

// families are captures of kernels whose launches have many sizes: few of them or none have much of
// the time, all together have. One leads: the heaviest configuration, if that is worth a search of
// its own, else the one with the most threads. The one with the fewest and those in the middle are
// checked, which is what sizes in between need (decide). The others are not replayed. Their times
// don't order them: each size was launched once, at its capture, when the device had been idle.
func families(list []*capture.Manifest, total float64) map[*capture.Manifest]Job {
	by := map[string][]*capture.Manifest{}
	leads := map[string]*capture.Manifest{}
	apart := map[string]float64{} // seconds of configurations with a search of their own
	seen := map[search.Captured]bool{}
	for _, m := range list {
		key, is := kindOf(m), configuration(m)
		switch heavy := m.Use.Seconds >= smallest*total; {
		case m.Use.Family < smallest*total:
		case !heavy:
			by[key] = append(by[key], m)
		case !seen[is]:
			apart[key] += m.Use.Seconds
			if l := leads[key]; l == nil || m.Use.Seconds > l.Use.Seconds {
				leads[key] = m
			}
		}
		seen[is] = true
	}
	out := map[*capture.Manifest]Job{}
	for key, f := range by {
		sort.SliceStable(f, func(i, j int) bool { return threads(f[i]) > threads(f[j]) })
		// of captures alone the total is less
		share := min(max(f[0].Use.Family-apart[key], 0)/max(total, 1e-12), 1)
		leader := leads[key]
		if leader == nil {
			leader = f[0]
			if f = f[1:]; len(f) == 0 {
				out[leader] = Job{Capture: leader, Share: share}
				continue
			}
			out[leader] = Job{Capture: leader, Share: share * leading}
		}
		checks := 2
		if slices.ContainsFunc(f, func(m *capture.Manifest) bool { return m.Block != leader.Block }) {
			checks = 4 // what a block's size does is less smooth
		}
		for _, m := range f {
			out[m] = Job{Capture: m, Leader: leader}
		}
		for i := range checks {
			m := f[((i+1)*len(f)+checks-1)/checks-1]
			out[m] = Job{Capture: m, Leader: leader, Share: share * (1 - leading) / float64(checks)}
		}
		for _, i := range []int{len(f) - 1, ((checks/2)*len(f)+checks-1)/checks - 1} {
			j := out[f[i]] // the smallest one, and one in the middle
			j.Rest = share
			out[f[i]] = j
		}
	}
	return out
}

// threads are those of all blocks.
func threads(m *capture.Manifest) int {
	s := policy.Shape{Grid: m.Grid, Block: m.Block}
	return s.Blocks() * s.Threads()
}

func kindOf(m *capture.Manifest) string {
	return kind(&profile.Launch{Cubin: m.Cubin, Kernel: m.Kernel, Shape: m.Shape,
		Device: &profile.Device{Name: m.Device}})
}

// manyGrids reports a capture whose kernel is launched in other sizes for most of its time, so
// that a copy for one grid would hardly ever run.
func manyGrids(m *capture.Manifest) bool { return m.Use.Seconds < ownGrid*m.Use.Family }

// ownGrid is the least part of such a kernel's time for which a copy for one grid is made.
const ownGrid = 0.2

func configuration(m *capture.Manifest) search.Captured {
	return search.Captured{Cubin: m.Cubin, Kernel: m.Kernel, Shape: policy.Shape{Grid: m.Grid,
		Block: m.Block, Dynamic: m.Dynamic, Set: m.Use.Set}, Device: m.Device}
}
