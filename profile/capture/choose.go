package capture

import (
	"fmt"
	"slices"
	"time"

	"gnvcc/profile"
)

// Which launches are captured: of each configuration, and of each of its sets of values that weighs
// something, an early one and a late one. Nobody knows at a set's first launch what it will weigh,
// and there may be no other one; so small captures are made at once, and others when it is known,
// by this run or an earlier one.

const (
	mostCaptures = 12 // of one configuration
	// sets of one configuration that are captured at their first launch, while that takes little time
	early       = 3
	settled     = 4  // launches of a set after which its share of the time is believed
	late        = 32 // a capture of this launch of its set, or a later one, is a late one
	mostTries   = 6  // captures that were given up, after which a configuration is let be
	mostRefused = 12 // of all configurations of a kernel, after which it is let be
	// captures of a kernel, after which a new configuration has to be known as heavy to get one
	mostTaken = 8

	setShare  = 0.05 // of the configuration's time: a set that has less is not looked at by itself
	runShare  = 0.01 // of the run's time: what has less is not captured once that is known
	lateShare = 0.1  // of the run's time: what has less needs no capture but the first
)

// Where those above runShare have less than this of the time together, as in programs of a thousand
// kernels, lighter ones are looked at, too, the heaviest first.
const together = 0.9

// manyKernels is how many kernels get a first capture of which nobody knows what it weighs: of more
// than these it is not believed that each weighs something.
const manyKernels = 64

// Floor is the share of a run's time below which a configuration is not looked at, by the shares of
// all.
func Floor(shares []float64) float64 {
	var all, sum float64
	for _, s := range shares {
		all += s
	}
	shares = slices.Clone(shares)
	slices.Sort(shares)
	for _, s := range slices.Backward(shares) {
		if sum += s; sum >= together*all {
			return min(s, runShare)
		}
	}
	return runShare
}

// What captures may hold a program up: at once, and of its time so far.
const (
	freely, freelyOf = time.Second, 0.05    // for sets of which nobody knows what they weigh
	atMost, atMostOf = 5 * time.Second, 0.1 // for those that are known to be heavy
	// for the first capture of a kernel, of which nobody knows what it weighs, and for other sizes of
	// one of which all sizes together have setShare of the run. The first capture of a configuration,
	// or of a set, that has setShare itself may take what is left of all that captures may (stand):
	// without it nothing of that time is looked at, and large programs spend the other seconds on
	// what comes first.
	dear, dearOf = 30 * time.Second, 0.5
)

// A weight is what a configuration took in earlier runs.
type weight struct {
	share  float64 // of the program's time
	family float64 // what all sizes of the kernel had, of the same
	sets   profile.Sets
	total  float64 // seconds of the sets
}

// weights are a profile's, by kernel and shape: a new build has another cubin.
func (p *Profile) weights() map[string]weight {
	if p == nil || p.Seconds <= 0 {
		return nil
	}
	out := map[string]weight{}
	families := map[string]float64{}
	for _, l := range p.Shapes {
		families[familyOf("", l.Kernel, l.Dynamic)] += l.Seconds / p.Seconds
	}
	for _, l := range p.Shapes {
		key := fmt.Sprint(l.Kernel, l.Shape)
		w := out[key]
		w.share += l.Seconds / p.Seconds
		w.family = families[familyOf("", l.Kernel, l.Dynamic)]
		w.total += l.Seconds
		w.sets = w.sets.Join(l.Sets)
		out[key] = w
	}
	return out
}

// setOf gives how often a launch's set was launched so far, and its share of the configuration's
// time.
func setOf(l *profile.Launch) (n int, share float64) {
	if l.SoFar == nil {
		return l.Count, 1
	}
	i := l.SoFar.Sets.Find(l.Values)
	if i < 0 {
		return l.Count, 0
	}
	x := l.SoFar.Sets.List[i]
	return x.Count, x.Seconds / max(l.SoFar.Seconds, 1e-12)
}

// total is what the run has taken on the device so far, as far as it is known.
func (c *Collector) total() float64 {
	var sum float64
	for _, s := range c.order {
		sum += s.seconds + s.use.Seconds
	}
	return max(sum, 1e-12)
}

// ofFamily is what all sizes of a launch's kernel have of the run's time so far.
func (c *Collector) ofFamily(l *profile.Launch) float64 {
	of, sum := c.family(l), 0.0
	for _, s := range c.order {
		if c.family(s.launch) == of {
			sum += s.seconds + s.use.Seconds
		}
	}
	return sum / c.total()
}

// may tells whether captures have held the program up for less than so long at once, or such a part
// of its time.
func (c *Collector) may(once time.Duration, part float64) bool {
	return c.stood < once+time.Duration(part*float64(c.now().Sub(c.begun)))
}

// due tells whether to capture a launch.
func (c *Collector) due(s *shape, k *ofKernel, l *profile.Launch) bool {
	n, share := setOf(l)
	course := s.course(l)
	ofRun := share * s.seconds / c.total()
	earlier, known := c.known[fmt.Sprint(l.Kernel, l.Shape)]
	if known && max(earlier.share, ofRun) < c.floor && earlier.family < setShare {
		return false // by earlier runs it weighs nothing, and by this one too
	}
	heavy := ofRun >= setShare
	if len(s.captures) == 0 {
		f, size := c.family(l), sizeOf(l.Shape)
		switch {
		case s.tries == 0 && (heavy || earlier.share >= setShare):
			return n >= settled || earlier.share >= setShare || c.may(dear, dearOf)
		case k.captures+k.tries == 0 && len(c.kernels) <= manyKernels:
			return c.may(dear, dearOf) // the first one of a kernel
		case k.captures+k.tries == 0, heavy, earlier.share >= setShare:
			return c.may(atMost, atMostOf)
		case f.grows(size), k.captures+k.tries < mostTaken && f.wants(size):
			return c.may(atMost, atMostOf) || f.apart(size) && c.may(dear, dearOf) &&
				max(c.ofFamily(l), earlier.family) >= setShare
		}
		return false
	}
	have, last, took := 0, 0, 0.0
	for _, x := range s.captures {
		if alike(l, x.values) {
			have, last, took = have+1, max(last, x.nth), x.took
		}
	}
	if have > 0 {
		other := have < mostAlong && another(took, course.took)
		return n >= late && (last < late || other) && ofRun >= lateShare && c.may(atMost, atMostOf)
	}
	if i := earlier.sets.Find(l.Values); i >= 0 &&
		earlier.sets.List[i].Seconds >= setShare*earlier.total {
		return c.may(atMost, atMostOf) ||
			earlier.sets.List[i].Seconds*earlier.share >= setShare*earlier.total
	}
	if len(s.captures) < early && c.may(freely, freelyOf) {
		return true
	}
	if n < settled || share < setShare || ofRun < runShare {
		return false
	}
	return c.may(atMost, atMostOf) || heavy && (s.tries == 0 || c.may(dear, dearOf))
}

// alike tells whether a launch belongs to the same set as one that was captured.
func alike(l *profile.Launch, values []byte) bool {
	if l.SoFar != nil && len(l.SoFar.Sets.Mask) > 0 {
		return l.SoFar.Sets.Alike(l.Values, values)
	}
	return string(l.Values) == string(values)
}
