package search

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	"gnvcc/cache"
	"gnvcc/policy"
	"gnvcc/policy/decide"
	"gnvcc/policy/lever"
	"gnvcc/policy/report"
	"gnvcc/rewrite"
	"gnvcc/rewrite/lowered"
	"gnvcc/rewrite/recipe"
	"gnvcc/sim"
)

// What a search decides on kernels of known properties: a table.

// get is the value of a term of a recipe ("maxnreg", "hint@ld"), "" if it has none.
func get(r recipe.Recipe, term string) string {
	lever, site, _ := strings.Cut(term, "@")
	v, _ := r.Get(lever, site)
	return v
}

// has tells whether a recipe has a term: "hint@ld=cs", any of "maxnreg=", a second entry with "#1=1024".
func has(r recipe.Recipe, term string) bool {
	return slices.ContainsFunc(strings.Fields(r.String()), func(word string) bool {
		return word == term || strings.HasSuffix(term, "=") && strings.HasPrefix(word, term) ||
			strings.HasPrefix(word, "spec{") && strings.ContainsAny(term, "#.") && strings.Contains(word, term)
	})
}

// takes is the part of its time that a kernel takes with some terms, all of them multiplied; "": with
// any recipe.
func takes(parts map[string]float64) func(recipe.Recipe, policy.Shape) float64 {
	terms := slices.Sorted(maps.Keys(parts))
	return func(r recipe.Recipe, _ policy.Shape) float64 {
		f := 1.0
		for _, term := range terms {
			if term == "" || has(r, term) {
				f *= parts[term]
			}
		}
		return f
	}
}

// fails is what goes wrong with a term, from a launch on.
func fails(term, what string, from int) func(recipe.Recipe, int) string {
	return func(r recipe.Recipe, launch int) string {
		if launch >= from && has(r, term) {
			return what
		}
		return ""
	}
}

// on are launches of a kernel: a grid and a block in one dimension.
func on(times, grid, block int) []appLaunch {
	return appLaunch{kernel: "_Z1aPfi", shape: shape(grid, block), n: 1024}.times(times)
}

// unseen are launches that nobody could replay.
func unseen(times, grid, block int) []appLaunch {
	list := on(times, grid, block)
	for i := range list {
		list[i].alone = "it is captured"
	}
	return list
}

// inTurn repeats launches.
func inTurn(times int, list ...appLaunch) (out []appLaunch) {
	for range times {
		out = append(out, list...)
	}
	return out
}

func one(kernel string, s policy.Shape) app {
	return app{launches: appLaunch{kernel: kernel, shape: s, n: 1024}.times(40)}
}

func mustParse(t *testing.T, text string) recipe.Recipe {
	t.Helper()
	r, err := recipe.Parse(text)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// registersOf has what caps ask for at the most, within bounds.
func registersOf(own, most int) func(recipe.Recipe) int {
	return func(r recipe.Recipe) int {
		n := own
		if v := get(r, "maxnreg"); v != "" {
			fmt.Sscan(v, &n)
		}
		return min(n, most)
	}
}

// A searched is a kernel, its launches, and what is decided.
type searched struct {
	k       *simKernel
	levers  string // these alone; "": all
	set     func(o *policy.Options)
	on      []appLaunch       // nil: 40 of 1000 blocks of 256 threads
	want    string            // the recipe; with * at its end: how it begins
	exact   string            // of the decision, "": not asked
	refused map[string]string // of recipes that were tried, what their refusals say, parts between |
	never   string            // no recipe with that text was tried
	says    string            // the decision's note
	explain []string          // what gnvcc explain says of it
	check   func(t *testing.T, g *simGPU, r decide.Result)
}

func (c searched) run(t *testing.T) {
	g := newSim(t, c.k)
	o := simOptions()
	if c.levers != "" {
		o.Levers = strings.Fields(c.levers)
	}
	if c.set != nil {
		c.set(&o)
	}
	if c.on == nil {
		c.on = on(40, 1000, 256)
	}
	results, _ := g.run(o, app{launches: c.on})
	d := results[0].Decision
	if d == nil {
		t.Fatalf("nothing is decided: %+v", results[0])
	}
	begins, any := strings.CutSuffix(c.want, "*")
	if d.Recipe != c.want && !(any && strings.HasPrefix(d.Recipe, begins)) ||
		c.exact != "" && d.Exactness != c.exact || !strings.Contains(d.Evidence.Note, c.says) {
		t.Errorf("decided %q, %s, want %q; note %q", d.Recipe, d.Exactness, c.want, d.Evidence.Note)
		for _, tr := range d.Evidence.Tried {
			t.Logf("%-50s %.3f %s", tr.Recipe, tr.Ratio, tr.Refused)
		}
	}
	left := maps.Clone(c.refused)
	for _, tr := range d.Evidence.Tried {
		for _, want := range strings.Split(left[tr.Recipe], "|") {
			if !strings.Contains(tr.Refused, want) {
				t.Errorf("%s was refused: %q, want %q", tr.Recipe, tr.Refused, want)
			}
		}
		delete(left, tr.Recipe)
		if c.never != "" && strings.Contains(tr.Recipe, c.never) {
			t.Errorf("tried %s", tr.Recipe)
		}
	}
	if len(left) > 0 {
		t.Errorf("not tried: %v", left)
	}
	if len(c.explain) > 0 {
		var text strings.Builder
		report.Explain(&text, report.NewEntry(*d))
		for _, want := range c.explain {
			if !strings.Contains(text.String(), want) {
				t.Errorf("explain does not say %q:\n%s", want, text.String())
			}
		}
	}
	if c.check != nil {
		c.check(t, g, results[0])
	}
}

// sourced is a kernel with loops and a scalar n.
func sourced(parts map[string]float64) *simKernel {
	return &simKernel{Kernel: sources(policy.Kernel{Loads: 8}), speed: takes(parts)}
}

// loading is a kernel with loads from global memory.
func loading(parts map[string]float64) *simKernel {
	return &simKernel{Kernel: policy.Kernel{Loads: 8}, speed: takes(parts)}
}

// with changes a kernel.
func (k *simKernel) with(change func(k *simKernel)) *simKernel { change(k); return k }

// byRegisters is a kernel that is the faster the more registers it has.
func byRegisters() *simKernel {
	k := &simKernel{regs: registersOf(40, 1000)}
	k.speed = func(r recipe.Recipe, _ policy.Shape) float64 { return 1 - float64(k.regs(r))/400 }
	return k
}

// entry256 is a second entry for blocks of 256 threads, on the host's word alone.
const entry256 = "spec{host(block)=256x1x1,host(dynamic)=0}"

func TestSearch(t *testing.T) {
	large := func(s policy.Shape) bool { return s.Grid[0] > 100 }
	exactly := func(o *policy.Options) { o.Exact = rewrite.ByConstruction }
	few := func(full, verify int) func(o *policy.Options) {
		return func(o *policy.Options) { o.Full, o.Verify = full, verify }
	}
	first := func(list []appLaunch, n int32) appLaunch { list[0].n = n; return list[0] }
	cappedBeside := func() *simKernel { // caps are others on the source variants' code
		k := sourced(map[string]float64{"unroll=2": 0.9, "#1=1024": 0.7})
		plain := k.speed
		k.speed = func(r recipe.Recipe, s policy.Shape) float64 {
			switch {
			case lever.Has(r, "spec") && has(r, "maxnreg=48"):
				return 0.85 * plain(r, s)
			case has(r, "maxnreg="):
				return 1.05 * plain(r, s)
			}
			return plain(r, s)
		}
		k.regs = func(r recipe.Recipe) int {
			if lever.Has(r, "spec") {
				return registersOf(64, 64)(r)
			}
			return registersOf(40, 40)(r)
		}
		return k
	}
	var manyGrids []appLaunch
	for i := 1; i <= 10; i++ {
		manyGrids = append(manyGrids, on(3, 100*i, 256)...)
	}
	for name, c := range map[string]searched{
		"a cap and a hint": {k: loading(map[string]float64{"": 1.02, "maxnreg=": 1.1, "maxnreg=48": 0.8 / 1.1,
			"hint@ld=cs": 0.9}),
			want: "hint@ld=cs maxnreg=48", exact: "construction",
			check: func(t *testing.T, g *simGPU, r decide.Result) {
				e := r.Decision.Evidence
				if l := e.Launches[0]; e.Chosen.Registers != 48 || e.Default.Registers != 40 || l.Count != 40 ||
					l.Checked < 1 ||
					l.After.Median > 0.76*l.Before.Median || l.Before.Low >= l.Before.High {
					t.Errorf("%+v", e)
				}
				if ms := g.clock / 1e6; ms > 450 {
					t.Errorf("%.0f ms of GPU time for one configuration of 100 us", ms)
				}
			}},
		"nothing better": {k: sourced(nil).with(func(k *simKernel) { k.Stores = 2 }),
			check: func(t *testing.T, _ *simGPU, r decide.Result) {
				if n := len(r.Decision.Evidence.Tried); n < 20 {
					t.Errorf("%d recipes were tried", n)
				}
			}},
		"factor and values, then a cap on their code": {k: cappedBeside(),
			want: "maxnreg=48 spec{#1=1024} unroll=2", exact: "checked",
			check: func(t *testing.T, _ *simGPU, r decide.Result) {
				if l := r.Decision.Evidence.Launches[0]; l.Checked < 4 || l.Values["n"] != "1024" {
					t.Errorf("checked on %d launches, want 4 later ones too; values %v", l.Checked, l.Values)
				}
			}},
		"caps and hints alone": {k: cappedBeside(), set: exactly,
			check: func(t *testing.T, _ *simGPU, r decide.Result) {
				for _, tr := range r.Decision.Evidence.Tried {
					if rewrite.ExactnessOf(mustParse(t, tr.Recipe)) != rewrite.ByConstruction {
						t.Errorf("tried %q", tr.Recipe)
					}
				}
			}},
		"other bits": {k: sourced(map[string]float64{"unroll=4": 0.5, "unroll=2": 0.8}).with(func(k *simKernel) {
			k.trouble = fails("unroll=4", "bits", 0)
		}), want: "unroll=2", refused: map[string]string{"unroll=4": "different bits|allocation 1"},
			check: func(t *testing.T, g *simGPU, _ decide.Result) {
				if g.measured["unroll=4"] != 0 {
					t.Errorf("a candidate with other bits was measured")
				}
			}},
		"other bits at a later launch": {k: sourced(map[string]float64{"unroll=4": 0.5,
			"unroll=2": 0.8}).with(func(k *simKernel) {
			k.trouble = fails("unroll=4", "bits", 3)
		}), want: "unroll=2", refused: map[string]string{"unroll=4": "at launch 4"}},
		// A count with which blocks of 1024 threads can't be launched is never adopted, save in a second
		// entry for smaller blocks.
		"the largest block, with a second entry": {k: byRegisters(), on: on(40, 66, 128),
			want: "maxnreg=255 spec{blockDim.x=128,blockDim.y=1,blockDim.z=1}"},
		"the largest block": {k: byRegisters().with(func(k *simKernel) { k.NoSpec = "its source is not known" }),
			on: on(40, 66, 128), want: "maxnreg=64"},
		"the largest block, by __launch_bounds__(128)": {
			k:  byRegisters().with(func(k *simKernel) { k.MaxThreads = 128 }),
			on: on(40, 66, 128), want: "maxnreg=255"},
		"the user's limit": {k: byRegisters().with(func(k *simKernel) {
			k.NoSpec, k.Bounds = "its source is not known", "-maxrregcount=40"
		}), set: func(o *policy.Options) { o.Keep = true }, on: on(40, 66, 128)},
		"candidates with the same code": {k: loading(map[string]float64{"": 0.9}).with(func(k *simKernel) {
			k.regs = func(recipe.Recipe) int { return 40 }
			k.code = func(r recipe.Recipe) string {
				if has(r, "maxnreg=") {
					return "capped"
				}
				return "default"
			}
		}), levers: "maxnreg hint", want: "maxnreg=*", check: func(t *testing.T, g *simGPU, _ decide.Result) {
			caps := 0
			for r, n := range g.measured {
				if strings.Contains(r, "hint@ld=") && n > 0 {
					t.Errorf("%s, whose code is the default's, was measured", r)
				}
				if strings.HasPrefix(r, "maxnreg") && n > 0 {
					caps++
				}
			}
			if caps != 1 {
				t.Errorf("%d caps of one and the same code were measured", caps)
			}
		}},
		// Found though there are too many loads to try each, then the second array beside the first.
		"loads of two arrays that stream": {k: loading(nil).with(func(k *simKernel) {
			k.Loads = 9
			lever.Streams.Put(&k.Kernel, []int{0, 1, 0, 1, 2, 2, -1, 3, 3})
			k.speed = func(r recipe.Recipe, _ policy.Shape) float64 {
				at := func(i int) bool { return has(r, fmt.Sprintf("hint@ld%d=L1::no_allocate", i)) }
				time := 1.0
				if at(1) && at(3) {
					time *= 0.9
				}
				if at(7) && at(8) {
					time *= 0.95
				}
				if at(0) || at(4) || has(r, "hint@ld=") {
					time *= 1.3
				}
				return time
			}
		}), want: "hint@ld1=L1::no_allocate hint@ld3=L1::no_allocate hint@ld7=L1::no_allocate " +
			"hint@ld8=L1::no_allocate"},
		"one recipe for all shapes": {k: loading(nil).with(func(k *simKernel) {
			k.speed = func(r recipe.Recipe, s policy.Shape) float64 {
				if large(s) {
					return takes(map[string]float64{"hint@ld=cs": 0.6, "hint@ld=L2::256B": 0.85})(r, s)
				}
				return takes(map[string]float64{"hint@ld=cs": 1.05, "hint@ld=L2::256B": 0.85})(r, s)
			}
		}), levers: "hint", on: inTurn(20, append(on(1, 1000, 256), on(1, 50, 256)...)...), want: "hint@ld=L2::256B",
			refused: map[string]string{"hint@ld=cs": "slower on 50 x 256"},
			check: func(t *testing.T, _ *simGPU, r decide.Result) {
				if n := len(r.Decision.Evidence.Launches); n != 2 {
					t.Errorf("decided on %d configurations", n)
				}
			}},
		"an entry for each set of values": {k: sourced(map[string]float64{"#1=": 0.7}), want: "spec{#1=*",
			on: inTurn(30, first(on(1, 1000, 256), 1000), first(on(1, 500, 256), 500)),
			check: func(t *testing.T, _ *simGPU, r decide.Result) {
				d := r.Decision
				if d.Recipe != "spec{#1=1000} spec{#1=500}" && d.Recipe != "spec{#1=500} spec{#1=1000}" {
					t.Errorf("decided %q", d.Recipe)
				}
				for _, l := range d.Evidence.Launches {
					if l.After.Median > 0.75*l.Before.Median || l.Checked < 3 {
						t.Errorf("%+v", l)
					}
				}
			}},
		// Beyond the limits configurations are only verified, then left alone: what won is proposed for them, if it
		// leaves the arithmetic alone.
		"many configurations": {k: streaming(0.8), set: few(2, 3), on: manyGrids, want: "hint@ld=cs",
			check: func(t *testing.T, g *simGPU, r decide.Result) {
				if n := len(r.Decision.Evidence.Launches); n != 5 || len(r.Alone) != 5 {
					t.Errorf("decided on %d configurations, %d left alone", n, len(r.Alone))
				}
				if n := g.measured["hint@ld=L2::128B"]; n > 200 {
					t.Errorf("a loser was measured %d times: beyond the limit only winners should be", n)
				}
			}},
		"the factor of one loop": {k: sourced(map[string]float64{"unroll=": 1.5, "unroll@2=": 1.5,
			"unroll@1=16": 0.5, "unroll@1=8": 0.6,
			"unroll@1=4": 0.7}), want: "unroll@1=16"},
		"no factor of any loop": {k: sourced(nil), check: func(t *testing.T, _ *simGPU, r decide.Result) {
			single, pairs := 0, 0
			for _, tr := range r.Decision.Evidence.Tried {
				switch strings.Count(tr.Recipe, "unroll@") {
				case 1:
					single++
				case 2:
					pairs++
				}
			}
			if single != 10 || pairs != 1 {
				t.Errorf("%d factors for single loops were tried, and %d for two together", single, pairs)
			}
		}},
		// A recipe that takes more registers could leave a block out for which the others wait for ever.
		"blocks that don't wait": {k: awaiting(""), want: "maxnreg=64"},
		"blocks that may wait": {k: awaiting("ld.volatile.global.u32"), want: "hint@ld=cs",
			refused: map[string]string{"maxnreg=64": "wait for each other"}},
		"levers for another file's functions": {k: loading(map[string]float64{"unroll=": 0.3,
			"hint@ld=": 0.5}).with(func(k *simKernel) {
			k.Stores, k.External, k.Loops = 2, "of another file", []lowered.Loop{{Site: "1", Kind: "for"}}
		}), want: "hint@ld=*", check: func(t *testing.T, _ *simGPU, r decide.Result) {
			if why := r.Decision.Evidence.Untried["unroll"]; why != "of another file" {
				t.Errorf("unroll: %q", why)
			}
			for _, tr := range r.Decision.Evidence.Tried {
				if !rewrite.Neutral(mustParse(t, tr.Recipe)) {
					t.Errorf("%s was tried", tr.Recipe)
				}
			}
		}},
		"a banned lever": {
			k:     loading(map[string]float64{"hint@ld=": 0.5}).with(func(k *simKernel) { k.Banned = []string{"hint"} }),
			never: "hint@ld=",
			check: func(t *testing.T, _ *simGPU, r decide.Result) {
				if why := r.Decision.Evidence.Untried["hint"]; !strings.Contains(why, "banned") {
					t.Errorf("hint: %q", why)
				}
			}},
		// Launches whose grid the winner does not divide take the kernel itself.
		"coarsen": {k: coarse(), levers: "coarsen", set: few(1, 16),
			on:   append(on(40, 20000, 256), on(40, 20001, 256)...),
			want: "coarsen=4x1x1 " + entry256, exact: "checked",
			explain: []string{"each block does the work of 4 neighbouring blocks in x",
				"shape       each block does the work of 4: 5000 blocks, not 20000"}},
		"coarsen on a grid that is no multiple": {k: coarse(), levers: "coarsen", on: on(40, 20001, 256),
			want: "coarsen=4x1x1 spec{host(block)=256x1x1,host(dynamic)=0,host(grid)=20001x1x1}"},
		"coarsen, and others that it does not divide": {k: coarse(), levers: "coarsen",
			on:   append(on(40, 20000, 256), unseen(40, 30001, 256)...),
			want: "coarsen=4x1x1 " + entry256},
		"coarsen, and others that it divides": {k: coarse(), levers: "coarsen",
			on: append(on(40, 20000, 256), unseen(40, 30000, 256)...)},
		"coarsen with too few blocks": {k: coarse(), on: on(40, 2000, 256), want: "*", never: "coarsen="},
		"coarsen with shared memory": {k: coarse().with(func(k *simKernel) {
			lever.Coarsenable.Put(&k.Kernel, lever.Coarsens{Why: "it uses shared memory"})
		}),
			on: on(40, 20000, 256), want: "*", never: "coarsen="},
		"coarsen without a second entry": {k: coarse().with(func(k *simKernel) { k.NoSecond = "x" }),
			on: on(40, 20000, 256), want: "*", never: "coarsen="},
		// Demotion that gains more than a cap alone, for blocks of that size only.
		"demote": {k: (&simKernel{Kernel: policy.Kernel{Loads: 2, Default: cache.Build{Registers: 78}},
			regs: registersOf(78, 78)}).with(func(k *simKernel) {
			k.speed = func(r recipe.Recipe, _ policy.Shape) float64 {
				switch {
				case has(r, "demote=31:static"):
					return 0.7
				case has(r, "demote="):
					return 0.8
				case has(r, "maxnreg=48"):
					return 0.9
				}
				return 1
			}
		}), levers: "demote maxnreg", on: on(40, 8192, 128), want: "demote=31:static *", exact: "checked",
			explain: []string{"31 words of each thread kept in shared memory"},
			check: func(t *testing.T, _ *simGPU, r decide.Result) {
				if !strings.Contains(r.Decision.Recipe, "spec{host(block)=128x1x1,") {
					t.Errorf("%s is for other blocks, too", r.Decision.Recipe)
				}
			}},
		// That the default spills is known from its own compile alone.
		"spills": {k: &simKernel{speed: takes(map[string]float64{"demote=spill": 0.7}), spills: 64},
			want: "demote=spill " + entry256, check: func(t *testing.T, _ *simGPU, r decide.Result) {
				if n := r.Decision.Evidence.Default.Spill; n != 64 {
					t.Errorf("the default spills %d bytes", n)
				}
			}},
		// A demotion that leaves something to spill is tried with more words, and only so.
		"demoted until nothing is spilled": {k: &simKernel{
			speed: takes(map[string]float64{"demote=16:loops": 0.7, "demote=9:": 0.5}),
			left: func(r recipe.Recipe) int {
				if strings.HasPrefix(get(r, "demote"), "9:") {
					return 28
				}
				return 0
			}}, levers: "demote", on: on(40, 4096, 256), want: "demote=16:loops maxnreg=32 " + entry256,
			set: func(o *policy.Options) { o.Full, o.Verify = 1, 16 }},
		"shape": {k: uneven(), levers: "shape throttle", on: append(on(40, 4000, 256), on(1, 333, 100)...),
			want: "shape=128x1x1 " + entry256,
			set:  func(o *policy.Options) { o.Exact, o.Full = rewrite.ByConstruction, 1 }, exact: "construction",
			never:   "shape=256x1x1",
			explain: []string{"meaning     blocks of 128 threads", "shape       blocks of 128: 8000 blocks, not 4000"}},
		"shape where it is seen": {k: uneven().with(func(k *simKernel) {
			lever.Shapeable.Put(&k.Kernel, lever.Sight{Why: "it may see its launch shape"})
		}),
			on: on(40, 4000, 256), want: "*", never: "shape="},
		"shape without a second entry": {k: uneven().with(func(k *simKernel) { k.NoSecond = "-rdc=true" }),
			on: on(40, 4000, 256), want: "*", never: "shape="},
		"shape without such a block": {k: uneven().with(func(k *simKernel) { k.MaxThreads = 31 }),
			on: on(40, 4000, 25), want: "*", never: "shape="},
		// Not spec: the copy belongs to throttle. Other launches take the kernel itself.
		"throttle": {k: thrashing(), levers: "throttle hint", on: append(on(40, 4000, 256), appLaunch{kernel: "_Z1aPfi",
			shape: with(shape(4000, 256), 2048), n: 1024}),
			set:  func(o *policy.Options) { o.Exact, o.Full = rewrite.ByConstruction, 1 },
			want: entry256 + " throttle=3", exact: "construction",
			check: func(t *testing.T, _ *simGPU, r decide.Result) {
				e := report.NewEntry(*r.Decision)
				if !strings.Contains(e.Words, "at most 3 blocks") || strings.Contains(e.Words, "host(") {
					t.Errorf("in words: %s", e.Words)
				}
				levels := 0
				for _, tr := range r.Decision.Evidence.Tried {
					if strings.Contains(tr.Recipe, "throttle=") && tr.Ratio > 0 {
						levels++
					}
				}
				if levels < 5 { // 40 registers: 6 blocks of 256
					t.Errorf("%d levels measured", levels)
				}
				if e.Occupancy[1] >= e.Occupancy[0] || e.Occupancy[1] != 0.375 {
					t.Errorf("occupancy %v, want 3 blocks of 8 warps in the second", e.Occupancy)
				}
			}},
		"throttle without loads": {k: thrashing().with(func(k *simKernel) { k.Loads = 0 }), on: on(40, 4000, 256),
			want: "*", never: "throttle"},
		"throttle where blocks may wait": {
			k:  thrashing().with(func(k *simKernel) { lever.NoThrottle.Put(&k.Kernel, "its blocks may wait") }),
			on: on(40, 4000, 256), want: "*", never: "throttle"},
		"throttle without a second entry": {k: thrashing().with(func(k *simKernel) { k.NoSecond = "-rdc=true" }),
			on: on(40, 4000, 256), want: "*", never: "throttle"},
		"throttle that gains nothing": {k: thrashing().with(func(k *simKernel) { k.speed = takes(nil) }),
			on: on(40, 4000, 256)},
		// Levers that act on the resident warps are put together so that as many warps are, and are not
		// tried as if they were independent. 24 warps are best, and blocks of 128: 6 of them, where it were
		// 3 of 256.
		"warps of a shape, throttled": {k: crowded(map[int]float64{48: 1, 40: 1, 32: 0.95, 24: 0.7, 12: 1.5},
			map[int]float64{256: 1, 128: 0.8}),
			levers: "shape throttle", on: on(40, 4096, 256), set: few(1, 16),
			want:  "shape=128x1x1 " + entry256 + " throttle=6",
			never: "shape=128x1x1 " + entry256 + " throttle=3"},
		// 64 warps are best, and blocks of 1024: they need 32 registers, where 48 warps came with 40.
		"warps of a shape, capped": {k: crowded(map[int]float64{48: 0.8, 40: 1, 32: 1.05, 64: 0.75},
			map[int]float64{256: 1, 1024: 0.8}).with(
			func(k *simKernel) {
				k.Default.Registers = 48 // 5 blocks of 256, 40 warps; one of 1024
				even := k.speed
				k.speed = func(r recipe.Recipe, s policy.Shape) float64 {
					if rewrite.Uses(r, "maxnreg") && k.registers(r) <= 32 {
						return 1.1 * even(r, s) // it spills
					}
					return even(r, s)
				}
			}), levers: "shape maxnreg", on: on(40, 4096, 256), set: few(1, 16),
			want:  "maxnreg=32 shape=1024x1x1 " + entry256,
			never: "maxnreg=40 shape=1024x1x1 " + entry256},
		// A cap for more warps than throttling allows.
		"warps throttled, capped": {k: crowded(map[int]float64{48: 1, 24: 0.7, 64: 0.9}, map[int]float64{256: 1}),
			levers: "throttle maxnreg",
			on:     on(40, 4096, 256), set: few(1, 16), want: entry256 + " throttle=3",
			never: "maxnreg=32 " + entry256 + " throttle=3"},
		// Beside throttling, bypassing keeps the number of warps that share the cache: 2 of each of 6 blocks
		// are 4 of each of 3.
		"warps throttled, bypassing": {k: crowded(map[int]float64{48: 1, 24: 0.7},
			map[int]float64{256: 1}).with(func(k *simKernel) {
			plain := k.speed
			k.speed = func(r recipe.Recipe, s policy.Shape) float64 {
				var n int
				if _, err := fmt.Sscan(get(r, "bypass"), &n); err != nil {
					return plain(r, s)
				}
				blocks := 6
				if most := rewrite.Throttle(r); most > 0 {
					blocks = min(blocks, most)
				}
				if n*blocks == 12 {
					return 0.8 * plain(r, s)
				}
				return 1.2 * plain(r, s)
			}
		}), levers: "throttle bypass", on: on(40, 4096, 256), set: few(1, 16),
			want:  "bypass=4 " + entry256 + " throttle=3",
			never: "bypass=2 " + entry256 + " throttle=3"},
		"approximation within a bound": {k: divisions(), set: within("1e-3"), want: "approx=all",
			exact: "approximate", says: "results differ by up to"},
		"approximation within a mean": {k: divisions(), set: within("mean:1e-5"), want: "approx=all",
			exact: "approximate", says: "results differ by up to"},
		"approximation beyond a bound": {k: divisions(), set: within("5.1e-5")},
		"approximation beyond a mean":  {k: divisions(), set: within("mean:2.6e-6")},
		"approximation of values of several types": {k: divisions().with(func(k *simKernel) { k.Writes = "" }),
			set: within("1e-1"), refused: map[string]string{"approx=all": "not all f32 or all f64"}},
		"functions and divisions": {k: functionsToo(), set: within("1e-3"),
			want: "approx=all.ftz fastmath=all.ftz"},
		"functions alone": {k: functionsToo(), set: within("6.1e-5"),
			want: "fastmath=all.ftz"},
		"no functions": {k: functionsToo(), set: within("1e-5")},
	} {
		t.Run(name, c.run)
	}
}

// awaiting is a kernel whose blocks may wait for each other by an instruction, faster with more
// registers.
func awaiting(awaits string) *simKernel {
	k := loading(nil)
	k.Awaits = awaits
	k.speed = func(r recipe.Recipe, _ policy.Shape) float64 {
		switch {
		case has(r, "maxnreg=64") && !has(r, "hint@ld="):
			return 0.5
		case has(r, "hint@ld=cs"):
			return 0.8
		}
		return 1
	}
	k.regs = func(r recipe.Recipe) int {
		if has(r, "maxnreg=64") {
			return 64
		}
		return 40
	}
	return k
}

// coarse is a kernel that is fastest where a block does the work of four neighbours in x.
func coarse() *simKernel {
	return &simKernel{Kernel: *lever.Coarsenable.Put(&policy.Kernel{Loads: 3}, lever.Coarsens{Axes: [3]bool{true, true, false}}),
		speed: takes(map[string]float64{"coarsen=": 1.2, "coarsen=4x1x1": 0.7 / 1.2, "coarsen=2x1x1": 0.8 / 1.2})}
}

// launchCode is the code of a recipe of which some levers only change how it is launched.
func launchCode(r recipe.Recipe) string {
	return "code of " + r.Without("shape").Without("throttle").Without("spec").String()
}

// uneven is a kernel that is fastest in blocks of 128; its shaped entries have the default's code.
func uneven() *simKernel {
	return &simKernel{Kernel: *lever.Shapeable.Put(&policy.Kernel{Loads: 3}, lever.Sight{Shapeable: true}), code: launchCode,
		speed: takes(map[string]float64{"shape=": 1.1, "shape=64x1x1": 0.85 / 1.1, "shape=128x1x1": 0.8 / 1.1,
			"throttle=": 1.3})}
}

// thrashing is a kernel that is fastest with 3 blocks on a multiprocessor, whose throttled entries
// have the default's code.
func thrashing() *simKernel {
	return &simKernel{Kernel: policy.Kernel{Loads: 3}, code: launchCode,
		speed: func(r recipe.Recipe, s policy.Shape) float64 {
			if n := rewrite.Throttle(r); n > 0 {
				return []float64{0, 1.5, 0.9, 0.7, 0.8, 0.9, 0.95, 1}[min(n, 7)]
			}
			return 1
		}}
}

// crowded is a kernel of 40 registers whose time depends on how many warps are resident, and on
// the size of its blocks by itself: what is best of the one is best at any of the other only where
// warps are counted.
func crowded(warps map[int]float64, blocks map[int]float64) *simKernel {
	d, _ := sim.Lookup(90)
	at := func(table map[int]float64, n int) float64 {
		if f, ok := table[n]; ok {
			return f
		}
		return 1.2
	}
	k := &simKernel{Kernel: *lever.Shapeable.Put(&policy.Kernel{Loads: 3}, lever.Sight{Shapeable: true}), code: launchCode}
	k.speed = func(r recipe.Recipe, s policy.Shape) float64 {
		threads := s.Threads()
		if b := rewrite.Shape(r); b != [3]int{} {
			threads = b[0] * b[1] * b[2]
		}
		resident := d.Occupancy(k.registers(r), sim.Shape{Threads: threads}).Blocks
		if n := rewrite.Throttle(r); n > 0 {
			resident = min(resident, n)
		}
		return at(warps, resident*threads/32) * at(blocks, threads)
	}
	return k
}

// divisions is a kernel whose approximate divisions are twice as fast, and 1e-4 off; other forms than
// "all" change nothing.
func divisions() *simKernel {
	return &simKernel{
		Kernel: *lever.SFU.Put(&policy.Kernel{Loads: 4, Writes: "f32"}, map[string]int{"div": 3}),
		speed:  takes(map[string]float64{"approx=all": 0.5}),
		off: func(r recipe.Recipe) float64 {
			if has(r, "approx=all") {
				return 1e-4
			}
			return 0
		},
	}
}

// functionsToo has functions of the source as well, which are tried as a whole, one by one, and
// beside divisions.
func functionsToo() *simKernel {
	k := divisions()
	k.Math = map[string]int{"sin": 1, "exp": 2}
	k.speed = func(r recipe.Recipe, _ policy.Shape) float64 {
		f := 1.0
		if has(r, "approx=all.ftz") {
			f -= 0.1
		}
		if has(r, "fastmath=all.ftz") {
			f -= 0.3
		}
		return f
	}
	k.off = func(r recipe.Recipe) float64 { return 2 * (1 - k.speed(r, policy.Shape{})) * 1e-4 }
	return k
}

// within allows approximation within a bound.
func within(bound string) func(*policy.Options) {
	return func(o *policy.Options) {
		o.Exact = rewrite.Approximate
		if err := o.Within.Set(bound); err != nil {
			panic(err)
		}
	}
}
