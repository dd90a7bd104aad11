package capture

import (
	"math"
	"slices"

	"gnvcc/profile"
)

// What a launch takes may change along a run: particles that fall begin to collide, a front grows.
// Then an early launch is not like the mean one, and what a recipe gains on it says little of the
// program. So the time of a set's launches is followed from question to question; where it has
// become another one, a launch is captured anew, and each capture stands for the launches up to the
// next one.

const (
	unsteady = 1.25 // times what it was: another launch is captured
	enough   = 2    // timed launches that a time is taken from
	// captures of one set: what changes more often is no course, but chance
	mostAlong = 6
)

// A course is what a set's launches took, from the first one to the last that was timed.
type course struct {
	marks []mark
	took  float64 // seconds of a launch, by the last mark; 0: not known
}

// A mark is how far a set was: launches, their seconds, and those of them that were timed.
type mark struct {
	count   int
	seconds float64
	sampled int
	timed   float64
}

// follow takes what is known of a set now.
func (c *course) follow(x profile.Set) {
	var last mark
	if len(c.marks) > 0 {
		last = c.marks[len(c.marks)-1]
	}
	now := mark{count: x.Count, sampled: x.Sampled,
		timed: x.Seconds / float64(max(x.Count, 1)) * float64(x.Sampled)}
	n, took := now.sampled-last.sampled, now.timed-last.timed
	if n < enough || took <= 0 || now.count <= last.count {
		return
	}
	c.took = took / float64(n)
	now.seconds = last.seconds + c.took*float64(now.count-last.count)
	c.marks = append(c.marks, now)
}

// at is the seconds of the first n launches.
func (c *course) at(n int) float64 {
	var last mark
	for _, m := range c.marks {
		if n <= m.count {
			return last.seconds + (m.seconds-last.seconds)*float64(n-last.count)/float64(m.count-last.count)
		}
		last = m
	}
	return last.seconds + c.took*float64(n-last.count)
}

// another reports whether two launches take other times; false where one's is not known.
func another(a, b float64) bool {
	return a > 0 && b > 0 && (a > unsteady*b || b > unsteady*a)
}

// course is that of the set that a launch belongs to, as of now.
func (s *shape) course(l *profile.Launch) *course {
	if l.SoFar == nil {
		return &course{}
	}
	i := l.SoFar.Sets.Find(l.Values)
	if i < 0 {
		return &course{}
	}
	c := s.courses[string(l.Values)]
	if c == nil {
		if s.courses == nil {
			s.courses = map[string]*course{}
		}
		c = &course{}
		s.courses[string(l.Values)] = c
	}
	c.follow(l.SoFar.Sets.List[i])
	for _, x := range s.captures {
		if x.took == 0 && alike(l, x.values) {
			x.took = c.took
		}
	}
	return c
}

// stand says of each capture of a set which part of the set's time it stands for: that of the
// launches from it to the next one. Where all of them take the same time, nothing is said.
func (s *shape) stand(set profile.Set, list []*taken) {
	c := s.courses[string(set.Values)]
	if c == nil || len(list) < 2 || set.Count == 0 {
		return
	}
	list = slices.Clone(list)
	slices.SortFunc(list, func(a, b *taken) int { return a.of - b.of })
	c.follow(set)
	all := c.at(set.Count)
	least, most := math.Inf(1), 0.0
	for i, x := range list {
		from, to := 0, set.Count
		if i > 0 {
			from = x.of - 1
		}
		if i+1 < len(list) {
			to = list[i+1].of - 1
		}
		x.m.Part = (c.at(to) - c.at(from)) / max(all, 1e-12)
		per := (c.at(to) - c.at(from)) / float64(max(to-from, 1))
		least, most = min(least, per), max(most, per)
	}
	if !another(least, most) {
		for _, x := range list {
			x.m.Part = 0
		}
	}
}
