package xmodel

import "math"

// A Model is a kernel on an SM. Of its n warps k wait for memory and x = n - k compute; it settles
// where memory delivers as many sectors (32 bytes) as the computing warps ask for.
type Model struct {
	Warps     float64 // n: resident on the SM
	Intensity float64 // Z: instructions of a warp for each sector it accesses
	Pace      float64 // E: instructions a cycle that one warp issues while nothing keeps it waiting
	Issue     float64 // M: instructions a cycle that the SM issues at most, for this mix
	Latency   float64 // L: cycles from an access to its data when nothing queues, a sector
	Rate      float64 // R: sectors a cycle that memory gives the SM at most

	Cache, CacheLatency float64 // bytes that the waiting warps share, and its L; 0: no cache
	// Alpha (over 1) and Beta (bytes of a warp) are the workload's locality: the larger Alpha and the
	// smaller Beta, the more of its accesses the cache serves (Eq. 3.3). Alpha 0: none.
	Alpha, Beta float64
	Bypass      float64 // the part of the warps that go past the cache
	// Corner is how latency and queue, and a warp's own pace and the pipes', come together, as powers:
	// 0 takes the one that is worse, as the thesis does.
	Corner float64
}

// Valid reports whether all numbers are ones that a model can have.
func (m Model) Valid() bool {
	for _, v := range []float64{m.Warps, m.Intensity, m.Pace, m.Issue, m.Latency, m.Rate} {
		if !(v > 0) || math.IsInf(v, 0) {
			return false
		}
	}
	return m.Alpha == 0 || m.Alpha > 1 && m.Beta > 0 && m.Cache > 0 && m.CacheLatency > 0
}

// worse joins two costs, of which the larger counts.
func (m Model) worse(a, b float64) float64 {
	if m.Corner <= 0 {
		return math.Max(a, b)
	}
	return math.Pow(math.Pow(a, m.Corner)+math.Pow(b, m.Corner), 1/m.Corner)
}

// hits is the part of the accesses of k waiting warps that the cache serves (Eq. 3.3).
func (m Model) hits(k float64) float64 {
	if m.Alpha == 0 {
		return 0
	}
	return 1 - math.Pow(m.Cache/(m.Beta*math.Max(k, 1e-9))+1, 1-m.Alpha)
}

// Supply is f(k): sectors a cycle while k warps wait (Eq. 3.5). The queue before memory counts all of
// them (Eq. 3.4).
func (m Model) Supply(k float64) float64 {
	if k <= 0 {
		return 0
	}
	far, cached := m.worse(m.Latency, k/m.Rate), k*(1-m.Bypass)
	h := m.hits(cached)
	return (k-cached)/far + cached/(h*m.CacheLatency+(1-h)*far)
}

// Demand is g(x): sectors a cycle that x computing warps ask for (Eq. 3.1).
func (m Model) Demand(x float64) float64 {
	if x <= 0 {
		return 0
	}
	return 1 / m.worse(1/(m.Pace*x), 1/m.Issue) / m.Intensity
}

// A Point is an equilibrium.
type Point struct {
	Waiting   float64 // k
	Computing float64 // x
	Sectors   float64 // a cycle
	Rate      float64 // instructions a cycle
	// Stable: after a push the machine comes back, as one warp more that waits brings more than it
	// takes away: f'(k) + g'(x) > 0.
	Stable bool
	Bound  string // what keeps it from being faster
}

// steps is how finely k is looked at.
const steps = 1024

// Equilibria lists where the curves meet, by k.
func (m Model) Equilibria() (out []Point) {
	gap := func(k float64) float64 { return m.Supply(k) - m.Demand(m.Warps-k) }
	for s := range steps {
		low, high := m.Warps*float64(s)/steps, m.Warps*float64(s+1)/steps
		rises := gap(low) < 0
		if rises == (gap(high) < 0) {
			continue
		}
		for range 60 {
			if mid := (low + high) / 2; gap(mid) < 0 == rises {
				low = mid
			} else {
				high = mid
			}
		}
		x := m.Warps - high
		p := Point{Waiting: high, Computing: x, Sectors: m.Supply(high), Stable: rises, Bound: m.bound(high)}
		p.Rate = p.Sectors * m.Intensity
		out = append(out, p)
	}
	return out
}

// full is how little one percent more of something may bring, of a percent, where it is used up.
const full = 0.2

// bound says what is used up at k waiting warps: one percent more warps that compute, or that wait,
// brings next to nothing.
func (m Model) bound(k float64) string {
	x := m.Warps - k
	computing := m.Demand(1.01*x) < m.Demand(x)*(1+0.01*full)
	memory := m.Supply(1.01*k) < m.Supply(k)*(1+0.01*full)
	switch {
	case computing && memory:
		return "computing and memory"
	case computing:
		return "computing"
	case memory:
		return "memory"
	}
	return "the number of warps"
}

// Settled is the equilibrium that a kernel comes to, which begins with all warps computing: the first
// stable one.
func (m Model) Settled() (Point, bool) {
	if m.Valid() {
		for _, p := range m.Equilibria() {
			if p.Stable {
				return p, true
			}
		}
	}
	return Point{}, false
}
