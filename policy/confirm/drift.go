package confirm

import (
	"cmp"
	"math"
	"slices"
)

// Two runs of one program differ by the GPU's clock, as the same kernels in both show. With few of
// these, what looks like the clock may be what a recipe does to its neighbours: of a program of two
// kernels, a hint on the first drives out what the second reads, and both runs together look like a
// lower clock. So a higher clock is always taken out, a lower one only where several agree.

const (
	agreeing = 3     // kernels that are the same from which on they tell a lower clock
	worth    = 0.005 // part of the program's time from which on a kernel is one of them
	// what kernels that differ from the others by it were slowed by
	slowedBy = 0.02
	// the clock of one GPU does not drift further
	mostDrift = 1.2
	// of a ratio where no kernel is the same, and of one with others
	unknownDrift, knownDrift = 0.01, 0.003
)

// A reference is a kernel that is the same in both runs.
type reference struct {
	*Kernel
	before, ratio, deviation float64
}

// references are the kernels that both runs launched alike, built alike.
func references(base, now *Run) (out []reference) {
	all := base.Seconds()
	for i := range now.Kernels {
		k := &now.Kernels[i]
		o := base.kernel(k.Identity)
		if o == nil || o.Recipe != k.Recipe || o.seconds() < worth*all || differs(o, k) != "" {
			continue
		}
		out = append(out, reference{k, o.seconds(), perLaunch(k) / perLaunch(o),
			math.Hypot(o.deviation(), k.deviation())})
	}
	return out
}

func perLaunch(k *Kernel) float64 { return k.seconds() / float64(max(k.count(), 1)) }

// drift is what the clock makes of times, and the standard error of that.
func drift(list []reference) (ratio, deviation float64) {
	if len(list) == 0 {
		return 1, unknownDrift
	}
	list = slices.Clone(list)
	slices.SortFunc(list, func(a, b reference) int { return cmp.Compare(a.ratio, b.ratio) })
	all, sum := 0.0, 0.0
	for _, k := range list {
		all += k.before
	}
	for _, k := range list {
		if ratio = k.ratio; sum+k.before >= all/2 {
			break
		}
		sum += k.before
	}
	if len(list) < agreeing {
		return min(ratio, 1), unknownDrift
	}
	off := 0.0
	for _, k := range list {
		off += k.before / all * math.Abs(k.ratio-ratio)
	}
	return ratio, math.Hypot(knownDrift, off/math.Sqrt(float64(len(list))))
}

// slowed are the references that take longer than the clock explains.
func slowed(list []reference, ratio, deviation float64) (out []reference) {
	for _, k := range list {
		if k.ratio/ratio-2*math.Hypot(k.deviation, deviation) > 1+slowedBy {
			out = append(out, k)
		}
	}
	return out
}
