package tuner

import (
	"fmt"
	"maps"
	"slices"
	"sort"

	"gnvcc/policy"
	"gnvcc/policy/search"
	"gnvcc/profile/capture"
)

// Which captures are worth a search, in which order, and with which share of the budget.

// A Job is a capture that is worth a search, with its share of the run's time.
type Job struct {
	Capture *capture.Manifest
	Share   float64
	// the capture of another grid, on which is searched for this one, too: what won there is checked
	// here; nil: it is searched on itself
	Leader *capture.Manifest
	// another one of the same configuration, which comes before; nil: this is the first
	Before *capture.Manifest
}

// later is the part of a configuration's share that goes to its captures beyond the first one: on
// these, what won is only checked.
const later = 0.1

// Jobs gives the captures that are worth a search, the first one of each configuration in front
// of all others.
func (w *ReplaySearch) Jobs(list []*capture.Manifest, total float64) []Job {
	var first, checked, others []Job
	had := map[search.Captured]*capture.Manifest{}
	list = w.Profile.worth(list)
	weighs := w.Profile.weighs(list, total)
	of, floor := families(list, total), w.floor(list, weighs)
	for _, m := range mostOf(list) {
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
		share := weighs(m)
		n := float64(max(m.Use.Sets, 1)) // of this configuration
		if share*n < floor && m.Use.Sampled > 0 {
			continue
		}
		switch is := configuration(m); {
		case n == 1:
			first = append(first, Job{Capture: m, Share: share})
		case had[is] == nil:
			had[is] = m
			first = append(first, Job{Capture: m, Share: share * n * (1 - later)})
		default:
			others = append(others, Job{Capture: m, Share: share * n * later / (n - 1), Before: had[is]})
		}
	}
	if w.Profile != nil {
		sort.SliceStable(first, func(i, j int) bool { return first[i].Share > first[j].Share })
	}
	slices.Reverse(checked) // the least ones first: between them and the leaders lies the most
	return slices.Concat(first, checked, others)
}

// floor is the share below which a configuration is not searched.
func (w *ReplaySearch) floor(list []*capture.Manifest,
	weighs func(*capture.Manifest) float64) float64 {
	if w.Profile != nil {
		return smallest
	}
	shares := map[search.Captured]float64{}
	for _, m := range list {
		shares[configuration(m)] = weighs(m) * float64(max(m.Use.Sets, 1))
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
		} else if m.Part > out[first].Part {
			out[first], out[i] = m, out[first]
		}
	}
	return out
}

// leading is the part of a family's share that its leader gets.
const leading = 0.7

// families are captures of kernels whose every launch has another grid: none of them has much of
// the time by itself, all together have. One of each leads, that with the most blocks; the one with
// the fewest and the one in the middle are checked, which is what grids in between need (decide).
// The others are not replayed. Their times don't order them: each grid was launched once, beside
// its capture, when the device had been idle.
func families(list []*capture.Manifest, total float64) map[*capture.Manifest]Job {
	by := map[string][]*capture.Manifest{}
	for _, m := range list {
		if m.Use.Family >= smallest*total && m.Use.Seconds < smallest*total {
			key := fmt.Sprint(m.Cubin, m.Kernel, m.Block, m.Dynamic)
			by[key] = append(by[key], m)
		}
	}
	out := map[*capture.Manifest]Job{}
	for _, f := range by {
		blocks := func(m *capture.Manifest) int { return policy.Shape{Grid: m.Grid}.Blocks() }
		sort.SliceStable(f, func(i, j int) bool { return blocks(f[i]) > blocks(f[j]) })
		share := min(f[0].Use.Family/max(total, 1e-12), 1) // of captures alone the total is less
		if len(f) == 1 {
			out[f[0]] = Job{Capture: f[0], Share: share}
			continue
		}
		out[f[0]] = Job{Capture: f[0], Share: share * leading}
		for i, m := range f[1:] {
			j := Job{Capture: m, Leader: f[0]}
			if i == len(f)-2 || i == (len(f)-2)/2 {
				j.Share = share * (1 - leading) / 2
			}
			out[m] = j
		}
	}
	return out
}

// manyGrids tells of a capture whose kernel is launched in other grids for most of its time, so
// that a copy for one grid would hardly ever run.
func manyGrids(m *capture.Manifest) bool { return m.Use.Seconds < ownGrid*m.Use.Family }

// ownGrid is the least part of such a kernel's time for which a copy for one grid is made.
const ownGrid = 0.2

func configuration(m *capture.Manifest) search.Captured {
	return search.Captured{Cubin: m.Cubin, Kernel: m.Kernel, Shape: policy.Shape{Grid: m.Grid,
		Block: m.Block, Dynamic: m.Dynamic, Set: m.Use.Set}}
}
