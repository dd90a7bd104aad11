package xmodel

import (
	"fmt"
	"math"
)

// A Memory is the memory system as one SM sees it.
type Memory struct {
	Latency float64 // L: cycles from access to data when nothing queues
	Rate    float64 // R: sectors per cycle that the SM gets at most
	// Cache is what the SM's warps share, in bytes; 0: none. CacheLatency is its latency, in cycles.
	Cache, CacheLatency float64
	// Corner is how an access' latency and memory's queue add up, as powers: 0 takes the longer one,
	// as the thesis does (Eq. 3.4). asMeasured is what an H200 does.
	Corner float64
}

// asMeasured is the Corner by which f(k) of an H200's device memory comes out best: where both
// are as long, an access takes 1.4 times that. The mean error over 30 points (1 to 64 warps, 4 to
// 16 bytes a lane) is 8 %, with the thesis' corner 14 %.
const asMeasured = 2

// far is how long an access to memory takes, in cycles, while k sectors are asked for.
func (m Memory) far(k float64) float64 {
	if m.Corner <= 0 {
		return math.Max(m.Latency, k/m.Rate)
	}
	return math.Pow(math.Pow(m.Latency, m.Corner)+math.Pow(k/m.Rate, m.Corner), 1/m.Corner)
}

// A Machine is an SM.
type Machine struct {
	Memory
	Issue float64 // M: instructions per cycle at most, for the kernel's mix of classes
	// Bend is how what the warps would issue by themselves and what the pipes take come together, as
	// powers: 0 takes the smaller one, as the thesis does. asMeasured is what kernels do.
	Bend float64
}

// A Work is one kernel.
type Work struct {
	Warps float64 // n: resident on the SM
	// Intensity is Z: instructions of a warp per sector of memory traffic, weighted with how often
	// each runs.
	Intensity float64
	// Pace is E: instructions per cycle that one warp issues by itself when no memory keeps it, at
	// most 1.
	Pace float64
	// Alpha (over 1) and Beta (bytes, over 0) describe how often a warp comes back to what it has
	// read: the larger Alpha and the smaller Beta, the better the cache serves it. Alpha 0: no use of
	// the cache.
	Alpha, Beta float64
	// Bypass is the share of warps whose accesses go past the cache, 0 to 1, and leave it to the
	// others (thesis, section 3.6 and chapter 5).
	Bypass float64
}

// A Model is a kernel on a machine.
type Model struct {
	Machine
	Work
}

// Check tells what is wrong with a model's numbers.
func (m Model) Check() error {
	for _, v := range []struct {
		name string
		n    float64
	}{{"latency", m.Latency}, {"rate", m.Rate}, {"issue rate", m.Issue}, {"warps", m.Warps},
		{"intensity", m.Intensity}, {"pace", m.Pace}} {
		if !(v.n > 0) || math.IsInf(v.n, 0) {
			return fmt.Errorf("the X-model: %s is %g, must be a number over 0", v.name, v.n)
		}
	}
	if m.Alpha != 0 && (!(m.Alpha > 1) || !(m.Beta > 0)) {
		return fmt.Errorf(
			"the X-model: locality alpha %g, beta %g: alpha must be over 1 (or 0: no reuse), beta over 0",
			m.Alpha, m.Beta)
	}
	if m.Cache < 0 || m.Cache > 0 && !(m.CacheLatency > 0) {
		return fmt.Errorf("the X-model: a cache of %g bytes with a latency of %g cycles", m.Cache,
			m.CacheLatency)
	}
	return nil
}

// hits is the share of accesses that the cache serves when k warps use it (Eq. 3.3).
func (m Model) hits(k float64) float64 {
	if m.Alpha == 0 || m.Cache == 0 {
		return 0
	}
	if k <= 0 {
		return 1
	}
	return 1 - math.Pow(m.Cache/(m.Beta*k)+1, 1-m.Alpha)
}

// Supply is f(k): sectors per cycle that the memory system delivers while k warps wait for it (Eq.
// 3.5). Each waiting warp is taken to wait for one sector; the queue in front of memory counts all
// k, as in the thesis' Eq. 3.4.
func (m Model) Supply(k float64) float64 {
	if k <= 0 {
		return 0
	}
	far := m.far(k) // one queue for all
	past := k * m.Bypass
	cached := k - past
	out := past / far
	if cached > 0 {
		h := m.hits(cached)
		out += cached / (h*m.CacheLatency + (1-h)*far)
	}
	return out
}

// Demand is g(x): sectors per cycle that x computing warps ask for: min(E x, M)/Z, with the corner
// drawn round by Bend.
func (m Model) Demand(x float64) float64 {
	if x <= 0 {
		return 0
	}
	if m.Bend <= 0 {
		return math.Min(m.Pace*x, m.Issue) / m.Intensity
	}
	slow := math.Pow(1/(m.Pace*x), m.Bend) + math.Pow(1/m.Issue, m.Bend)
	return math.Pow(slow, -1/m.Bend) / m.Intensity
}
