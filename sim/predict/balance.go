package predict

import (
	"math"

	"gnvcc/sim/xmodel"
)

// What a warp among others is slower than one alone, and how round the X-model's corners are: found
// on 19 launches of half of 33 (bench/results/2026-11-22-xmodel-2).
const (
	crowdedIssue = 2
	crowdedWaits = 1.25
	corner       = 1.5
)

// lineBytes is what L1 and shared memory move a cycle.
const lineBytes = 128

// XModel is the balance of computing and memory of a run, of which e is the estimate. Accesses are
// guesses as everywhere here: coalesced, served by no cache, loops run ten times. So it is within 64 %
// of the measured instructions a cycle of 33 launches, where counts in their place were within 90 %
// (docs/papers.md).
func (r *Run) XModel(e *Estimate) xmodel.Model {
	sectors := math.Max(e.Sectors, 1e-3)
	near := *r // all loads of global memory are served by L1
	near.Units.Global = near.Units.Near
	hit, err := near.Estimate()
	if err != nil {
		hit = *e
	}
	warps := float64(e.Occupancy.Warps)
	if n := r.Shape.Blocks; n > 0 && r.Device.SMs > 0 {
		warps = math.Min(warps, math.Ceil(float64(n)/float64(r.Device.SMs))*float64(r.Shape.WarpsPerBlock()))
	}
	return xmodel.Model{
		Warps: warps, Intensity: math.Max(e.Insts, 1e-3) / sectors,
		Pace:    math.Min(1, e.Insts/math.Max(crowdedIssue*(e.Latency-e.Waits), 1)),
		Issue:   math.Min(1/e.perInst, e.Insts/math.Max(e.Lines, 1e-3)),
		Latency: math.Max(crowdedWaits*e.Waits/sectors, 1e-3), Rate: r.Units.Sectors,
		Cache:        math.Max(float64(r.Device.Shared-r.Shape.Shared*e.Occupancy.Blocks), 16<<10),
		CacheLatency: math.Max(crowdedWaits*hit.Waits/sectors, 1e-3), Corner: corner,
	}
}
