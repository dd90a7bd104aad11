package capture

import (
	"cmp"
	"fmt"
	"maps"
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

	// seconds that a kernel has taken after which its share is believed: what comes first has all of
	// the time until then, and may be launched never again
	matters = 1e-3
	surely  = 0.05 // also where it was launched a few times
)

// Where those above runShare have less than this of the time together, as in programs of a thousand
// kernels, lighter ones are looked at, too, the heaviest first.
const together = 0.9

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

// Which part of what captures may hold the program up (stand) is for what. Nobody knows what a set, or
// a kernel, will weigh at its first launch: those that turn out to be heavy must find something left.
const (
	freely  = 0.2 // sets of which nobody knows what they weigh
	atMost  = 0.7 // other sizes, those of a class of time, late ones
	weighs  = 0.9 // first captures of kernels that are known to weigh something
	allOfIt = 1   // those that are known to be heavy
	// of what is left: one that is not known to be heavy
	onceOf = 0.5
)

// Launches of one set may differ in work. Where they do (profile.Unlike), each class of their time
// that has setShare of it has a capture; to find one whose launches are few, so many launches of a
// configuration are captured and not kept.
const mostInVain = 64

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

// seconds is what all sizes of a kernel have taken so far.
func (c *Collector) seconds(of *family) (sum float64) {
	for _, s := range c.order {
		if s.family == of {
			sum += s.seconds + s.use.Seconds
		}
	}
	return sum
}

// ofFamily is the same, as a part of the run's time so far.
func (c *Collector) ofFamily(f *family) float64 { return c.seconds(f) / c.total() }

// running is how long the run goes on, the time aside that captures have taken.
func (c *Collector) running() time.Duration { return c.now().Sub(c.begun) - c.stood }

// rate is which part of the run's time a configuration takes, from its first launch on. Processes
// are asked about when counts have doubled: what has no further question yet is believed to have had
// so many launches at the most.
func (s *shape) rate(now time.Duration) float64 {
	n := float64(s.launches)
	if n < 2 || s.seconds <= 0 {
		return s.use.Seconds / max(now.Seconds(), s.use.Seconds, 1e-9)
	}
	then := s.seconds / max((s.asked-s.first).Seconds(), s.seconds)
	most := s.seconds * 2 * n / (n - 1)
	return min(then, most/max((now-s.first).Seconds(), most))
}

// keptFrom is what of the time for captures is kept from one of a kernel: each kernel that waits for its
// first one, and weighs something so far (Floor), is to have it before another kernel has two, and
// before one that has less of the time. each is what one has taken so far.
func (c *Collector) keptFrom(k *ofKernel) (long, each time.Duration) {
	if c.made == 0 {
		return 0, 0
	}
	each = c.stood / time.Duration(c.made)
	shares, all, now := map[*ofKernel]float64{}, 1e-12, c.running()
	for _, s := range c.order {
		all += s.rate(now)
	}
	for _, s := range c.order {
		shares[s.kernel] += s.rate(now) / all
	}
	least := Floor(slices.Collect(maps.Values(shares)))
	if k.captures == 0 {
		least = max(least, shares[k])
	}
	for o, has := range shares {
		if o != k && o.waits && o.captures == 0 && has > least {
			long += each
		}
	}
	return long, each
}

// left is what there still is of a part of it.
func (c *Collector) left(part float64) time.Duration {
	return time.Duration(part*float64(c.allowance())) - c.stood
}

// believed tells whether so many launches, and seconds of theirs, say what a kernel weighs.
func believed(n int, seconds float64) bool {
	return n >= 2*settled && seconds >= matters || seconds >= surely
}

// due tells whether to capture a launch: which part of what captures may take it may use, 0: not now.
// want is what it is to take; nil: anything.
func (c *Collector) due(s *shape, k *ofKernel, l *profile.Launch) (part float64, want []profile.Span) {
	n, share := setOf(l)
	course := s.course(l)
	ofRun := share * s.seconds / c.total()
	earlier, known := c.known[fmt.Sprint(l.Kernel, l.Shape)]
	if known && max(earlier.share, ofRun) < c.floor && earlier.family < setShare {
		return 0, nil // by earlier runs it weighs nothing, and by this one too
	}
	heavy := ofRun >= setShare && believed(n, s.seconds) || earlier.share >= setShare
	if len(s.captures) == 0 {
		f, size := s.family, sizeOf(l.Shape)
		switch {
		case heavy && (n >= settled || earlier.share >= setShare):
			return allOfIt, nil
		case k.captures == 0 && max(c.ofFamily(f), earlier.family) >= c.floor && (earlier.family > 0 ||
			believed(n, c.seconds(f))):
			return weighs, nil
		case k.captures+k.tries == 0: // it may be launched once
			return freely, nil
		case heavy, f.grows(size), k.captures+k.tries < mostTaken && f.wants(size):
			if f.apart(size) && max(c.ofFamily(f), earlier.family) >= setShare {
				return allOfIt, nil
			}
			return atMost, nil
		}
		return 0, nil
	}
	want, unlike := s.missing(l, earlier)
	if len(want) > 0 && ofRun+earlier.share >= runShare {
		if s.vain < mostInVain {
			return atMost, want
		}
		return 0, nil
	}
	have, last, took := 0, 0, 0.0
	for _, x := range s.captures {
		if alike(l, x.values) {
			have, last, took = have+1, max(last, x.nth), x.took
		}
	}
	if have > 0 {
		other := have < mostAlong && another(took, course.took) && !unlike
		if n >= late && (last < late || other) && ofRun >= lateShare {
			return atMost, nil
		}
		return 0, nil
	}
	if i := earlier.sets.Find(l.Values); i >= 0 &&
		earlier.sets.List[i].Seconds >= setShare*earlier.total {
		return allOfIt, nil
	}
	switch {
	case len(s.captures) < early && c.left(freely/2) >= leastStand:
		return freely / 2, nil
	case n < settled || share < setShare || ofRun < runShare:
		return 0, nil
	case heavy:
		return allOfIt, nil
	}
	return atMost, nil
}

// missing is what launches of a set take of which there is no capture, by this run and earlier ones;
// nothing where they are alike.
func (s *shape) missing(l *profile.Launch, earlier weight) (want []profile.Span, unlike bool) {
	var classes []profile.Class
	if i := earlier.sets.Find(l.Values); i >= 0 {
		classes = earlier.sets.List[i].Classes
	}
	if l.SoFar != nil {
		if i := l.SoFar.Sets.Find(l.Values); i >= 0 {
			classes = profile.JoinClasses(classes, l.SoFar.Sets.List[i].Classes)
		}
	}
	if !profile.Unlike(classes) {
		return nil, false
	}
	var all float64
	for _, x := range classes {
		all += x.Seconds
	}
	for _, x := range classes {
		span := about(x.Mean())
		has := slices.ContainsFunc(s.captures, func(t *taken) bool {
			return alike(l, t.values) && t.m.Took >= span.Least && t.m.Took <= span.Most
		})
		if !has && x.Seconds >= setShare*all {
			want = append(want, span)
		}
	}
	slices.SortFunc(want, func(a, b profile.Span) int { return cmp.Compare(b.Most, a.Most) })
	return want, true
}

// about is what a launch takes that stands for those of a class: as it is captured it begins with an
// empty cache, and the two events around it take up to 6 us themselves.
func about(mean float64) profile.Span { return profile.Span{Least: mean / 1.3, Most: 1.3*mean + 6e-6} }

// alike tells whether a launch belongs to the same set as one that was captured.
func alike(l *profile.Launch, values []byte) bool {
	if l.SoFar != nil && len(l.SoFar.Sets.Mask) > 0 {
		return l.SoFar.Sets.Alike(l.Values, values)
	}
	return string(l.Values) == string(values)
}
