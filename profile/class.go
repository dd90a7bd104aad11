package profile

import (
	"math"
	"slices"
)

// Launches of one configuration may differ in work: a search over a graph has launches whose frontier
// is empty. So their times are kept as counts in classes a factor Wide apart. The agent counts them
// (agent/source/sets.h has the same classes), estimated from the launches that it times, each of
// which stands for those since the one before.

// Wide is how much longer the longest launches of a class take than its shortest.
const Wide = 1.25

const (
	firstClass = 1e-6 // seconds: the Low of the first one, which has all that is shorter, too
	classCount = 73   // the last one begins at 9.5 s
)

// A Class is launches of one configuration that took about the same time in the program.
type Class struct {
	Low      float64 `json:"low"`      // seconds of its shortest launch, rounded down to a microsecond times a power of Wide
	Launches int     `json:"launches"` // estimated from those that were timed
	Seconds  float64 `json:"seconds"`  // on the device, all of them
}

// Mean is seconds of a launch.
func (c Class) Mean() float64 { return c.Seconds / float64(max(c.Launches, 1)) }

// ClassOf gives the Low of the class that a launch of so many seconds belongs to.
func ClassOf(seconds float64) float64 {
	low := firstClass
	for n := 1; n < classCount && seconds >= low*Wide*(1-1e-9); n++ {
		low *= Wide
	}
	return low
}

// JoinClasses adds up the classes of two processes.
func JoinClasses(a, b []Class) []Class {
	out := slices.Clone(a)
	for _, c := range b {
		i := 0
		for i < len(out) && out[i].Low < c.Low*(1-1e-6) {
			i++
		}
		if i < len(out) && out[i].Low <= c.Low*(1+1e-6) {
			out[i].Launches, out[i].Seconds = out[i].Launches+c.Launches, out[i].Seconds+c.Seconds
			continue
		}
		out = slices.Insert(out, i, c)
	}
	return out
}

// Between gives the seconds that launches take which are between the shortest and the longest ones
// that have a part of the time: of 0.9, a twentieth of the time goes to shorter ones, and one to
// longer ones. Classes count as their means. 0, 0: nothing is known.
func Between(list []Class, part float64) (least, most float64) {
	var all float64
	for _, c := range list {
		all += c.Seconds
	}
	end := func(list []Class) float64 {
		var sum float64
		for _, c := range list {
			if sum += c.Seconds; sum > all*(1-part)/2 {
				return c.Mean()
			}
		}
		return 0
	}
	back := slices.Clone(list)
	slices.Reverse(back)
	return end(list), end(back)
}

// Unlike reports whether one launch stands for none of the others: of nine tenths of the time, the
// longest launches take more than 1.5 times as long as the shortest.
func Unlike(list []Class) bool {
	least, most := Between(list, 0.9)
	return most > 1.5*least
}

// classOf is the launches of one class, as the agent has them.
func classOf(launches, seconds float64) []Class {
	c := Class{Launches: int(math.Round(min(launches, 1<<50))), Seconds: seconds}
	if c.Launches < 1 || !(seconds > 0) || math.IsInf(seconds, 0) {
		return nil
	}
	c.Low = ClassOf(c.Mean())
	return []Class{c}
}
