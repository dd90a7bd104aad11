package cache

// What a decision says of all of a kernel's launches. Whoever prints a gain asks here, so that there
// is one figure: the report, the page, lock files, the benchmarks.

// A Rest is the time, in the program, of a kernel's launches that were not measured.
type Rest struct {
	// seconds, of those that others stand for: sizes between measured ones. Then what the chosen build
	// takes of these, by the ratios of the neighbouring sizes.
	Between, After float64
	// seconds, of all others: they are taken to last as long as they did
	Others float64
}

// weight is what a configuration's launches took, seconds: in the program, where that is known.
func (l Launch) weight() float64 {
	if l.Seconds > 0 {
		return l.Seconds
	}
	return float64(max(l.Count, 1)) * l.Before.Median / 1e9
}

// Whole is what all launches take with the default and with the chosen build, seconds. Both are 0
// where nothing is known.
func (e *Evidence) Whole() (before, after float64) {
	for _, l := range e.Launches {
		w := l.weight()
		before += w
		if l.Before.Median > 0 && l.After.Median > 0 {
			w *= l.After.Median / l.Before.Median
		}
		after += w
	}
	if r := e.Rest; r != nil {
		before += r.Between + r.Others
		after += r.After + r.Others
	}
	return before, after
}

// Ratio is the chosen build's time over the default's, 1 where nothing is known. Of what came from
// a lock file it is the file's.
func (e *Evidence) Ratio() float64 {
	if before, after := e.Whole(); before > 0 && after > 0 {
		return after / before
	}
	if e.Locked != nil && e.Locked.Gain > 0 {
		return 1 / e.Locked.Gain
	}
	return 1
}

// Heaviest is the launch that takes most time of all, as it was measured; false where none was.
func (e *Evidence) Heaviest() (most Launch, ok bool) {
	time := func(l Launch) float64 { return float64(l.Count) * l.Before.Median }
	for i, l := range e.Launches {
		if i == 0 || time(l) > time(most) {
			most = l
		}
	}
	return most, len(e.Launches) > 0
}
