package xmodel

import (
	"math"
	"sort"
)

// A Point is an equilibrium: as many sectors are delivered as are asked for.
type Point struct {
	Waiting   float64 // k: warps that wait for memory
	Computing float64 // x = n - k
	Sectors   float64 // per cycle
	Rate      float64 // instructions per cycle: Sectors times Z
	// Stable: after a small push the machine comes back. At a stable point f'(k) + g'(x) > 0: one warp
	// more that waits brings back more work than it takes away. (The thesis' Eq. 3.6 says so where f
	// falls.)
	Stable bool
	Bound  Bound
}

// A Bound is what keeps an equilibrium from being faster.
type Bound int

// The bounds.
const (
	ByThreads   Bound = iota // more warps would help
	ByComputing              // the pipes are full
	ByMemory                 // the memory system is full
	ByBoth
)

func (b Bound) String() string {
	return [...]string{"occupancy", "instruction throughput", "memory throughput", "instruction and memory throughput"}[b]
}

// steps is how finely k is looked at. Between two steps f and g are smooth but for one corner each,
// which are added.
const steps = 1024

// Equilibria lists all points where f(k) = g(n-k), by k. There is one at least. Where f and g run
// together along a stretch (both are flat), its ends are given.
func (m Model) Equilibria() []Point {
	n := m.Warps
	at := make([]float64, 0, steps+4)
	for s := 0; s <= steps; s++ {
		at = append(at, n*float64(s)/steps)
	}
	for _, corner := range []float64{n - m.Issue/m.Pace, m.Latency * m.Rate} { // of g and of f
		if corner > 0 && corner < n {
			at = append(at, corner)
		}
	}
	sort.Float64s(at)
	gap := func(k float64) float64 { return m.Supply(k) - m.Demand(n-k) }
	scale := math.Max(m.Issue/m.Intensity, m.Rate)
	near := func(v float64) bool { return math.Abs(v) <= 1e-12*scale }
	var out []Point
	add := func(k float64) {
		if len(out) > 0 && k-out[len(out)-1].Waiting < n*1e-9 {
			return
		}
		out = append(out, m.point(k))
	}
	for s := 1; s < len(at); s++ {
		a, b := gap(at[s-1]), gap(at[s])
		switch {
		case near(a):
			if s == 1 || !near(gap(at[s-2])) || !near(b) { // ends of a stretch only
				add(at[s-1])
			}
		case near(b): // found in the next round
		case a < 0 != (b < 0):
			add(root(gap, at[s-1], at[s]))
		}
	}
	if near(gap(n)) {
		add(n)
	}
	return out
}

// root halves an interval at whose ends gap has different signs.
func root(gap func(float64) float64, a, b float64) float64 {
	low := gap(a) < 0
	for range 200 {
		mid := (a + b) / 2
		if mid == a || mid == b {
			break
		}
		if gap(mid) < 0 == low {
			a = mid
		} else {
			b = mid
		}
	}
	return (a + b) / 2
}

// point tells all of an equilibrium.
func (m Model) point(k float64) Point {
	x := m.Warps - k
	p := Point{Waiting: k, Computing: x, Sectors: m.Demand(x)}
	if s := m.Supply(k); math.Abs(s-p.Sectors) > 1e-9*math.Max(s, p.Sectors) && x > 0 {
		p.Sectors = math.Min(s, p.Sectors)
	}
	p.Rate = p.Sectors * m.Intensity
	h := m.Warps * 1e-6
	// d/dk of f(k) - g(n-k) is f' + g'. Both sides are looked at, since either curve may have its
	// corner here.
	gap := func(k float64) float64 { return m.Supply(k) - m.Demand(m.Warps-k) }
	p.Stable = gap(math.Min(k+h, m.Warps)) > 0 && gap(math.Max(k-h, 0)) < 0
	full := m.Pace*x >= m.Issue*(1-1e-9)
	// The memory is full where one warp more that waits would not get more out of it.
	crowded := (m.Supply(k*1.001)-m.Supply(k))/m.Supply(k) < 1e-4
	switch {
	case full && crowded:
		p.Bound = ByBoth
	case full:
		p.Bound = ByComputing
	case crowded:
		p.Bound = ByMemory
	}
	return p
}

// Settled is the equilibrium that the machine comes to: the stable one that it meets first from the
// start of a kernel, where all warps compute. ok is false where no equilibrium is stable.
func (m Model) Settled() (p Point, ok bool) {
	for _, p := range m.Equilibria() {
		if p.Stable {
			return p, true
		}
	}
	return Point{}, false
}
