package capture

import (
	"cmp"
	"slices"
	"strings"
	"time"

	"gnvcc/profile"
)

// What a run has shown, at its end.

// A Seen is what stands by itself in a run: a configuration, or one of its sets of values that
// weighs something.
type Seen struct {
	Launch   *profile.Launch // the last one that was asked about, with the set's values
	Use      Use
	Captures []*Manifest
	Why      string  // there is no capture, because
	Share    float64 // of the configuration's time; 1: it is not divided
}

// others is the set of all launches that belong to none that weighs something.
const others = "other values"

const mostSets = 6 // of one configuration, that are looked at by themselves

// Profile gives it as the agent's end would have given it.
func (s Seen) Profile() profile.Seen {
	l := *s.Launch
	l.Params = slices.Clone(l.Params)
	all := s.Use
	all.Sets = 1
	all.Apply(&l)
	return profile.Seen{Launch: &l, Varied: s.Use.Varied, Seconds: s.Use.Seconds,
		Sampled: s.Use.Sampled, Classes: s.Use.Classes}
}

// A Run is all that was seen.
type Run struct {
	Seen  []Seen // the heaviest first
	Lines []Line // the same by configurations, for the profile
	// what took time and is none of these
	Unseen  []profile.Unseen
	Calls   []profile.Call
	Follows []profile.Follow
	Notes   []string
	Peak    int64 // bytes of device memory, the most at a time
	Cost    Cost
	Times   Times
}

// addUnseen adds graphs to those of the same program with the same reason.
func addUnseen(list []profile.Unseen, g profile.Unseen) []profile.Unseen {
	for i := range list {
		if x := &list[i]; x.Program == g.Program && x.Why == g.Why {
			x.Launches, x.Seconds = x.Launches+g.Launches, x.Seconds+g.Seconds
			return list
		}
	}
	return append(list, g)
}

// Times are when things happened, from the moment at which the program was about to be started.
type Times struct {
	Driver time.Duration // the first process began to start the driver
	Launch time.Duration // the first launch
	End    time.Duration // the last process that used the GPU began to end
}

// A Cost is what capturing took, captures that were given up included.
type Cost struct {
	Bytes int64         // written to the captures' files: what is zero is left out
	Held  time.Duration // that the program was held up
}

// Finish waits until everything is in the store, and gives what was seen.
func (c *Collector) Finish() Run {
	c.pack.Wait()
	c.mu.Lock()
	defer c.mu.Unlock()
	out := Run{Peak: c.peak, Cost: Cost{Bytes: c.bytes, Held: c.stood}, Times: c.times}
	c.drop()
	c.sum()
	total := c.total()
	for _, s := range c.order {
		f := s.family
		takeTurns(s.manifests())
		settle(s.manifests())
		parts := s.divide()
		if f.members > 1 && s.use.Seconds < runShare*total {
			parts = []Seen{s.whole()} // one of many sizes: none of its sets is looked at by itself
		}
		for _, x := range parts {
			if f.members > 1 {
				x.Use.Family = f.seconds
			}
			for _, m := range x.Captures {
				m.Use = x.Use
				if err := c.store.keep(m); err != nil {
					c.notes = append(c.notes, err.Error())
				}
			}
			out.Seen = append(out.Seen, x)
		}
		out.Lines = append(out.Lines, s.line())
	}
	slices.SortStableFunc(out.Seen, func(a, b Seen) int {
		return cmp.Or(cmp.Compare(b.Use.Seconds, a.Use.Seconds), b.Use.Count-a.Use.Count)
	})
	out.Notes, out.Unseen, out.Calls, out.Follows = c.notes, c.unseen, c.calls, c.follows
	return out
}

// divide gives a configuration's sets of values that weigh something, and all others as one; as it
// is, where it has but one.
func (s *shape) divide() []Seen {
	sets := s.sets.Settled()
	if len(sets.List) < 2 || len(s.use.Params) == 0 || len(s.captures) == 0 {
		return []Seen{s.whole()}
	}
	list := slices.Clone(sets.List)
	slices.SortStableFunc(list, func(a, b profile.Set) int {
		return cmp.Or(cmp.Compare(b.Seconds, a.Seconds), b.Count-a.Count)
	})
	left := slices.Clone(s.captures)
	rest := s.use
	rest.Classes = nil
	var out []Seen
	for _, set := range list {
		if len(out) == mostSets || set.Seconds < setShare*s.use.Seconds || s.use.Seconds == 0 {
			break
		}
		x := s.one(&sets, set)
		var list []*taken
		left = slices.DeleteFunc(left, func(t *taken) bool {
			mine := sets.Alike(t.values, set.Values)
			if mine {
				list = append(list, t)
				x.Captures = append(x.Captures, t.m)
			}
			return mine
		})
		s.stand(set, list)
		x.Use.Sets = len(x.Captures)
		if x.Use.Sets == 0 {
			if x.Why = s.why; x.Why == "" {
				x.Why = "no launch with these values was captured: run gnvcc tune again"
			}
		}
		rest.Count, rest.Seconds, rest.Sampled = rest.Count-set.Count, rest.Seconds-set.Seconds,
			rest.Sampled-set.Sampled
		out = append(out, x)
	}
	if len(out) == 0 {
		return []Seen{s.whole()}
	}
	if rest.Count > 0 {
		rest.Set, rest.Varied, rest.Sets = others, max(rest.Count, 0), len(left)
		rest.Seconds = max(rest.Seconds, 0)
		for _, set := range list[len(out):] {
			rest.Classes = profile.JoinClasses(rest.Classes, set.Classes)
		}
		x := Seen{Launch: s.launch, Use: rest, Why: s.why, Share: rest.Seconds / max(s.use.Seconds,
			1e-12)}
		for _, t := range left {
			x.Captures = append(x.Captures, t.m)
		}
		out = append(out, x)
	}
	return out
}

// manifests are those of all captures.
func (s *shape) manifests() (out []*Manifest) {
	for _, x := range s.captures {
		out = append(out, x.m)
	}
	return out
}

// whole is a configuration that is not divided.
func (s *shape) whole() Seen {
	x := Seen{Launch: s.launch, Use: s.use, Captures: s.manifests(), Why: s.why, Share: 1}
	x.Use.Sets = len(x.Captures)
	if len(s.sets.List) == 1 {
		s.stand(s.sets.List[0], s.captures)
	}
	return x
}

// one is a set by itself: its launches, and what they have in common.
func (s *shape) one(sets *profile.Sets, set profile.Set) Seen {
	l := *s.launch
	l.Params = slices.Clone(l.Params)
	u := Use{Set: nameOf(spans(l.Params), sets, set), Count: set.Count, Seconds: set.Seconds,
		Sampled: set.Sampled, Classes: set.Classes,
		Asked: s.use.Asked, Together: s.use.Together, Past: s.use.Past, Row: s.use.Row}
	if sets.Varies() {
		u.Varied = max(0, set.Count-1)
	}
	all := make([]byte, len(sets.Mask))
	for i, p := range l.Params {
		if i < len(s.use.Params) && p.Offset+p.Size <= len(all) {
			copy(all[p.Offset:p.Offset+p.Size], s.use.Params[i].Same)
		}
	}
	same := sets.Same(all)
	for i := range l.Params {
		p := &l.Params[i]
		if i >= len(s.use.Params) || p.Offset+p.Size > len(set.Values) {
			break
		}
		p.Value = slices.Clone(set.Values[p.Offset : p.Offset+p.Size])
		u.Params = append(u.Params, Param{Same: same[p.Offset : p.Offset+p.Size],
			Align: s.use.Params[i].Align})
	}
	return Seen{Launch: &l, Use: u, Share: set.Seconds / max(s.use.Seconds, 1e-12)}
}

// line is a configuration as a profile keeps it.
func (s *shape) line() Line {
	l := s.launch
	out := Line{Kernel: l.Kernel, Cubin: l.Cubin, Shape: l.Shape,
		Device: l.Model(), Count: s.use.Count, Varied: s.use.Varied,
		Sampled: s.use.Sampled, Seconds: s.use.Seconds, Watched: s.watched, Beside: s.beside,
		Sets: s.sets, Why: s.why}
	out.Params = spans(l.Params)
	if l.Process != nil { // one whose file is gone is called so by Linux
		out.program = strings.TrimSuffix(l.Process.Program, " (deleted)")
	}
	return out
}

// spans are the places of arguments.
func spans(params []profile.Param) (out []Span) {
	for _, p := range params {
		out = append(out, Span{p.Offset, p.Size})
	}
	return out
}
