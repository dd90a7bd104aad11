package predicted

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"reflect"
	"slices"
	"strings"

	"gnvcc/cache"
	"gnvcc/policy"
	"gnvcc/policy/lever"
	"gnvcc/profile"
	"gnvcc/rewrite"
	"gnvcc/rewrite/demote"
	"gnvcc/rewrite/recipe"
	"gnvcc/sim"
	"gnvcc/sim/predict"
	"gnvcc/sim/sass"
)

// assumedThreads is the block size that is assumed where none is known: what most programs use.
const assumedThreads = 256

// mostCaps bounds the register caps that are compiled for one kernel.
const mostCaps = 12

// A Kernel is what is predicted of one.
type Kernel struct {
	Kernel  *policy.Kernel
	Assumed []string // what of the launch is a guess
	Region  sim.Region
	Levels  []sim.Level // one a critical point, most registers first
	Limits  []Limit
	Default predict.Estimate
	Balance *Balance         // nil: the X-model doesn't settle
	Ranked  []predict.Ranked // recipes for registers, what is predicted to be fastest first
	// Same says of each recipe of Ranked why it can't be taken without being run, nil where its
	// floating-point instructions are nvcc's own.
	Same   map[string]error
	Failed map[string]error // recipes that could not be compiled or decoded
}

// Best is the recipe that is predicted to gain most, exact by construction, with nvcc's own
// floating-point instructions, and by more than models are usually wrong; ok is false where the
// default should stay. A second entry for a block that is only assumed is none.
func (k *Kernel) Best() (r predict.Ranked, ok bool) {
	for _, r := range k.Ranked {
		x, err := recipe.Parse(r.Recipe)
		if k.Same[r.Recipe] == nil && err == nil && rewrite.ExactnessOf(x) == rewrite.ByConstruction &&
			(len(k.Assumed) == 0 || !x.HasSecond()) {
			return predict.Pick([]predict.Ranked{r})
		}
	}
	return predict.Ranked{}, false
}

// A compiler makes candidates, as policy.Compiler does.
type compiler interface {
	Compile(ctx context.Context, k *policy.Kernel, r recipe.Recipe) (*policy.Candidate, error)
}

// Look predicts one kernel. decided is an earlier decision about it, from which the launch is
// taken; nil: one is assumed, and Assumed says so. threads is the block's size where the user names
// one, 0 where not.
func Look(ctx context.Context, c compiler, k *policy.Kernel, decided *cache.Decision,
	threads int) (*Kernel, error) {
	device, rates, err := Rates(k.CC)
	if err != nil {
		return nil, fmt.Errorf("predict %s: %w", k.Short, err)
	}
	shape, assumed := shapeOf(k, decided, threads)
	l := look{ctx: ctx, c: c, shape: shape, device: device, rates: rates, out: &Kernel{Kernel: k,
		Assumed: assumed, Same: map[string]error{}, Failed: map[string]error{}}}
	own, plain, err := l.made(recipe.Recipe{})
	if err != nil {
		return nil, fmt.Errorf("predict %s: nvcc's own build: %w", k.Short, err)
	}
	base := own.Run
	l.plain = plain
	l.caps(base)
	for _, r := range toShared(k, shape, device) {
		l.add(r, func(run predict.Run) bool { // nothing was spilled, say
			return slices.ContainsFunc(l.candidates, func(c predict.Candidate) bool {
				return run.Shape == c.Run.Shape && reflect.DeepEqual(run.Function.Insts, c.Run.Function.Insts)
			})
		})
	}
	if ctx.Err() != nil {
		return nil, ctx.Err()
	}
	out := l.out
	if out.Default, err = base.Estimate(); err != nil {
		return nil, err
	}
	out.Balance = newBalance(base, &out.Default)
	out.Region = sim.Region{Min: base.Registers, Max: base.Registers}
	for _, run := range l.capped {
		out.Region.Min, out.Region.Max = min(out.Region.Min, run.Registers), max(out.Region.Max, run.Registers)
	}
	out.Levels = device.Levels(base.Shape, out.Region.Min, out.Region.Max)
	out.Limits = limits(base)
	out.Ranked, err = predict.Rank(own, l.candidates)
	out.Ranked = slices.DeleteFunc(out.Ranked, func(r predict.Ranked) bool {
		if r.More && r.Err == nil && strings.HasPrefix(r.Recipe, "demote=") && !strings.HasPrefix(r.Recipe, "demote="+demote.Spill) {
			out.Failed[r.Recipe] = errors.New("it accesses local memory more often than nvcc's own")
			return true
		}
		return false
	})
	return out, err
}

// Rates are the limits and speeds of an architecture.
func Rates(cc int) (sim.Device, predict.Units, error) {
	device, ok := sim.Lookup(cc)
	if !ok {
		return device, predict.Units{}, fmt.Errorf("sm_%d is not in the table of architectures", cc)
	}
	rates, err := predict.ForArchitecture(cc)
	return device, rates, err
}

// A look is one kernel that is looked at.
type look struct {
	ctx        context.Context
	c          compiler
	shape      policy.Shape
	device     sim.Device
	rates      predict.Units
	out        *Kernel
	plain      []byte // nvcc's own build
	candidates []predict.Candidate
	capped     []predict.Run // of them those that are register caps
}

// made builds one candidate, with as many words demoted as it takes.
func (l *look) made(r recipe.Recipe) (out predict.Candidate, code []byte, err error) {
	k := l.out.Kernel
	r, cand, err := lever.Enough(k, r, func(r recipe.Recipe) (*policy.Candidate, error) {
		return l.c.Compile(l.ctx, k, r)
	})
	if err != nil {
		return out, nil, err
	}
	if r.IsDefault() { // a build has no word of it, unless ptxas -v was asked for
		k.Default.Spill = cand.Build.Spill
	}
	if code, err = os.ReadFile(cand.Path); err != nil {
		return out, nil, fmt.Errorf("read the candidate: %w", err)
	}
	launch := l.shape.Sim(cache.Build{Shared: cand.Manner.Reserve.Dynamic})
	out.Recipe = r.String()
	out.Run, err = predict.NewRun(code, cmp.Or(cand.Entry, k.Name), l.device, launch, l.rates)
	return out, code, err
}

// add makes a recipe a candidate, where its code is not known yet.
func (l *look) add(r recipe.Recipe, known func(predict.Run) bool) (run predict.Run, isNew bool) {
	if l.ctx.Err() != nil {
		return run, false
	}
	made, code, err := l.made(r)
	if err != nil {
		l.out.Failed[r.String()] = err
		return run, false
	}
	if run = made.Run; known(run) {
		return run, false
	}
	l.candidates = append(l.candidates, made)
	l.out.Same[made.Recipe] = sass.SameEntries(l.plain, l.out.Kernel.Name, code, run.Function.Name)
	return run, true
}

// caps adds register caps at the critical points.
func (l *look) caps(base predict.Run) {
	seen := map[int]bool{base.Registers: true}
	try := func(limit int) (registers int) {
		run, isNew := l.add(lever.Cap(limit), func(run predict.Run) bool {
			return seen[run.Registers]
		})
		if isNew {
			seen[run.Registers] = true
			l.capped = append(l.capped, run)
		}
		return run.Registers
	}
	low, high := try(sim.Floor), try(255)
	if low == 0 || high == 0 {
		return
	}
	region := l.device.Region(low, max(high, base.Registers))
	points := l.device.CriticalPoints(base.Shape, region.Min, region.Max)
	for _, point := range points[:min(len(points), mostCaps)] {
		try(point)
	}
}

// A Limit is how many blocks one resource of an SM allows.
type Limit struct {
	Resource string // sim.LimitRegisters and the others
	Blocks   int
	Binds    bool // no resource allows fewer
}

// limits asks for each resource alone: the others are made plentiful.
func limits(r predict.Run) (out []Limit) {
	d, s := r.Device, r.Shape
	add := func(resource string, registers int, only func(free *sim.Device), ask sim.Shape) {
		free := d
		free.Blocks, free.Warps, free.Threads, free.Reserved = 1<<20, 1<<20, 1<<20, 0
		only(&free)
		ask.Threads = s.Threads
		out = append(out, Limit{Resource: resource, Blocks: free.Occupancy(registers, ask).Blocks})
	}
	add(sim.LimitRegisters, r.Registers, func(*sim.Device) {}, sim.Shape{})
	add(sim.LimitWarps, 0, func(x *sim.Device) { x.Warps, x.Threads = d.Warps, d.Threads }, sim.Shape{})
	add(sim.LimitBlocks, 0, func(x *sim.Device) { x.Blocks = d.Blocks }, sim.Shape{})
	if s.Shared > 0 {
		add(sim.LimitShared, 0, func(x *sim.Device) { x.Reserved = d.Reserved }, sim.Shape{Shared: s.Shared})
	}
	if s.Barriers > 0 && d.Barriers > 0 {
		add(sim.LimitBarriers, 0, func(*sim.Device) {}, sim.Shape{Barriers: s.Barriers})
	}
	if s.Blocks > 0 && d.SMs > 0 {
		out = append(out, Limit{Resource: sim.LimitGrid, Blocks: (s.Blocks + d.SMs - 1) / d.SMs})
	}
	least := slices.MinFunc(out, func(a, b Limit) int { return cmp.Compare(a.Blocks, b.Blocks) }).Blocks
	for n := range out {
		out[n].Binds = out[n].Blocks == least
	}
	return out
}

// toShared are the recipes that keep values in shared memory in launches of a shape.
func toShared(k *policy.Kernel, shape policy.Shape, device sim.Device) []recipe.Recipe {
	o := policy.Defaults()
	launch := profile.Launch{Shape: profile.Shape{Grid: shape.Grid, Block: shape.Block, Dynamic: shape.Dynamic}}
	return lever.ToShared(&lever.Situation{Kernel: k, Shape: shape, Device: device, Known: true,
		Values: policy.Values(k, &launch), Options: &o, Largest: max(k.MaxThreads, shape.Threads())})
}

// shapeOf is the launch that takes most time, or what is assumed of it.
func shapeOf(k *policy.Kernel, decided *cache.Decision, threads int) (policy.Shape, []string) {
	if decided != nil && threads == 0 {
		if most, ok := decided.Evidence.Heaviest(); ok {
			return policy.Shape{Grid: most.Grid, Block: most.Block, Dynamic: most.Dynamic}, nil
		}
	}
	var assumed []string
	if threads == 0 {
		threads = min(assumedThreads, cmp.Or(k.MaxThreads, assumedThreads))
		assumed = append(assumed, fmt.Sprintf("blocks of %d threads", threads))
	}
	assumed = append(assumed, "many blocks")
	if k.Dynamic {
		assumed = append(assumed, "no dynamic shared memory")
	}
	return policy.Shape{Block: [3]int{threads, 1, 1}}, assumed
}
