package predict

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"sort"

	"gnvcc/sim"
	"gnvcc/sim/cubin"
	"gnvcc/sim/sass"
)

// A Run is one kernel's code, built in one way, and how it is launched.
type Run struct {
	Function  *sass.Function
	Registers int
	Device    sim.Device
	Shape     sim.Shape // Blocks 0: unknown, many
	Units     Units
	Stack     int     // bytes of local memory of one thread: arrays and spills
	missing   float64 // share of its accesses that L1 can't serve
}

// An Estimate is what is thought of a run. Cycles are of one multiprocessor, for all blocks that it
// gets (divided by the blocks of a wave where the grid is unknown: what one block takes among
// others).
type Estimate struct {
	Cycles    float64
	Latency   float64 // of one warp from beginning to end, if it were alone
	Waits     float64 // of that, cycles in which it waits for scoreboards
	Occupancy sim.Occupancy
	Waves     float64 // of blocks, one after the other; 1 where the grid is unknown
	Insts     float64 // instructions that one warp runs
	Classes   [sass.Classes]float64
	// sectors of 32 bytes that one warp's accesses touch, taken to be coalesced and to come from
	// memory
	Sectors  float64
	InFlight float64 // loads of one warp that are on their way at once, at most
	Spills   float64 // loads and stores of local memory that one warp runs
	Lines    float64 // cycles that one warp's accesses keep L1 and shared memory busy
	Hottest  Loop
	Causes   []Cause // of Cycles, the largest first

	perInst float64 // cycles of the SM that an instruction of this mix takes at least
}

// A Cause is a part of the predicted time.
type Cause struct {
	Name  string
	Share float64
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
	if r.Shape.Blocks > 0 && r.Device.SMs > 0 {
		e.Waves = math.Ceil(float64(r.Shape.Blocks) / float64(r.Device.SMs*e.Occupancy.Blocks))
	}
	cost := r.costs(flow)
	for b := range flow.Blocks {
		e.Latency += weights[b] * (cost[b].issue + cost[b].wait)
		e.Waits += weights[b] * cost[b].wait
		for k := flow.Blocks[b].Start; k < flow.Blocks[b].End; k++ {
			i := &f.Insts[k]
			e.Insts += weights[b]
			e.Classes[i.Class()] += weights[b]
			if s := i.Space(); s == sass.Global || s == sass.Generic || s == sass.Shared || s == sass.Local {
				e.Lines += weights[b] * max(1, float64(i.Bytes)*32/lineBytes)
			}
			switch i.Space() {
			case sass.Global, sass.Generic, sass.TextureSpace:
				// 32 lanes of so many bytes are so many sectors
				e.Sectors += weights[b] * float64(max(1, i.Bytes))
			case sass.Local:
				e.Spills += weights[b]
				e.Sectors += weights[b] * float64(max(1, i.Bytes)) * r.missing / nearer
			}
		}
		e.InFlight = max(e.InFlight, cost[b].flight)
	}
	e.Hottest = r.hottest(flow, weights, cost, e.Latency)
	r.sum(&e)
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

// loopFactor is how often a loop is taken to run.
const loopFactor = 10

// mostDepth bounds the powers of loopFactor: deeper nests are hostile files.
const mostDepth = 6

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

// costs walks each block. What is on its way at a block's end goes on into the blocks behind it,
// over back edges too: blocks are walked until nothing changes, or four times.
func (r *Run) costs(flow *sass.Flow) []cost {
	f := r.Function
	out := make([]cost, len(flow.Blocks))
	in := make([]pending, len(flow.Blocks))
	for round := 0; round < 4; round++ {
		changed := false
		for b := range flow.Blocks {
			p, now, wait, flight := in[b], 0.0, 0.0, 0
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
				if w := i.Write; w < len(p) {
					p[w] = max(p[w], now+r.latency(i))
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

// sum adds up the parts of the time.
func (r *Run) sum(e *Estimate) {
	u := &r.Units
	// the slowest pipe for this mix, or the schedulers; a warp's instruction takes 32 lanes of its class
	perInst := 1 / u.Schedulers
	for c := range e.Classes {
		if e.Insts > 0 {
			perInst = max(perInst, e.Classes[c]*32/u.rate(sass.Class(c))/e.Insts)
		}
	}
	e.perInst = perInst
	sectors := max(e.Sectors, 1e-3)
	all := float64(r.Shape.WarpsPerBlock()) * float64(e.Occupancy.Blocks) // warps of the busiest SM
	if r.Shape.Blocks > 0 && r.Device.SMs > 0 {
		all = float64(r.Shape.WarpsPerBlock()) * math.Ceil(float64(r.Shape.Blocks)/float64(r.Device.SMs))
	}
	// A wave takes at least as long as one warp, and all together as long as the busiest pipe, memory,
	// and L1 with what was spilled. These overlap, but never well: their sum predicts which of two
	// builds is faster better than their maximum does, which is the same for all builds of a kernel
	// that is bound by memory.
	e.Cycles = e.Latency*e.Waves + all*(e.Insts*perInst+sectors/u.Sectors+e.Spills*spillCycles)
	for _, part := range []Cause{{"latency", e.Latency * e.Waves}, {"instruction issue", all * e.Insts * perInst},
		{"memory bandwidth", all * sectors / u.Sectors}, {"local memory", all * e.Spills * spillCycles}} {
		e.Causes = append(e.Causes, Cause{part.Name, part.Share / e.Cycles})
	}
	slices.SortStableFunc(e.Causes, func(a, b Cause) int { return cmp.Compare(b.Share, a.Share) })
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
