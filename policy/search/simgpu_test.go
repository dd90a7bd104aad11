package search

import (
	"cmp"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"math"
	"math/rand"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"gnvcc/cache"
	"gnvcc/policy"
	"gnvcc/policy/decide"
	"gnvcc/policy/lever"
	"gnvcc/policy/stats"
	"gnvcc/profile"
	"gnvcc/profile/profiletest"
	"gnvcc/rewrite"
	"gnvcc/rewrite/counters"
	"gnvcc/rewrite/lowered"
	"gnvcc/rewrite/manner"
	"gnvcc/rewrite/ptx"
	"gnvcc/rewrite/recipe"
)

// A SIMULATED GPU, compiler, store and application: kernels are formulas, times are formulas with
// noise. Nothing here says anything about real kernels; it says what the search does with kernels
// of known properties.

// A simKernel is a kernel with known answers.
type simKernel struct {
	policy.Kernel
	// speed is time over the default's, for a recipe at a shape; plain is asked for the plain copy.
	speed func(r recipe.Recipe, s policy.Shape) float64
	other func(r recipe.Recipe) float64 // in the other state of the L2 cache; nil: as in this one
	later func(r recipe.Recipe) float64 // at launches beyond the first; nil: as at that one
	time  float64                       // of the default, ns
	noise float64                       // relative
	regs  func(r recipe.Recipe) int
	code  func(r recipe.Recipe) string // nil: every recipe has its own
	// trouble is what goes wrong with a recipe at the n-th launch of the run: "bits", "fault", "hang",
	// "compile", "load".
	trouble func(r recipe.Recipe, launch int) string
	random  bool // nondeterministic
	// what the default leaves under a schedule, the n-th run of a session after the first: other bits?
	chance  func(o profile.Schedule, launch, n int) bool
	hangs   bool                          // if throttled
	off     func(r recipe.Recipe) float64 // relative error of its results; the mean is a tenth
	spills  int                           // bytes, as its compile says, unless that is mended
	left    func(r recipe.Recipe) int     // the same of each recipe; nil: spills
	compile time.Duration
	slow    func(r recipe.Recipe) bool // compiles for an hour
	// blocks are how often each of its blocks runs, all of them with floating-point arithmetic; nil:
	// it has one, and that runs
	blocks []uint64
	data   bool // and memory decides which of them do
}

// A simGPU is a machine with these kernels; it is the Compiler, the Sink and the Memory.
type simGPU struct {
	t        *testing.T
	kernels  map[string]*simKernel // by name
	rng      *rand.Rand
	clock    float64       // ns of simulated GPU time
	spends   bool          // it counts as time
	takes    bool          // a measured launch takes its time
	saves    float64       // ns that copying memory aside takes
	between  time.Duration // from one launch to the next
	stood    time.Duration // that the program stood still
	ago      time.Duration // that the first run began
	plan     *Plan         // of what is replayed; nil: the options'
	inside   bool          // of a bubble
	unlike   float64       // how far replays are from the program
	part     float64       // of the time that a replayed launch stands for
	capture  string        // that is replayed
	rises    float64       // ns of work, below which the clocks are low: all takes a sixth more
	either   bool          // and which state of the L2 cache is its own isn't known
	repeats  bool          // the program launches kernels in a row
	unsteady string        // how results of a replayed launch differ from run to run

	mu        sync.Mutex
	compiled  map[string]int // by kernel and recipe
	measured  map[string]int // launches measured, by recipe
	decisions map[string]cache.Decision
	memos     map[string][]byte
	faults    int
	counting  func() error // says why a build with counters can't be had; nil: all can
	reads     int          // of variables
}

func newSim(t *testing.T, kernels ...*simKernel) *simGPU {
	g := &simGPU{t: t, kernels: map[string]*simKernel{}, rng: rand.New(rand.NewSource(1)),
		compiled: map[string]int{}, measured: map[string]int{}, decisions: map[string]cache.Decision{},
		memos: map[string][]byte{}}
	for i, k := range kernels {
		if k.Name == "" {
			k.Name = fmt.Sprintf("_Z1%cPfi", 'a'+i)
			k.Short = string(rune('a' + i))
		}
		if k.Identity == "" {
			k.Identity = "id-" + k.Name
		}
		k.Target, k.CC, k.Ptxas = "sm_90", 90, "13.0.88"
		if k.Default.Registers == 0 {
			k.Default.Registers = 40
		}
		if k.time == 0 {
			k.time = 100e3
		}
		if k.noise == 0 {
			k.noise = 0.01
		}
		if k.MaxThreads == 0 {
			k.MaxThreads = 1024
		}
		g.kernels[k.Name] = k
	}
	return g
}

func (g *simGPU) Kernel(module, name string) (*policy.Kernel, error) {
	if module != "module" {
		return nil, errors.New("its module was not built by gnvcc")
	}
	k := g.kernels[name].Kernel
	return &k, nil
}

func (k *simKernel) registers(r recipe.Recipe) int {
	if k.regs != nil {
		return k.regs(r)
	}
	if v, ok := r.Get("maxnreg", ""); ok {
		var n int
		fmt.Sscan(v, &n)
		return min(n, 64)
	}
	return k.Default.Registers
}

func (g *simGPU) Compile(ctx context.Context, kk *policy.Kernel, r recipe.Recipe) (*policy.Candidate, error) {
	k := g.kernels[kk.Name]
	g.mu.Lock()
	g.compiled[k.Name+" "+r.String()]++
	g.mu.Unlock()
	if k.compile > 0 {
		d := k.compile
		if rewrite.At(r, rewrite.Source).IsDefault() {
			d /= 10
		}
		if k.slow != nil && k.slow(r) {
			d = time.Hour
		}
		select {
		case <-time.After(d):
		case <-ctx.Done():
			return nil, ctx.Err()
		}
	}
	if k.what(r, 0) == "compile" {
		return nil, errors.New("ptxas fatal: simulated\nsecond line")
	}
	c := &policy.Candidate{Path: fmt.Sprintf("%s|%s", k.Name, r),
		Build: cache.Build{Registers: k.registers(r)}, MaxThreads: k.MaxThreads}
	if get(r, "demote") != "spill" {
		c.Build.Spill = k.spills
	}
	if k.left != nil {
		c.Build.Spill = k.left(r)
	}
	c.Code = c.Path
	if lever.Has(r, "spec") {
		c.Entry = k.Name + "__tuned"
	}
	if k.code != nil {
		c.Code = k.code(r)
	}
	c.Manner = mannerOf(r)
	return c, nil
}

func mannerOf(r recipe.Recipe) manner.Manner {
	m := rewrite.MannerOf(r)
	if n := rewrite.Throttle(r); n > 0 {
		m.Reserve = manner.Reserve{On: true, Dynamic: 1000 * n}
	}
	return m
}

// counters are those of a kernel with some blocks that compute, of which the first decides by an
// argument, or by data, whether the others run.
func (k *simKernel) counters() (c counters.Counters, ran []uint64) {
	if ran = slices.Clone(k.blocks); ran == nil {
		ran = []uint64{1}
	}
	text := ".version 8.0\n.target sm_90\n.address_size 64\n.visible .entry k(.param .u32 k_0)\n{\n.reg .b32 %r<2>; .reg .f32 %f<2>; .reg .pred %p<2>;\n"
	if k.data {
		text += "ld.global.u32 %r1, [8];\n"
	} else {
		text += "ld.param.u32 %r1, [k_0];\n"
	}
	for n := range ran {
		text += fmt.Sprintf("fma.rn.f32 %%f1, %%f1, %%f1, %%f1; setp.gt.s32 %%p1, %%r1, %d; @%%p1 bra $END;\n", n)
	}
	m, err := ptx.Parse([]byte(text + "$END: ret;\n}\n"))
	if err == nil {
		c, err = counters.Of(m, "k")
	}
	if err != nil {
		panic(err)
	}
	for n, blocks := 0, append(slices.Clone(ran), 1); len(ran) < len(c); n++ {
		if ran = append(ran, 1); n > 0 {
			ran = append(ran, blocks[n])
		}
	}
	return c, ran
}

func (g *simGPU) Counting(_ context.Context, k *policy.Kernel, r recipe.Recipe) (*policy.Candidate, counters.Counters, error) {
	if g.counting != nil {
		if err := g.counting(); err != nil {
			return nil, nil, err
		}
	}
	made, _ := g.kernels[k.Name].counters()
	c := &policy.Candidate{Path: strings.TrimSpace(k.Name + "|counting=on " + r.String()), Manner: mannerOf(r)}
	if lever.Has(r, "spec") {
		c.Entry = k.Name + "__tuned"
	}
	return c, made, nil
}

func (g *simGPU) Spent(string) (int, time.Duration) { return 0, 0 }

func (k *simKernel) what(r recipe.Recipe, launch int) string {
	if k.trouble == nil {
		return ""
	}
	return k.trouble(r, launch)
}

func (g *simGPU) Decide(d cache.Decision) error { g.decisions[d.Identity] = d; return nil }

func (g *simGPU) Recall(key string) ([]byte, bool) { b, ok := g.memos[key]; return b, ok }

func (g *simGPU) Remember(key string, b []byte) error { g.memos[key] = b; return nil }

func (g *simGPU) Past(k *policy.Kernel, device string) *cache.Decision {
	if d, ok := g.decisions[k.Identity]; ok {
		return &d
	}
	return nil
}

// A simSession replays one launch on the simulated GPU.
type simSession struct {
	profiletest.Session
	g      *simGPU
	k      *simKernel
	shape  policy.Shape
	launch int
	arms   []recipe.Recipe
	factor float64 // what the runs that are timed now take of the default's time
	again  int     // runs of the original that were compared
}

func (g *simGPU) session(k *simKernel, shape policy.Shape, launch int) *simSession {
	t := g.t
	s := &simSession{g: g, k: k, shape: shape, launch: launch}
	s.Wrote = profile.Written{Allocations: 1}
	s.Loads, s.Runs, s.Time, s.Leaves = s.load, s.run, s.time, s.leaves
	s.Reads = func(_ profile.Candidate, variable string, size int) ([]byte, error) {
		_, ran := k.counters()
		b := make([]byte, size)
		for i, n := range ran {
			binary.LittleEndian.PutUint64(b[8*i:], n)
		}
		if variable != counters.Table || size%len(ran) != 0 {
			t.Errorf("%d bytes of %s are read", size, variable)
		}
		g.reads++
		return b, nil
	}
	return s
}

func (s *simSession) load(path, entry string, m manner.Manner) (at profile.Attributes, _ error) {
	if strings.Contains(path, "spec{") != (entry != s.k.Name && entry != "") {
		s.g.t.Errorf("load %s of %q", entry, path)
	}
	for name, is := range map[string]bool{"throttle=": m.Reserve.On, "shape=": m.Block != [3]int{},
		"coarsen=": m.Coarse != [3]int{}} {
		if strings.Contains(path, name) != is {
			s.g.t.Errorf("%s is loaded with %+v", path, m)
		}
	}
	if _, _, ok := m.Launch(s.shape.Grid, s.shape.Block); !ok {
		s.g.t.Errorf("%s can't launch %s", path, s.shape)
	}
	name, text, _ := strings.Cut(path, "|")
	r, err := recipe.Parse(text)
	if err != nil || name != s.k.Name {
		s.g.t.Errorf("load %q for %s: %v", path, s.k.Name, err)
	}
	if s.k.what(r, s.launch) == "load" {
		return at, &profile.CandidateError{Doing: "load", Code: 218, Text: "simulated"}
	}
	s.arms = append(s.arms, r)
	return profile.Attributes{Registers: s.k.registers(r), MaxThreads: min(s.k.MaxThreads,
		65536/((s.k.registers(r)+7)/8*8)/128*128)}, nil
}

func (s *simSession) arm(c profile.Candidate) recipe.Recipe {
	if c == profile.Original {
		r, _ := recipe.Parse(s.k.Applied)
		return r
	}
	return s.arms[c-1]
}

func (s *simSession) run(c profile.Candidate, n int, o profile.Measurement) {
	if s.g.inside { // meanwhile, what takes no time to compile is compiled
		synctest.Wait()
	}
	r := s.arm(c)
	s.factor = 1.0
	if !r.IsDefault() && s.k.speed != nil {
		s.factor = s.k.speed(r, s.shape)
	}
	if s.k.later != nil && s.launch > 1 {
		s.factor = s.k.later(r)
	}
	if o.Other && s.k.other != nil {
		s.factor = s.k.other(r)
	}
	s.g.measured[r.String()] += n
	if s.g.takes {
		time.Sleep(time.Duration(float64(n) * s.k.time * s.factor))
	}
}

func (s *simSession) time(profile.Candidate, profile.Measurement) float64 {
	ns := s.k.time * s.factor * math.Exp(s.k.noise*math.Abs(s.g.rng.NormFloat64()))
	if s.g.clock < s.g.rises {
		ns *= 7. / 6
	}
	s.g.clock += ns
	return ns
}

func (s *simSession) leaves(c profile.Candidate, o profile.Schedule) (profile.Difference, error) {
	r := s.arm(c)
	s.g.clock += s.k.time
	trouble := s.k.what(r, s.launch)
	if c == profile.Original {
		trouble = ""
		if s.k.hangs && o.Dynamic > 0 {
			trouble = "hang"
		} else if s.again++; s.k.chance != nil && s.k.chance(o, s.launch, s.again) {
			trouble = "bits"
		}
	}
	switch {
	case trouble == "fault":
		s.g.faults++
		s.Lost = &profile.Fault{Candidate: c, Code: 700, Text: "an illegal memory access was encountered"}
		return profile.Difference{}, s.Lost
	case trouble == "hang":
		s.Lost = profile.ErrHung
		return profile.Difference{}, s.Lost
	case trouble == "bits", s.k.random:
		return profile.Difference{Words: 3, Where: "allocation 1", Size: 4096, Offset: 128, Want: 1,
			Got: 2, Relative32: 1e-6, Relative64: 1e-6}, nil
	}
	if s.k.off != nil {
		if e := s.k.off(r); e > 0 {
			return profile.Difference{Words: 9, Where: "allocation 1", Size: 4096, Relative32: e,
				Relative64: e / 1e6, Mean32: e / 10, Mean64: e / 1e7}, nil
		}
	}
	return profile.Difference{Same: true}, nil
}

// An app is a program: its launches in order.
type app struct {
	launches []appLaunch
	asks     bool // for the kernels' occupancy
}

type appLaunch struct {
	kernel string
	shape  policy.Shape
	n      int32 // its argument
	alone  string
	module string
	takes  float64 // seconds, as the program's profile has it; 0: it has none
}

// times repeats a launch.
func (l appLaunch) times(n int) []appLaunch {
	out := make([]appLaunch, n)
	for i := range out {
		out[i] = l
	}
	return out
}

var simDevice = &profile.Device{Name: "Simulated H200", Major: 9, Minor: 0, Multiprocessors: 132}

// run lets the tuner see an application, as profile would.
func (g *simGPU) run(o policy.Options, a app) (results []decide.Result, tuner *Run) {
	g.t.Helper()
	g.bubble(func(t *testing.T) { results, tuner = g.launches(t, o, a) })
	return results, tuner
}

// launched is a launch as the agent tells of it: a pointer, and a number of the given value.
func (g *simGPU) launched(process *profile.Process, kernel, module string, shape policy.Shape,
	value []byte) *profile.Launch {
	k := g.kernels[kernel]
	applied, _ := recipe.Parse(k.Applied)
	registers := k.registers(applied)
	return &profile.Launch{Process: process, Device: simDevice, Kernel: kernel, Cubin: module,
		Shape: profile.Shape{Grid: shape.Grid, Block: shape.Block, Dynamic: shape.Dynamic}, Set: shape.Set,
		Attributes: profile.Attributes{Registers: registers,
			MaxThreads: min(k.MaxThreads, 65536/((registers+7)/8*8)/128*128)},
		Params: []profile.Param{
			{Offset: 0, Size: 8, Value: []byte{0, 1, 0, 0, 1, 0, 0, 0},
				Same: []byte{1, 1, 1, 1, 1, 1, 1, 1}, Align: 8},
			{Offset: 8, Size: 4, Value: value, Same: []byte{1, 1, 1, 1}}}}
}

// bubble does something in a bubble of its own (testing/synctest): whatever waits there, a compile
// or a launch that takes its time, takes none of ours, and how busy this machine is changes
// nothing. What is done next is done later.
func (g *simGPU) bubble(do func(t *testing.T)) {
	g.t.Helper()
	synctest.Test(g.t, func(t *testing.T) {
		begun := time.Now()
		time.Sleep(g.ago)
		g.inside = true
		do(t)
		g.inside, g.ago = false, time.Since(begun)+time.Second
	})
}

// launches does all of an application's.
func (g *simGPU) launches(t *testing.T, o policy.Options, a app) ([]decide.Result, *Run) {
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	tuner := NewRun(ctx, o, g, g, g, nil)
	if g.spends {
		tuner.now = func() time.Time { return time.Now().Add(time.Duration(g.clock)) }
	}
	process := &profile.Process{PID: 1}
	type key struct {
		kernel string
		shape  policy.Shape
	}
	seen := map[key]*profile.Launch{}
	next, again := map[key]int{}, map[key]int{}
	plans := map[key]*Plan{}
	varied := map[key]int{}
	took := map[key]float64{}
	for n, l := range a.launches {
		id := key{l.kernel, l.shape}
		value := []byte{byte(l.n), byte(l.n >> 8), byte(l.n >> 16), byte(l.n >> 24)}
		first := seen[id] == nil
		p := seen[id]
		if first {
			p = g.launched(process, l.kernel, cmp.Or(l.module, "module"), l.shape, value)
			seen[id], plans[id] = p, &Plan{}
		}
		p.Count++
		took[id] += l.takes
		time.Sleep(g.between)
		same := true
		for i := range value {
			if p.Params[1].Value[i] != value[i] {
				p.Params[1].Same[i], same = 0, false
			}
		}
		if !same {
			varied[id]++
		}
		if !first && next[id] != p.Count {
			continue
		}
		again[id] = max(1, 2*again[id]) // captures are of launches farther and farther apart
		next[id] = p.Count + again[id]
		if l.alone != "" {
			tuner.LeaveAlone(p, l.alone)
			continue
		}
		if c := tuner.Config(Captured{p.Cubin, p.Kernel, l.shape, simDevice.Name}); c != nil &&
			c.Searched() && tuner.task(c, p, plans[id]) == nothing {
			continue // nobody would replay it
		}
		begun := tuner.now()
		g.clock += g.saves
		p.Saving = time.Duration(g.saves)
		s := g.session(g.kernels[l.kernel], l.shape, n)
		err := tuner.Search(ctx, p, s, plans[id])
		g.stood += tuner.now().Sub(begun)
		if err != nil {
			break
		}
	}
	var all []profile.Seen
	for id, p := range seen {
		p.Asked = a.asks
		all = append(all, profile.Seen{Launch: p, Varied: varied[id], Seconds: took[id]})
	}
	tuner.Saw(all)
	results, err := tuner.Finish()
	if err != nil {
		t.Error(err)
	}
	return results, tuner
}

// shape makes a one-dimensional shape.
func shape(grid, block int) policy.Shape {
	return policy.Shape{Grid: [3]int{grid, 1, 1}, Block: [3]int{block, 1, 1}}
}

func simOptions() policy.Options {
	o := policy.Defaults()
	o.Jobs = 4
	o.Budget = 10 * time.Second
	o.Rule = stats.Standard
	return o
}

// streaming is a kernel that hint@ld=cs brings to this part of its time, and nothing else changes.
func streaming(part float64) *simKernel {
	return &simKernel{Kernel: policy.Kernel{Loads: 8}, speed: func(r recipe.Recipe, s policy.Shape) float64 {
		if get(r, "hint@ld") == "cs" {
			return part
		}
		return 1
	}}
}

// sources gives a simulated kernel loops and a scalar n.
func sources(k policy.Kernel) policy.Kernel {
	k.Loops = []lowered.Loop{{Site: "2", Kind: "for", Line: 17, Inner: true}, {Site: "1", Kind: "for",
		Line: 12}}
	k.Values = []lowered.Value{{Name: "a", Argument: 0, Bits: 64, Class: lowered.Pointer},
		{Name: "n", Type: "int", Argument: 1, Bits: 32, Class: lowered.Integer}}
	k.Reads = []string{"blockDim.x"}
	return k
}
