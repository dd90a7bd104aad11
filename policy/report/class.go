package report

import (
	"fmt"
	"math"
	"sort"
	"strconv"
	"strings"

	"gnvcc/cache"
	"gnvcc/policy"
	"gnvcc/policy/lever"
	"gnvcc/rewrite"
	"gnvcc/rewrite/recipe"
)

// L1 sensitivity of a kernel: the five classes of Li's thesis (2016; section 5.3 names them, 5.9
// describes their curves, Figs. 5.39 to 5.43), derived from the times that were measured over the
// bypassing thresholds.
//
// A curve has, from left to right, bypass-all (hint@ld=L1::no_allocate), the thresholds (bypass=K: K
// warps of a block use L1), and cache-all (the default), each as time over the default's. The
// thesis judges by eye; here, where "faster" and "slower" mean by more than 3 %, and what the
// thresholds do is what is left of their curve when turns of less than 4 % are taken out:
//
//	congested         a threshold, or a level of throttling, is faster than both ends, and the thresholds turn once at most, from
//	                  falling to rising: the optimum lies in the middle
//	bypass-favourite  bypass-all is faster than cache-all, nothing in between is faster, and the thresholds never fall
//	cache-favourite   cache-all is faster than bypass-all, nothing in between is faster, and the thresholds never rise
//	insensitive       both ends are alike, nothing in between is faster, and the thresholds are within 10 % of each other (they may
//	                  be slower than both ends: two predicated loads stand for one)
//	irregular         anything else
//
// Levels of throttling are no part of the thesis' curves. They relieve the same congestion by other
// means, so that one that is faster than both ends tells of it too.

// The classes.
const (
	bypassFavourite = "bypass-favourite"
	cacheFavourite  = "cache-favourite"
	congested       = "congested"
	insensitive     = "insensitive"
	irregular       = "irregular"
)

const (
	classMargin = 0.03 // what counts as faster
	// what thresholds that matter to nothing may differ by: each threshold is code of its own
	classSteady = 0.10
	// what counts as a turn of the curve; above the margin, for each turn is a chance to be wrong
	classTurn = 0.04
)

// A Sensitivity is a kernel's class and what it follows from. Ratios are times over the default's.
type Sensitivity struct {
	Class      string  `json:"class"`
	BypassAll  float64 `json:"bypassAll"`
	CacheAll   float64 `json:"cacheAll"`            // 1
	Thresholds []Point `json:"thresholds"`          // by number of warps that use L1
	Throttled  []Point `json:"throttled,omitempty"` // by number of resident blocks
	Warps      int     `json:"warpsOfBlock,omitempty"`
}

// A Point is one measured value of a curve.
type Point struct {
	N     int     `json:"n"`
	Ratio float64 `json:"ratio"`
}

// sensitive tells a kernel's class from a decision's evidence; nil where too little was measured:
// bypass-all or every threshold is missing.
func sensitive(d cache.Decision) *Sensitivity {
	s := &Sensitivity{CacheAll: 1}
	heaviest := -1.0
	for _, l := range d.Evidence.Launches {
		if w := float64(max(l.Count, 1)) * l.Before.Median; w > heaviest {
			heaviest, s.Warps = w, (policy.Shape{Block: l.Block}.Threads()+31)/32
		}
	}
	thresholds, throttled := map[int]float64{}, map[int]float64{}
	for _, t := range d.Evidence.Tried {
		r, err := recipe.Parse(t.Recipe)
		if err != nil || t.Ratio <= 0 || math.IsInf(t.Ratio, 0) || math.IsNaN(t.Ratio) {
			continue
		}
		if t.Recipe == "hint@ld=L1::no_allocate" {
			s.BypassAll = t.Ratio
		}
		switch lever.Of(r) {
		case "bypass":
			value, _ := r.Get("bypass", "")
			if n, err := strconv.Atoi(value); err == nil {
				thresholds[n] = t.Ratio
			}
		case "throttle":
			throttled[rewrite.Throttle(r)] = t.Ratio
		}
	}
	s.Thresholds, s.Throttled = byNumber(thresholds), byNumber(throttled)
	if s.BypassAll == 0 || len(s.Thresholds) == 0 {
		return nil
	}
	s.Class = s.classify()
	return s
}

func byNumber(m map[int]float64) []Point {
	out := make([]Point, 0, len(m))
	for n, ratio := range m {
		out = append(out, Point{n, ratio})
	}
	sort.Slice(out, func(i, j int) bool { return out[i].N < out[j].N })
	return out
}

// classify is the rule.
func (s *Sensitivity) classify() string {
	faster := func(a, b float64) bool { return a < b*(1-classMargin) }
	best, low, high := math.Inf(1), math.Inf(1), 0.0
	for _, p := range s.Thresholds {
		low, high = math.Min(low, p.Ratio), math.Max(high, p.Ratio)
	}
	for _, p := range append(s.Thresholds[:len(s.Thresholds):len(s.Thresholds)], s.Throttled...) {
		best = math.Min(best, p.Ratio)
	}
	way := turns(s.Thresholds)
	between := faster(best, s.BypassAll) && faster(best, s.CacheAll)
	switch {
	case between && (len(way) < 2 || way == "-+"):
		return congested
	case between:
		return irregular
	case faster(s.BypassAll, s.CacheAll) && !strings.Contains(way, "-"):
		return bypassFavourite
	case faster(s.CacheAll, s.BypassAll) && !strings.Contains(way, "+"):
		return cacheFavourite
	case !faster(s.BypassAll, s.CacheAll) && !faster(s.CacheAll, s.BypassAll) &&
		high < low*(1+classSteady):
		return insensitive
	}
	return irregular
}

// turns gives the way of a curve, a sign for each rise and fall, after turns of less than
// classTurn: "" is a steady one, "-+" a bowl.
func turns(curve []Point) string {
	way := ""
	if len(curve) == 0 {
		return way
	}
	low, high := curve[0].Ratio, curve[0].Ratio // since the last turn
	for _, p := range curve[1:] {
		low, high = math.Min(low, p.Ratio), math.Max(high, p.Ratio)
		up, down := p.Ratio > low*(1+classTurn), p.Ratio < high/(1+classTurn)
		switch {
		case up && !strings.HasSuffix(way, "+"):
			way, low, high = way+"+", p.Ratio, p.Ratio
		case down && !strings.HasSuffix(way, "-"):
			way, low, high = way+"-", p.Ratio, p.Ratio
		case strings.HasSuffix(way, "+"):
			low = high // rising: a fall is counted from the top
		case strings.HasSuffix(way, "-"):
			high = low
		}
	}
	return way
}

// String says it in a line.
func (s *Sensitivity) String() string {
	text := fmt.Sprintf("%s: without L1 %.2f times nvcc's time", s.Class, s.BypassAll)
	if p, ok := least(s.Thresholds); ok {
		text += fmt.Sprintf(", with L1 for %d of %d warps %.2f", p.N, s.Warps, p.Ratio)
	}
	if p, ok := least(s.Throttled); ok {
		text += fmt.Sprintf(", with %s resident %.2f", policy.Count(p.N, "block"), p.Ratio)
	}
	return text
}

func least(curve []Point) (Point, bool) {
	if len(curve) == 0 {
		return Point{}, false
	}
	best := curve[0]
	for _, p := range curve {
		if p.Ratio < best.Ratio {
			best = p
		}
	}
	return best, true
}
