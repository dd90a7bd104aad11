package xmodel

// A Change is a question: what if the kernel, or the machine, were different? Fields that are 0
// leave things as they are; but see Bypass.
type Change struct {
	Warps     float64 // n: another occupancy (registers, shared memory, throttling)
	Cache     float64 // bytes: another carveout
	Intensity float64 // Z: fewer sectors for the same work (coalescing, tiles) or fewer instructions
	Pace      float64 // E: more independent instructions (unrolling)
	// Bypass is the share of warps, over 0 to 1, whose accesses go past the cache (thesis, section 3.6
	// and chapter 5).
	Bypass float64
}

// Effect is the answer: times are parts of the present one.
type Effect struct {
	Before, After Point
	Time          float64 // after over before, for the same work
	// the curves afterwards, over the warps that wait, of so many
	Warps          float64
	Supply, Demand func(k float64) float64
}

// What answers. ok is false where one of the two has no stable equilibrium.
func (m Model) What(c Change) (e Effect, ok bool) {
	before, ok := m.Settled()
	if !ok {
		return e, false
	}
	n := m
	if c.Warps > 0 {
		n.Warps = c.Warps
	}
	if c.Cache > 0 {
		n.Cache = c.Cache
	}
	if c.Intensity > 0 {
		n.Intensity = c.Intensity
	}
	if c.Pace > 0 {
		n.Pace = c.Pace
	}
	after, ok := n.Settled()
	supply := n.Supply
	if c.Bypass > 0 {
		split := splitModel{n, min(c.Bypass, 1)}
		after, ok = split.settled()
		supply = split.supply
	}
	if !ok || after.Sectors <= 0 {
		return e, false
	}
	// The work is the same number of sectors, unless Z was changed: then it is the same number of
	// instructions.
	t := before.Sectors / after.Sectors
	if c.Intensity > 0 {
		t = before.Rate / after.Rate
	}
	return Effect{Before: before, After: after, Time: t, Warps: n.Warps, Supply: supply,
		Demand: func(k float64) float64 { return n.Demand(n.Warps - k) }}, true
}

// A splitModel is a model of two kinds of warps behind one memory: a share of those that wait go to
// it directly, and leave the cache to the others.
type splitModel struct {
	Model
	share float64
}

func (s splitModel) supply(k float64) float64 {
	a, b := k*(1-s.share), k*s.share
	if a <= 0 && b <= 0 {
		return 0
	}
	h := s.hits(a)
	far := s.far(k) // one queue for both kinds, counted as Supply counts it
	near := h*s.CacheLatency + (1-h)*far
	out := b / far
	if a > 0 {
		out += a / near
	}
	return out
}

func (s splitModel) settled() (Point, bool) {
	gap := func(k float64) float64 { return s.supply(k) - s.Demand(s.Warps-k) }
	for i := 1; i <= steps; i++ {
		a, b := s.Warps*float64(i-1)/steps, s.Warps*float64(i)/steps
		if gap(a) < 0 && gap(b) >= 0 {
			k := root(gap, a, b)
			p := Point{Waiting: k, Computing: s.Warps - k, Sectors: s.supply(k), Stable: true}
			p.Rate = p.Sectors * s.Intensity
			return p, true
		}
	}
	return Point{}, false
}
