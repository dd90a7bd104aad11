package predict

import (
	"fmt"
	"math"

	"gnvcc/sim/sass"
	"gnvcc/sim/xmodel"
)

// A Throughput is what the X-model foretells of a whole launch.
type Throughput struct {
	Model xmodel.Model // of one SM while it has all the blocks that it can have
	Point xmodel.Point
	Rate  float64 // instructions of warps per cycle and SM, over the launch
	// cycles of the launch, from the first block's begin to the last one's end
	Cycles float64
	Insts  float64 // that one warp runs
	// Pipe is what keeps the SM from issuing more, where computing bounds it
	Pipe string
}

// Throughput balances computing against memory for a launch: an X-model while each SM has as many
// blocks as it can have, and one for the blocks that are left at the end.
func (r *Run) Throughput() (t Throughput, err error) {
	e, err := r.Estimate()
	if err != nil {
		return t, err
	}
	if r.Shape.Blocks == 0 || r.Device.SMs == 0 {
		return t, fmt.Errorf("throughput of %s: neither its grid nor the number of SMs may be unknown",
			r.Function.Name)
	}
	flow := r.Function.Flow()
	weights := r.weights(flow)
	issue, waits := 0.0, 0.0
	for b, c := range r.costs(flow) {
		issue += weights[b] * c.issue
		waits += weights[b] * c.wait
	}
	perInst, pipe := r.perInstruction(&e)
	work := func(blocks float64) xmodel.Model {
		s := max(e.Sectors, 1e-3)
		return xmodel.Model{
			Machine: xmodel.Machine{Memory: xmodel.Memory{Latency: max(waits/s, 1e-3),
				Rate: r.deliver(&e), Corner: xmodel.Measured}, Issue: 1 / perInst},
			Work: xmodel.Work{Warps: blocks * float64(r.Shape.WarpsPerBlock()),
				Intensity: max(e.Insts/s, 1e-3), Pace: min(1, e.Insts/max(issue, 1))},
		}
	}
	wave := r.Device.SMs * e.Occupancy.Blocks
	full := r.Shape.Blocks / wave
	rest := r.Shape.Blocks - full*wave
	time := func(blocks float64) (float64, xmodel.Model, xmodel.Point) {
		m := work(blocks)
		p, ok := m.Settled()
		if !ok || p.Rate <= 0 {
			return math.Inf(1), m, p
		}
		return m.Warps * e.Insts / p.Rate, m, p
	}
	if full > 0 {
		var one float64
		one, t.Model, t.Point = time(float64(e.Occupancy.Blocks))
		t.Cycles = float64(full) * one
	}
	if rest > 0 {
		last, m, p := time(math.Ceil(float64(rest) / float64(r.Device.SMs)))
		if full == 0 {
			t.Model, t.Point = m, p
		}
		t.Cycles += last
	}
	t.Insts, t.Pipe = e.Insts, pipe
	warps := float64(r.Shape.Blocks * r.Shape.WarpsPerBlock())
	t.Rate = warps * e.Insts / t.Cycles / float64(r.Device.SMs)
	return t, nil
}

// l1Sectors is how many sectors L1 gives a cycle: 128 bytes.
const l1Sectors = 4

// deliver is how many of the sectors that a kernel's accesses touch it is given per cycle, at most:
// by memory, L2 or L1, whichever is the slowest for its share.
func (r *Run) deliver(e *Estimate) float64 {
	u := &r.Units
	cycles := max(e.Sectors/l1Sectors, e.L2/u.L2Sectors, e.Memory/u.Sectors, 1e-9)
	return max(e.Sectors, 1e-3) / cycles
}

// perInstruction is how many cycles an SM takes for an instruction of this mix: by the slowest pipe,
// or the schedulers.
func (r *Run) perInstruction(e *Estimate) (cycles float64, pipe string) {
	cycles, pipe = 1/r.Units.Schedulers, "issue"
	for c := range e.Classes {
		if e.Insts <= 0 {
			break
		}
		if x := e.Classes[c] * 32 / r.Units.rate(sass.Class(c)) / e.Insts; x > cycles {
			cycles, pipe = x, sass.Class(c).String()
		}
	}
	return cycles, pipe
}
