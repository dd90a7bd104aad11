package report

import (
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

	"gnvcc/cache"
	"gnvcc/policy/lever"
	"gnvcc/rewrite/recipe"
)

// How a kernel takes to L1: the five classes of Li's thesis (section 5.3; curves in 5.9), from the
// times that were measured with all warps past L1, with some (the thresholds of bypass), and with
// none. The thesis judges by eye.
const (
	classMargin = 0.03 // what counts as faster
	classTurn   = 0.04 // what counts as a turn of the thresholds' curve
	classSteady = 0.10 // what thresholds may differ by that matter to nothing: each is code of its own
)

// An L1 is it; times are over nvcc's own.
type L1 struct {
	Class string  `json:"class"`
	Past  float64 `json:"past"` // all warps past L1
	Warps int     `json:"warps"`
	Best  float64 `json:"best"` // the fastest threshold, which lets Warps of a block use L1
}

func (l *L1) String() string {
	return fmt.Sprintf("%s: all warps past L1 take %.2f of the time, all but %d of a block %.2f", l.Class, l.Past, l.Warps, l.Best)
}

// l1 is a kernel's class; nil where what it follows from was not measured.
func l1(d *cache.Decision) *L1 {
	out := &L1{Best: math.Inf(1)}
	thresholds := map[int]float64{}
	for _, t := range d.Evidence.Tried {
		r, err := recipe.Parse(t.Recipe)
		if err != nil || !(t.Ratio > 0) || math.IsInf(t.Ratio, 0) {
			continue
		}
		if t.Recipe == "hint@ld=L1::no_allocate" {
			out.Past = t.Ratio
		}
		value, _ := r.Get("bypass", "")
		if n, err := strconv.Atoi(value); err == nil && lever.Of(r) == "bypass" {
			thresholds[n] = t.Ratio
			if t.Ratio < out.Best {
				out.Warps, out.Best = n, t.Ratio
			}
		}
	}
	if out.Past == 0 || len(thresholds) == 0 {
		return nil
	}
	var curve []float64
	for n := range 33 {
		if ratio, ok := thresholds[n]; ok {
			curve = append(curve, ratio)
		}
	}
	out.Class = class(out.Past, curve)
	return out
}

// class is the rule: past and the thresholds' curve over the time with all warps in L1.
func class(past float64, curve []float64) string {
	faster := func(a, b float64) bool { return a < b*(1-classMargin) }
	best, way := slices.Min(curve), turns(curve)
	between := faster(best, past) && faster(best, 1)
	switch {
	case between && (len(way) < 2 || way == "-+"): // the best lies in the middle of a bowl
		return "cache-congested"
	case !between && faster(past, 1) && !strings.Contains(way, "-"):
		return "bypass-favorite"
	case !between && faster(1, past) && !strings.Contains(way, "+"):
		return "cache-favorite"
	case !between && !faster(past, 1) && !faster(1, past) && slices.Max(curve) < best*(1+classSteady):
		return "cache-insensitive"
	}
	return "irregular"
}

// turns has a sign for each rise and fall of a curve by more than classTurn: "-+" is a bowl.
func turns(curve []float64) (way string) {
	low, high := curve[0], curve[0] // since the last turn
	for _, x := range curve[1:] {
		low, high = math.Min(low, x), math.Max(high, x)
		switch {
		case x > low*(1+classTurn) && !strings.HasSuffix(way, "+"):
			way, low, high = way+"+", x, x
		case x < high/(1+classTurn) && !strings.HasSuffix(way, "-"):
			way, low, high = way+"-", x, x
		case strings.HasSuffix(way, "+"):
			low = high
		case strings.HasSuffix(way, "-"):
			high = low
		}
	}
	return way
}

// classes prints which kernels are of which class.
func (p *printer) classes(entries []Entry) {
	by := map[string][]string{}
	for _, e := range entries {
		if e.L1 != nil {
			by[e.L1.Class] = append(by[e.L1.Class], e.Kernel)
		}
	}
	if len(by) == 0 {
		return
	}
	p.line("")
	p.line("L1, by the thresholds of bypass that were measured (classes of Li's thesis, 5.3):")
	for _, c := range []string{"cache-congested", "bypass-favorite", "cache-favorite", "irregular", "cache-insensitive"} {
		if len(by[c]) > 0 {
			p.paragraph("  "+c+": ", "    ", strings.Join(by[c], ", "))
		}
	}
}
