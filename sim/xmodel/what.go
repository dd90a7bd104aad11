package xmodel

// An Effect is what becomes of a kernel when it, or the machine, is changed.
type Effect struct {
	Before, After Point
	Time          float64 // after over before, for the same work
}

// What compares a model with a changed one: another number of warps (registers, shared memory,
// throttling), another cache, another Intensity (coalescing, tiles), Pace (unrolling) or Bypass. ok
// is false where one of the two has no stable equilibrium.
func (m Model) What(changed Model) (e Effect, ok bool) {
	before, known := m.Settled()
	after, ok := changed.Settled()
	if !known || !ok || after.Rate <= 0 {
		return Effect{}, false
	}
	return Effect{before, after, before.Rate / after.Rate}, true
}
