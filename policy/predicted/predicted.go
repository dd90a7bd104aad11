package predicted

import (
	"cmp"
	"context"
	"fmt"
	"os"
	"reflect"
	"slices"

	"gnvcc/cache"
	"gnvcc/policy"
	"gnvcc/policy/lever"
	"gnvcc/profile"
	"gnvcc/rewrite"
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
	Picture predict.Picture
	Ranked  []predict.Ranked // recipes for registers, what is predicted to be fastest first
	// Same says of each recipe of Ranked why it can't be taken without being run, nil where its
	// floating-point instructions are nvcc's own.
	Same   map[string]error
	Failed map[string]error // recipes that could not be compiled or decoded
	// why what was counted of the launch is not used for a build, nil where it is or nothing was
	Uncounted error
}

// Best is the recipe that is predicted to gain most, exact by construction, with nvcc's own
// floating-point instructions, and by more than models are usually wrong; ok is false where the
// default should stay. A second entry for a block that is only assumed is none.
func (k *Kernel) Best() (r predict.Ranked, ok bool) {
	for _, r := range k.Ranked {
		x, err := recipe.Parse(r.Recipe)
		if k.Same[r.Recipe] == nil && err == nil && rewrite.ExactnessOf(x) == rewrite.ByConstruction &&
			(len(k.Picture.Assumed) == 0 || !x.HasSecond()) {
			return predict.Pick([]predict.Ranked{r})
		}
	}
	return predict.Ranked{}, false
}

// A compiler makes candidates, as policy.Compiler does.
type compiler interface {
	Compile(ctx context.Context, k *policy.Kernel, r recipe.Recipe) (*policy.Candidate, error)
	// Lines gives the build with the lines of the PTX in it, and the PTX.
	Lines(ctx context.Context, k *policy.Kernel, r recipe.Recipe) (code, text []byte, err error)
}

// Look predicts one kernel. decided is an earlier decision about it, from which launch shapes and
// measured times are taken; nil: a shape is assumed, and Picture.Assumed says so.
func Look(ctx context.Context, c compiler, k *policy.Kernel, decided *cache.Decision) (*Kernel, error) {
	device, rates, err := Rates(k.CC)
	if err != nil {
		return nil, fmt.Errorf("predict %s: %w", k.Short, err)
	}
	shape, counts, assumed := shapeOf(k, decided)
	l := look{ctx: ctx, c: c, shape: shape, counts: counts, device: device, rates: rates,
		out: &Kernel{Kernel: k, Same: map[string]error{}, Failed: map[string]error{}}}
	base, plain, err := l.made(recipe.Recipe{})
	if err != nil {
		return nil, fmt.Errorf("predict %s: nvcc's own build: %w", k.Short, err)
	}
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
	err = l.out.rank(base, l.capped, l.candidates, measured(decided), assumed)
	if err != nil {
		return nil, err
	}
	return l.out, nil
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
	counts     *cache.Counts
	device     sim.Device
	rates      predict.Units
	out        *Kernel
	plain      []byte // nvcc's own build
	candidates []predict.Candidate
	capped     []predict.Run // of them those that are register caps
}

// made builds one candidate.
func (l *look) made(r recipe.Recipe) (run predict.Run, code []byte, err error) {
	k := l.out.Kernel
	cand, err := l.c.Compile(l.ctx, k, r)
	if err != nil {
		return run, nil, err
	}
	if code, err = os.ReadFile(cand.Path); err != nil {
		return run, nil, fmt.Errorf("read the candidate: %w", err)
	}
	launch := l.shape.Sim(cache.Build{Shared: cand.Manner.Reserve.Dynamic})
	run, err = predict.NewRun(code, cmp.Or(cand.Entry, k.Name), l.device, launch, l.rates)
	if err == nil && l.counts != nil {
		lined, text, problem := l.c.Lines(l.ctx, k, r)
		if problem == nil {
			run.Recorded, problem = Recorded(lined, text, k.Name, l.counts, launch)
		}
		if problem != nil { // then guesses do
			l.out.Uncounted = problem
		}
	}
	return run, code, err
}

// add makes a recipe a candidate, where its code is not known yet.
func (l *look) add(r recipe.Recipe, known func(predict.Run) bool) (run predict.Run, isNew bool) {
	if l.ctx.Err() != nil {
		return run, false
	}
	run, code, err := l.made(r)
	if err != nil {
		l.out.Failed[r.String()] = err
		return run, false
	}
	if known(run) {
		return run, false
	}
	l.candidates = append(l.candidates, predict.Candidate{Recipe: r.String(), Run: run})
	l.out.Same[r.String()] = sass.SameEntries(l.plain, l.out.Kernel.Name, code, run.Function.Name)
	return run, true
}

// caps adds register caps at the critical points.
func (l *look) caps(base predict.Run) {
	seen := map[int]bool{base.Registers: true}
	try := func(limit int) (registers int) {
		run, isNew := l.add(lever.Term("maxnreg", fmt.Sprint(limit)), func(run predict.Run) bool {
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

// rank draws the picture and orders the candidates. By what was counted the model ranks worse than
// by its guesses, on which it was built (bench/results/2026-11-22-predict): counts are for the
// graphs.
func (k *Kernel) rank(base predict.Run, runs []predict.Run, candidates []predict.Candidate,
	times map[int]float64, assumed []string) (err error) {
	if k.Picture, err = predict.NewPicture(base, runs, times, assumed); err != nil {
		return err
	}
	base.Recorded = nil
	for i := range runs {
		runs[i].Recorded = nil
	}
	for i := range candidates {
		candidates[i].Run.Recorded = nil
	}
	guessed, err := predict.NewPicture(base, runs, times, assumed)
	if err != nil {
		return err
	}
	k.Picture.Times = guessed.Times
	k.Ranked, err = predict.Rank(predict.Candidate{Run: base}, candidates)
	return err
}

// toShared are the recipes that keep values in shared memory in launches of a shape.
func toShared(k *policy.Kernel, shape policy.Shape, device sim.Device) []recipe.Recipe {
	o := policy.Defaults()
	launch := profile.Launch{Shape: profile.Shape{Grid: shape.Grid, Block: shape.Block, Dynamic: shape.Dynamic}}
	return lever.ToShared(&lever.Situation{Kernel: k, Shape: shape, Device: device, Known: true,
		Values: policy.Values(k, &launch), Options: &o, Largest: max(k.MaxThreads, shape.Threads())})
}

// shapeOf is the launch that takes most time, or what is assumed of it.
func shapeOf(k *policy.Kernel, decided *cache.Decision) (policy.Shape, *cache.Counts, []string) {
	if decided != nil {
		if most, ok := decided.Evidence.Heaviest(); ok {
			return policy.Shape{Grid: most.Grid, Block: most.Block, Dynamic: most.Dynamic}, most.Counts, nil
		}
	}
	threads := assumedThreads
	if k.MaxThreads > 0 && k.MaxThreads < threads {
		threads = k.MaxThreads
	}
	assumed := []string{fmt.Sprintf("blocks of %d threads", threads), "many blocks"}
	if k.Dynamic {
		assumed = append(assumed, "no dynamic shared memory")
	}
	return policy.Shape{Block: [3]int{threads, 1, 1}}, nil, assumed
}

// measured collects times over the default's by register count, of caps alone.
func measured(decided *cache.Decision) map[int]float64 {
	out := map[int]float64{}
	if decided == nil {
		return out
	}
	for _, t := range decided.Evidence.Tried {
		r, err := recipe.Parse(t.Recipe)
		if err != nil || t.Ratio <= 0 || len(r.Terms) != 1 || r.Terms[0].Lever != "maxnreg" {
			continue
		}
		if was, ok := out[t.Build.Registers]; !ok || t.Ratio < was {
			out[t.Build.Registers] = t.Ratio
		}
	}
	return out
}
