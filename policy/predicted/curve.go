package predicted

import (
	"context"
	"fmt"
	"io"
	"slices"
	"strings"

	"gnvcc/cache"
	"gnvcc/policy"
	"gnvcc/policy/lever"
	"gnvcc/rewrite/recipe"
	"gnvcc/sim"
	"gnvcc/sim/predict"
)

// A Curve is what a kernel spills, and how many of its warps are resident, by its registers (Li et
// al., DATE 2016, Fig. 6).
type Curve struct {
	Kernel  *policy.Kernel
	Assumed []string
	Own     int // registers of nvcc's own build
	Points  []CurvePoint
}

// A CurvePoint is one register count that ptxas gives.
type CurvePoint struct {
	Registers, Warps int
	Spills           float64 // loads and stores of local memory that one warp runs
	Critical         bool    // the most registers with so many warps
}

// CurveOf compiles a kernel under every cap that may matter to it: one ptxas run each.
func CurveOf(ctx context.Context, c compiler, k *policy.Kernel, decided *cache.Decision, threads int) (*Curve, error) {
	device, rates, err := Rates(k.CC)
	if err != nil {
		return nil, err
	}
	shape, assumed := shapeOf(k, decided, threads)
	l := look{ctx: ctx, c: c, shape: shape, device: device, rates: rates, out: &Kernel{Kernel: k}}
	out := &Curve{Kernel: k, Assumed: assumed}
	add := func(r recipe.Recipe) (predict.Run, error) {
		made, _, err := l.made(r)
		if err != nil {
			return made.Run, err
		}
		e, err := made.Run.Estimate()
		if err == nil && !slices.ContainsFunc(out.Points, func(p CurvePoint) bool { return p.Registers == made.Run.Registers }) {
			out.Points = append(out.Points, CurvePoint{Registers: made.Run.Registers, Warps: e.Occupancy.Warps, Spills: e.Spills})
		}
		return made.Run, err
	}
	own, err := add(recipe.Recipe{})
	if err != nil {
		return nil, err
	}
	out.Own = own.Registers
	most, err := add(lever.Term("maxnreg", "255"))
	if err != nil {
		return nil, err
	}
	for n := max(most.Registers, own.Registers) - 1; n >= sim.Floor; n-- {
		if _, err := add(lever.Term("maxnreg", fmt.Sprint(n))); ctx.Err() != nil {
			return nil, ctx.Err()
		} else if err != nil {
			continue // ptxas takes no such cap
		}
	}
	slices.SortFunc(out.Points, func(a, b CurvePoint) int { return a.Registers - b.Registers })
	points := device.CriticalPoints(own.Shape, out.Points[0].Registers, out.Points[len(out.Points)-1].Registers)
	for i := range out.Points {
		out.Points[i].Critical = slices.Contains(points, out.Points[i].Registers)
	}
	return out, nil
}

// Print draws it: a row a register count, warps and spills as bars.
func (c *Curve) Print(w io.Writer) error {
	const width = 32.0
	spills, warps := 1.0, 1
	for _, p := range c.Points {
		spills, warps = max(spills, p.Spills), max(warps, p.Warps)
	}
	bar := func(part float64) string { return strings.Repeat("#", int(part*width+0.5)) }
	fmt.Fprintf(w, "%s (%s), %s\n", c.Kernel.Short, c.Kernel.Target, strings.Join(append([]string{"every register count that ptxas gives"},
		c.Assumed...), ", "))
	fmt.Fprintf(w, "registers  warps  %-*s  spill accesses\n", int(width), "")
	for _, p := range c.Points {
		note := ""
		if p.Critical {
			note = "  critical point"
		}
		if p.Registers == c.Own {
			note += "  nvcc's own"
		}
		if _, err := fmt.Fprintf(w, "%9d %6d  %-*s  %6.0f  %s%s\n", p.Registers, p.Warps, int(width), bar(float64(p.Warps)/float64(warps)),
			p.Spills, bar(p.Spills/spills), note); err != nil {
			return err
		}
	}
	return nil
}
