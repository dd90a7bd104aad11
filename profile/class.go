package profile

// Launches of one configuration may differ in work: a search over a graph has launches whose frontier
// is empty. So their times are kept as counts in classes a factor Wide apart.

// Wide is how much longer the longest launches of a class take than its shortest.
const Wide = 1.25

// A Class is launches of one configuration that took about the same time in the program.
type Class struct {
	Low      float64 `json:"low"`      // seconds of its shortest launch, rounded down to a power of Wide
	Launches int     `json:"launches"` // estimated from those that were timed
	Seconds  float64 `json:"seconds"`  // on the device, all of them
}

// Mean is seconds of a launch.
func (c Class) Mean() float64 { return c.Seconds / float64(max(c.Launches, 1)) }

// JoinClasses adds up the classes of two processes.
func JoinClasses(a, b []Class) []Class {
	out := append([]Class(nil), a...)
	for _, c := range b {
		i := 0
		for i < len(out) && out[i].Low < c.Low*(1-1e-6) {
			i++
		}
		if i < len(out) && out[i].Low <= c.Low*(1+1e-6) {
			out[i].Launches, out[i].Seconds = out[i].Launches+c.Launches, out[i].Seconds+c.Seconds
			continue
		}
		out = append(out[:i:i], append([]Class{c}, out[i:]...)...)
	}
	return out
}
