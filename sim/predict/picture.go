package predict

import (
	"sort"

	"gnvcc/sim"
	"gnvcc/sim/xmodel"
)

// A Picture is all that an explanation of one kernel draws, as values: no text, no page.
type Picture struct {
	Assumed []string // what of the shape is a guess: "block size", "grid", "dynamic shared memory"
	Units   Units    // with their source, which a page must show
	Region  sim.Region
	Limits  []Limit
	Levels  []sim.Level // one a critical point, most registers first
	Times   []TimePoint // by registers, ascending
	Graph   Graph
	// the X-model with L1 in it, where accesses were counted: what is asked of caches is asked of it;
	// Warps 0: there is none
	Cached  xmodel.Model
	Hottest Loop
	Default Estimate
}

// A Limit is how many blocks one resource of an SM allows.
type Limit struct {
	Resource string // sim.LimitRegisters and the others
	Blocks   int
	Binds    bool // no resource allows fewer
}

// A TimePoint is one register count: times are parts of the default's.
type TimePoint struct {
	Registers int
	Predicted float64 // by our model, 0: not predicted
	Paper     float64 // by RegDem's
	Measured  float64 // 0: not measured
}

// A Graph is an X-graph: both curves over k, the warps that wait for memory.
type Graph struct {
	K, Supply, Demand []float64 // sectors per cycle
	Points            []xmodel.Point
	Model             xmodel.Model
}

// graphSteps is how many points each curve has.
const graphSteps = 128

// NewGraph draws a model.
func NewGraph(m xmodel.Model) Graph {
	g := Graph{Model: m}
	if m.Check() != nil {
		return g
	}
	for s := 0; s <= graphSteps; s++ {
		k := m.Warps * float64(s) / graphSteps
		g.K = append(g.K, k)
		g.Supply = append(g.Supply, m.Supply(k))
		g.Demand = append(g.Demand, m.Demand(m.Warps-k))
	}
	g.Points = m.Equilibria()
	return g
}

// NewPicture makes the picture of a kernel: base is nvcc's own build, others are builds under
// register caps, measured holds times over the default's by register count.
func NewPicture(base Run, others []Run, measured map[int]float64,
	assumed []string) (Picture, error) {
	e, err := base.Estimate()
	if err != nil {
		return Picture{}, err
	}
	p := Picture{Units: base.Units, Assumed: assumed, Default: e, Hottest: e.Hottest,
		Graph: NewGraph(e.Model), Limits: limits(base)}
	p.Cached, _ = base.cached(&e)
	p.Region = sim.Region{Min: base.Registers, Max: base.Registers}
	seen := map[int]*TimePoint{}
	at := func(registers int) *TimePoint {
		if seen[registers] == nil {
			seen[registers] = &TimePoint{Registers: registers}
		}
		return seen[registers]
	}
	*at(base.Registers) = TimePoint{Registers: base.Registers, Predicted: 1, Paper: 1}
	for _, o := range others {
		p.Region.Min, p.Region.Max = min(p.Region.Min, o.Registers), max(p.Region.Max, o.Registers)
		if o.Registers == base.Registers {
			continue
		}
		x, err := o.Estimate()
		if err != nil { // such a build is not drawn
			continue
		}
		most := max(x.Fraction, e.Fraction)
		t := at(o.Registers)
		t.Predicted = over(x.Cycles, e.Cycles)
		t.Paper = over(o.Slower(&x, most), base.Slower(&e, most))
	}
	for registers, ratio := range measured {
		at(registers).Measured = ratio
	}
	p.Levels = base.Device.Levels(base.Shape, p.Region.Min, p.Region.Max)
	for _, t := range seen {
		p.Times = append(p.Times, *t)
	}
	sort.Slice(p.Times, func(i, j int) bool { return p.Times[i].Registers < p.Times[j].Registers })
	return p, nil
}

// limits asks for each resource alone: the others are made plentiful.
func limits(r Run) []Limit {
	d, s := r.Device, r.Shape
	alone := func(resource string, d sim.Device, regs int, s sim.Shape) Limit {
		return Limit{Resource: resource, Blocks: d.Occupancy(regs, s).Blocks}
	}
	free := d
	free.Blocks, free.Warps = 1<<20, 1<<20
	free.Threads, free.Reserved = 1<<20, 0
	bare := sim.Shape{Threads: s.Threads}
	warps, slots, shared, barriers := d, free, free, free
	warps.Blocks = 1 << 20
	warps.Reserved, slots.Blocks, shared.Reserved = 0, d.Blocks, d.Reserved
	out := []Limit{
		alone(sim.LimitRegisters, free, r.Registers, bare),
		alone(sim.LimitWarps, warps, 0, bare),
		alone(sim.LimitBlocks, slots, 0, bare),
	}
	if s.Shared > 0 {
		out = append(out, alone(sim.LimitShared, shared, 0, sim.Shape{Threads: s.Threads,
			Shared: s.Shared}))
	}
	if s.Barriers > 0 && d.Barriers > 0 {
		out = append(out, alone(sim.LimitBarriers, barriers, 0, sim.Shape{Threads: s.Threads,
			Barriers: s.Barriers}))
	}
	if s.Blocks > 0 && d.SMs > 0 {
		out = append(out, Limit{Resource: sim.LimitGrid, Blocks: (s.Blocks + d.SMs - 1) / d.SMs})
	}
	least := out[0].Blocks
	for _, l := range out {
		least = min(least, l.Blocks)
	}
	for n := range out {
		out[n].Binds = out[n].Blocks == least
	}
	return out
}
