package predict

import (
	"math"

	"gnvcc/sim/sass"
	"gnvcc/sim/xmodel"
)

// cached is the model of a launch with L1 in it (Eq. 3.5), on an SM while it has as many blocks as
// it can have: sectors that L1 has take one latency, others another. Its locality is such that as
// many hit as were counted; as one count gives one of Eq. 3.3's two parameters, alpha is taken as 2,
// by which a working set as large as the cache is served in half. ok is false where nothing was
// counted, or nothing hits.
func (r *Run) cached(e *Estimate) (m xmodel.Model, ok bool) {
	if !e.Counted || e.L2 <= 0 || r.Shape.Blocks == 0 || r.Device.SMs == 0 {
		return xmodel.Model{}, false
	}
	// an SM has so many blocks at a time, the SMs have so many on average
	blocks := float64(e.Occupancy.Blocks)
	mean := min(blocks, float64(r.Shape.Blocks)/float64(r.Device.SMs))
	blocks = min(blocks, math.Ceil(mean))
	m = r.model(e).of(blocks*float64(r.Shape.WarpsPerBlock()), mean/blocks)
	p, _ := m.Settled()
	hits := 1 - e.L2/max(e.Sectors, 1e-3)
	if hits <= 0 || p.Waiting <= 0 {
		return xmodel.Model{}, false
	}
	hit, miss := *r, *r
	hit.l1, miss.l1 = allHit, noneHits
	far, near := miss.model(e), hit.model(e)
	m.Latency = max(crowdedWaits*far.waits/far.sectors, 1e-3)
	m.CacheLatency = max(crowdedWaits*near.waits/near.sectors, 1e-3)
	m.Cache = max(float64(r.Device.Shared-r.Shape.Shared*e.Occupancy.Blocks), 16<<10)
	// where no sector is in L1, L2 gives all of them
	m.Rate *= e.L2 / max(e.Sectors, 1e-3)
	m.Alpha, m.Beta = 2, m.Cache*(1-hits)/(hits*p.Waiting)
	return m, true
}

// parts are what a kernel's X-model is put together from: all but how many warps there are. Cycles
// are of one warp.
type parts struct {
	insts, sectors, issue, waits, rate float64
	busy                               map[string]float64
	barriers                           float64 // warps that wait for each other; 0: none does
}

func (r *Run) model(e *Estimate) parts {
	flow := r.Function.Flow()
	weights := r.weights(flow)
	p := parts{insts: e.Insts, sectors: max(e.Sectors, 1e-3), rate: r.deliver(e)}
	for b, c := range r.costs(flow) {
		p.issue += weights[b] * c.issue
		p.waits += weights[b] * c.wait
	}
	if r.Shape.Blocks > r.Device.SMs*e.Occupancy.Blocks {
		p.waits += turnover // one block follows another
	}
	p.busy = r.pipes(e, flow, weights)
	if r.Shape.Barriers > 0 && e.Counted {
		p.barriers = float64(r.Shape.WarpsPerBlock())
	}
	return p
}

// What a warp among others is slower than one alone, and how round the corners of f and g are:
// found on the launches of half of the programs (13 of them, by a hash of the name), out of 30 sets
// of values, before the parts above were measured. Looked for once more they would be 2.5, 1.25 and
// 1.5, and the other half worse (bench/results/2026-11-22-xmodel-2).
const (
	crowdedIssue = 2
	crowdedWaits = 1.25
	bend         = 1.5 // without barriers
)

// of is the model for so many warps of an SM. load is how much of that the SMs have on average:
// they share L2, memory, and what begins blocks.
func (p parts) of(warps, load float64) xmodel.Model {
	perWarp := 1e-9
	for name, busy := range p.busy {
		if name == dispatch {
			busy *= load
		}
		perWarp = max(perWarp, busy)
	}
	// Warps of a block that wait for each other compute together and wait together: of one block
	// nothing overlaps, and times add up (a corner of 1); many blocks are like many warps.
	bend := bend
	if p.barriers > 0 {
		bend = 1 + (bend-1)*(1-p.barriers/warps)
	}
	return xmodel.Model{
		Machine: xmodel.Machine{Memory: xmodel.Memory{
			Latency: max(crowdedWaits*p.waits/p.sectors, 1e-3), Rate: p.rate / load, Corner: bend},
			Issue: max(p.insts, 1e-3) / perWarp, Bend: bend},
		Work: xmodel.Work{Warps: warps, Intensity: max(p.insts/p.sectors, 1e-3),
			Pace: min(1, max(p.insts, 1e-3)/max(crowdedIssue*p.issue, 1))},
	}
}

// turnover is how many cycles lie between the begins of two empty blocks in one place of an SM:
// measured with blocks of 1,024 threads on an H200, where 0.744 blocks begin a cycle in 264 places
// (bench/results/2026-11-22-xmodel/blocks.txt).
const turnover = 355

// dispatch names what begins blocks, one after the other: blocksACycle of the whole GPU, with any
// number of threads up to 512; measured likewise.
const (
	dispatch     = "blocks"
	blocksACycle = 0.84
)

// lineBytes is what L1 and shared memory move a cycle: a line of 128 bytes takes one, and a load of
// global memory from L1 alone no less than shortestLoad (measured: memory.txt of
// bench/results/2026-11-22-xmodel-2).
const (
	lineBytes    = 128
	shortestLoad = 1.3
)

// pipes is how many cycles each part of an SM is busy with one warp's instructions.
func (r *Run) pipes(e *Estimate, flow *sass.Flow, weights []float64) map[string]float64 {
	out := map[string]float64{"issue": e.Insts / r.Units.Schedulers}
	add := func(name string, classes ...sass.Class) {
		for _, c := range classes {
			out[name] += e.Classes[c] * 32 / r.Units.rate(c)
		}
	}
	add("integer", sass.Integer)
	add("imad", sass.IMAD)
	add("fp64", sass.FP64)
	add("sfu", sass.SFU, sass.Convert) // one pipe
	add("tensor", sass.Tensor)
	add("shuffle", sass.Shuffle)
	c := r.recorded()
	// where nothing was counted it is not known how short blocks are
	if c != nil && r.Shape.Blocks > r.Device.SMs*e.Occupancy.Blocks {
		out[dispatch] = float64(r.Device.SMs) / blocksACycle / float64(r.Shape.WarpsPerBlock())
	}
	for b := range flow.Blocks {
		for k := flow.Blocks[b].Start; k < flow.Blocks[b].End; k++ {
			i := &r.Function.Insts[k]
			switch i.Space() {
			case sass.Shared, sass.Local:
				turns := max(1, float64(i.Bytes)*32/lineBytes)
				if c != nil {
					turns = max(turns, c.turns(k))
				}
				out["L1"] += weights[b] * turns
			case sass.Global, sass.Generic:
				turns := max(1, float64(i.Bytes)*32/lineBytes)
				if c != nil && c.Insts[k].Access != nil {
					turns = max(1, c.Insts[k].Access.rowTurns(float64(i.Bytes)))
					if i.Class() == sass.Load {
						turns = max(turns, shortestLoad)
					}
				}
				out["L1"] += weights[b] * turns
			}
		}
	}
	return out
}
