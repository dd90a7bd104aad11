package predict

import (
	"fmt"
	"math"
	"sort"

	"gnvcc/sim"
	"gnvcc/sim/cubin"
	"gnvcc/sim/sass"
	"gnvcc/sim/xmodel"
)

// recorded is what was counted of this very code, nil where nothing was.
func (r *Run) recorded() *Recorded {
	if c := r.Recorded; c.fits(r.Function) {
		return c
	}
	return nil
}

// A Run is one kernel's code, built in one way, and how it is launched.
type Run struct {
	Function  *sass.Function
	Registers int
	Device    sim.Device
	Shape     sim.Shape // Blocks 0: unknown, many
	Units     Units
	Recorded  *Recorded // what was counted in a launch; nil: nothing, how often code runs is guessed
	Stack     int       // bytes of local memory of one thread: arrays and spills
	missing   float64   // share of its accesses that L1 can't serve
	l1        caching   // what is asked: the counted share of hits in L1, all, or none
}

// A caching says which accesses find their sectors in L1.
type caching int

const (
	asCounted caching = iota
	allHit
	noneHits
)

// An Estimate is what is thought of a run. Cycles are of one multiprocessor, for all blocks that it
// gets (divided by the blocks of a wave where the grid is unknown: what one block takes among
// others).
type Estimate struct {
	Cycles    float64
	Latency   float64 // of one warp from beginning to end, if it were alone
	Paper     float64 // RegDem's stall count (Fig. 5)
	Occupancy sim.Occupancy
	Fraction  float64 // of the warp slots
	Waves     float64 // of blocks, one after the other; 1 where the grid is unknown
	Insts     float64 // instructions that one warp runs
	Classes   [sass.Classes]float64
	Counted   bool // how often code runs was counted, not guessed
	// sectors of 32 bytes that one warp's accesses touch, those that L1 has not, and those that L2 has
	// not; where nothing was counted, all come from memory, and accesses are coalesced
	Sectors, L2, Memory float64
	written             float64 // sectors of local memory
	InFlight            float64 // loads of one warp that are on their way at once, at most
	Spills              float64 // loads and stores of local memory that one warp runs
	Hottest             Loop
	Balance             xmodel.Point
	Model               xmodel.Model
}

// A Loop is the loop that takes most of a warp's time.
type Loop struct {
	Offset int     // of its header, bytes; -1: the kernel has no loop
	Cycles float64 // of one round, one warp alone
	Issue  float64 // of these, cycles in which the warp issues or its stall counts keep it
	Wait   float64 // cycles in which it waits for scoreboards
	Insts  int
	Share  float64 // of the warp's time
}

// Estimate runs our model.
func (r *Run) Estimate() (Estimate, error) {
	f := r.Function
	if err := f.Known(); err != nil {
		return Estimate{}, fmt.Errorf("predict %s: %w", f.Name, err)
	}
	flow := f.Flow()
	weights := r.weights(flow)
	r.missing = r.localMisses()
	e := Estimate{Occupancy: r.Device.Occupancy(r.Registers, r.Shape), Waves: 1}
	if e.Occupancy.Blocks == 0 {
		return e, fmt.Errorf("predict %s: no block of %d threads with %d registers can be launched: %s",
			f.Name, r.Shape.Threads,
			r.Registers, e.Occupancy.Limit)
	}
	e.Fraction = r.Device.Fraction(e.Occupancy)
	if r.Shape.Blocks > 0 && r.Device.SMs > 0 {
		e.Waves = math.Ceil(float64(r.Shape.Blocks) / float64(r.Device.SMs*e.Occupancy.Blocks))
	}
	e.Paper = regDem(f, flow, &r.Units, e.Fraction)
	cost := r.costs(flow)
	for b := range flow.Blocks {
		e.Latency += weights[b] * (cost[b].issue + cost[b].wait)
		for k := flow.Blocks[b].Start; k < flow.Blocks[b].End; k++ {
			i := &f.Insts[k]
			e.Insts += weights[b]
			e.Classes[i.Class()] += weights[b]
			switch i.Space() {
			case sass.Global, sass.Generic, sass.TextureSpace:
				// 32 lanes of so many bytes are so many sectors
				if r.recorded() == nil {
					e.Sectors += weights[b] * float64(max(1, i.Bytes))
				}
			case sass.Local:
				e.Spills += weights[b]
				if i.Class() == sass.Store { // is written through to L2
					e.written += weights[b] * float64(max(1, i.Bytes))
				}
				e.Sectors += weights[b] * float64(max(1, i.Bytes)) * r.missing / nearer
			}
		}
		e.InFlight = max(e.InFlight, cost[b].flight)
	}
	if c := r.recorded(); c != nil {
		e.Counted = true
		var sectors, l2 float64
		for _, a := range c.Accesses {
			sectors, l2, e.Memory = sectors+a.Sectors, l2+a.L2, e.Memory+a.Memory
		}
		e.Sectors += sectors // beside those of local memory
		e.L2 = e.written + l2
	} else {
		e.L2, e.Memory = e.Sectors, e.Sectors
	}
	e.Hottest = r.hottest(flow, weights, cost, e.Latency)
	r.balance(&e)
	return e, nil
}

// nearer is how much cheaper a sector of L2 is than one of device memory: assumed.
const nearer = 2.5

// localMisses is the share of accesses to local memory that L1 can't serve: the stacks of all
// resident threads against what shared memory leaves of L1 (which is as large as the largest shared
// memory, about).
func (r *Run) localMisses() float64 {
	o := r.Device.Occupancy(r.Registers, r.Shape)
	need := float64(r.Stack * o.Warps * 32)
	have := float64(r.Device.Shared - r.Shape.Shared*o.Blocks)
	if need <= max(have, 0) {
		return 0
	}
	return 1 - max(have, 0)/need
}

// latency is how long a scoreboard guards a result.
func (r *Run) latency(i *sass.Inst) float64 {
	l := r.Units.latency(i)
	if i.Space() == sass.Local {
		l += r.missing * (r.Units.Global/2 - l)
	}
	return l
}

// weights is how often each block runs for one warp: loops' rounds multiplied, and halves behind
// branches inside them not taken into account, for a warp whose lanes part runs both sides.
func (r *Run) weights(flow *sass.Flow) []float64 {
	if c := r.recorded(); c != nil {
		apart := func(b int) bool { return r.called(flow.Blocks[b].Start) }
		return c.weights(flow, apart, func(b int) bool {
			for k := flow.Blocks[b].Start; k < flow.Blocks[b].End; k++ {
				if i := &r.Function.Insts[k]; i.Name() == "CALL" && !c.Insts[k].Calls {
					return true
				}
			}
			return false
		})
	}
	out := make([]float64, len(flow.Blocks))
	for b := range out {
		if flow.Reached(b) {
			out[b] = 1
		}
	}
	for n, l := range flow.Loops {
		if n >= 64 || l.Depth > mostDepth {
			break
		}
		for _, b := range l.Blocks {
			out[b] *= loopFactor
		}
	}
	// Functions of the section that only slow paths call (roots, divisions of odd numbers) hardly run.
	for b := range out {
		if r.called(flow.Blocks[b].Start) {
			out[b] *= rare
		}
	}
	return out
}

// rare is the weight of called functions.
const rare = 0.01

func (r *Run) called(inst int) bool {
	at := r.Function.Insts[inst].Offset
	parts := r.Function.Parts // in order of offset
	n := sort.Search(len(parts), func(n int) bool { return parts[n].Offset > at }) - 1
	return n >= 0 && parts[n].Offset > 0 && at < parts[n].Offset+parts[n].Size
}

// A cost is one block's, for one warp alone.
type cost struct{ issue, wait, flight float64 }

// pending are the scoreboards: when the results are there, counted from the block's beginning; 0:
// nothing to wait for.
type pending [6]float64

// A group is the loads that one scoreboard guards: the chances that none of them waits for L2, and
// for memory, and when the last one was issued. A warp waits for the slowest.
type group struct{ near, l2, last float64 }

// joins adds a load, and gives when all are there.
func (g *group) joins(r *Run, a *Access, now float64, fresh bool) float64 {
	if fresh {
		*g = group{1, 1, now}
	}
	l2, memory := a.level()
	switch r.l1 {
	case allHit:
		l2, memory = 0, 0
	case noneHits:
		if l2 > 0 {
			memory /= l2
		}
		l2 = 1
	}
	if r.Shape.Barriers > 0 { // the block's warps wait for each other
		w := float64(r.Shape.WarpsPerBlock())
		l2, memory = 1-math.Pow(1-l2, w), 1-math.Pow(1-memory, w)
	}
	g.near, g.l2, g.last = g.near*(1-l2), g.l2*(1-memory), now
	u := &r.Units
	turns := max(0, a.run(a.Lines)-1) // lines of L1 come one by one
	near, far := a.more()
	return now + turns + u.Near + (1-g.near)*(u.L2+near*sectorL2-u.Near) +
		(1-g.l2)*(u.Global+far*sectorMemory-u.L2-near*sectorL2)
}

// What a load waits longer for each sector but the first, in cycles: those that come from L2, and
// from memory. On an H200 a warp alone waits 289 cycles for one sector of L2, 309 for four and 331
// for sixteen; for memory 659, 709 and 814 (bench/results/2026-11-22-predict/machine.tsv, supply).
const (
	sectorL2     = 4
	sectorMemory = 11
	mostMore     = 15 // more were not measured
)

// costs walks each block. What is on its way at a block's end goes on into the blocks behind it,
// over back edges too: blocks are walked until nothing changes, or four times.
func (r *Run) costs(flow *sass.Flow) []cost {
	f := r.Function
	out := make([]cost, len(flow.Blocks))
	in := make([]pending, len(flow.Blocks))
	counted, weights := r.recorded(), r.weights(flow)
	for round := 0; round < 4; round++ {
		changed := false
		for b := range flow.Blocks {
			p, now, wait, flight := in[b], 0.0, 0.0, 0
			var groups [6]group
			most := 0
			for k := flow.Blocks[b].Start; k < flow.Blocks[b].End; k++ {
				i := &f.Insts[k]
				for w := range p {
					if i.Wait>>w&1 == 1 {
						if d := p[w] - now; d > 0 {
							now += d
							wait += d
						}
						p[w] = 0
					}
				}
				if i.Wait != 0 {
					flight = 0
				}
				if w := i.Write; w < len(p) && counted != nil && counted.Insts[k].Access != nil {
					p[w] = max(p[w], groups[w].joins(r, counted.Insts[k].Access, now, p[w] == 0))
				} else if w < len(p) {
					turns := max(0, counted.turns(k)-1) // banks in conflict
					p[w] = max(p[w], now+r.latency(i)+turns)
				}
				if i.Read < len(p) {
					p[i.Read] = max(p[i.Read], now+readLatency)
				}
				if i.Class() == sass.Load && (i.Space() == sass.Global || i.Space() == sass.Generic) {
					flight++
					most = max(most, flight)
				}
				now += max(1, float64(i.Stall))
			}
			out[b] = cost{now - wait, wait, float64(most)}
			for w := range p {
				p[w] = max(0, p[w]-now)
			}
			for _, n := range flow.Blocks[b].Next {
				if counted != nil && weights[n] > 2*weights[b] {
					continue // into a loop: waited for in the first of many rounds
				}
				for w := range p {
					if p[w] > in[n][w]+0.5 {
						in[n][w], changed = p[w], true
					}
				}
			}
		}
		if !changed {
			break
		}
	}
	return out
}

// readLatency is how long a slow instruction takes to read its operands, in cycles: assumed.
const readLatency = 12

func (r *Run) hottest(flow *sass.Flow, weights []float64, cost []cost, all float64) Loop {
	best := Loop{Offset: -1}
	most := 0.0
	for _, l := range flow.Loops {
		inner := Loop{Offset: r.Function.Insts[flow.Blocks[l.Header].Start].Offset}
		time := 0.0
		for _, b := range l.Blocks {
			if flow.Blocks[b].Header != l.Header { // an inner loop's, which stands for itself
				continue
			}
			inner.Issue += cost[b].issue
			inner.Wait += cost[b].wait
			inner.Insts += flow.Blocks[b].End - flow.Blocks[b].Start
			time += weights[b] * (cost[b].issue + cost[b].wait)
		}
		inner.Cycles = inner.Issue + inner.Wait
		if all > 0 {
			inner.Share = time / all
		}
		if time > most {
			most, best = time, inner
		}
	}
	return best
}

// balance takes the counts to an X-model, and its rate to cycles.
func (r *Run) balance(e *Estimate) {
	u := &r.Units
	// M: the slowest pipe for this mix, or the schedulers. A warp's instruction takes 32 lanes of its
	// class.
	perInst := 1 / u.Schedulers
	for c := range e.Classes {
		if e.Insts > 0 {
			perInst = max(perInst, e.Classes[c]*32/u.rate(sass.Class(c))/e.Insts)
		}
	}
	sectors := max(e.Sectors, 1e-3)
	e.Model = r.model(e).of(float64(e.Occupancy.Warps), 1)
	e.Balance, _ = e.Model.Settled()
	all := float64(r.Shape.WarpsPerBlock()) * float64(e.Occupancy.Blocks) // warps of the busiest SM
	if r.Shape.Blocks > 0 && r.Device.SMs > 0 {
		all = float64(r.Shape.WarpsPerBlock()) * math.Ceil(float64(r.Shape.Blocks)/float64(r.Device.SMs))
	}
	// A wave takes at least as long as one warp, and all together as long as the busiest pipe, memory,
	// and L1 with what was spilled. These overlap, but never well: their sum predicts which of two
	// builds is faster better than their maximum does, which is the same for all builds of a kernel
	// that is bound by memory.
	e.Cycles = e.Latency*e.Waves + all*(e.Insts*perInst+sectors/u.Sectors+e.Spills*spillCycles)
	// a wave's size is the candidate's own: compare single blocks
	if r.Shape.Blocks == 0 || r.Device.SMs == 0 {
		e.Cycles /= float64(e.Occupancy.Blocks)
	}
}

// spillCycles is how long L1 is busy with a warp's access to local memory: 128 bytes at 64 a cycle,
// twice, since what is stored is also written through to L2.
const spillCycles = 4

// NewRun decodes a kernel of a cubin for estimates. shape.Shared is the dynamic shared memory; the
// kernel's own and its named barriers are added here.
func NewRun(code []byte, kernel string, d sim.Device, shape sim.Shape, u Units) (Run, error) {
	file, err := cubin.Read(code)
	if err != nil {
		return Run{}, err
	}
	k, ok := file.Kernel(kernel)
	if !ok {
		return Run{}, fmt.Errorf("predict: the cubin has no kernel %s", kernel)
	}
	f, err := sass.Find(code, kernel)
	if err != nil {
		return Run{}, err
	}
	if err := f.Known(); err != nil {
		return Run{}, fmt.Errorf("predict: %w", err)
	}
	shape.Shared += k.Shared
	shape.Barriers = k.Barriers
	return Run{Function: f, Registers: k.Registers, Device: d, Shape: shape, Units: u,
		Stack: max(k.Stack, k.StackAll)}, nil
}
