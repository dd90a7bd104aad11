package xmodel

// A Change is a question of sections 3.3.6 and 3.6: what if the kernel, or the machine, were
// different?
type Change struct {
	Name string
	OfL1 bool    // it depends on how much of the accesses L1 serves
	Work float64 // accesses for the same result, over those of before
	Make func(*Model)
}

// Changes are the questions that the thesis asks.
var Changes = []Change{
	{"half the warps", false, 1, func(m *Model) { m.Warps /= 2 }},
	{"half the computing", false, 1, func(m *Model) { m.Intensity /= 2 }},
	{"half the accesses", false, 0.5, func(m *Model) { m.Intensity *= 2 }}, // each shared by two warps
	{"twice the memory's rate", false, 1, func(m *Model) { m.Rate *= 2 }},
	{"twice the L1", true, 1, func(m *Model) { m.Cache *= 2 }},
	{"half the warps past L1", true, 1, func(m *Model) { m.Bypass = 0.5 }},
}

// An Effect is the answer to a change.
type Effect struct {
	Change
	Model Model // as changed
	Point Point
	Time  float64 // for the same result, over the time before
}

// What answers all questions, as far as the models settle. Where no locality is known, those of L1 are
// asked of a kernel of whose accesses L1 serves half while as many warps wait.
func (m Model) What() (out []Effect) {
	for _, c := range Changes {
		e := Effect{Change: c, Model: m}
		before, ok := m.Settled()
		if ok && c.OfL1 && m.Alpha == 0 && m.Cache > 0 && m.CacheLatency > 0 {
			e.Model.Alpha, e.Model.Beta = 2, m.Cache/before.Waiting
			before, ok = e.Model.Settled()
		}
		if !ok {
			continue
		}
		c.Make(&e.Model)
		if e.Point, ok = e.Model.Settled(); ok {
			e.Time = c.Work * before.Sectors / e.Point.Sectors
			out = append(out, e)
		}
	}
	return out
}
