package lever

import (
	"slices"
	"strings"
	"testing"

	"gnvcc/cache"
	"gnvcc/policy"
	"gnvcc/rewrite"
	"gnvcc/sim"
)

// grid is a launch of a kernel that sees nothing of its blocks.
func reshapable(t *testing.T, grid, block [3]int) *Situation {
	d, _ := sim.Lookup(90)
	text := policy.Shape{Grid: grid, Block: block}
	host := "host(block)=" + strings.TrimPrefix(shapeTerm(block).String(), "shape=") +
		",host(dynamic)=0"
	return &Situation{Kernel: Shapeable.Put(&policy.Kernel{Name: "k", MaxThreads: 1024}, Sight{Shapeable: true}),
		Shape: text, Device: d, Known: true, Largest: 1024,
		Options: &policy.Options{}, Values: valuesOf(t, policy.HostValue, host),
		Trial: func(string) *policy.Trial {
			return nil
		}}
}

func tried(s *Situation) []string {
	var out []string
	for _, r := range levers()["shape"].Try(s) {
		value, _ := r.Get("shape", "")
		out = append(out, value)
	}
	return out
}

// TestShapesTried: blocks that divide the threads in each dimension, that may be launched, and none
// that the program has itself.
func TestShapesTried(t *testing.T) {
	for _, c := range []struct {
		grid, block [3]int
		has, not    string
	}{
		{[3]int{1000, 1, 1}, [3]int{256, 1, 1}, "128x1x1 64x1x1 32x1x1 512x1x1 640x1x1 320x1x1",
			"256x1x1 384x1x1 768x1x1 96x1x1"},
		{[3]int{64, 64, 1}, [3]int{16, 16, 1}, "32x8x1 64x4x1 128x2x1 256x1x1 16x8x1 64x8x1 32x16x1",
			"16x16x1 8x8x1"},
		{[3]int{3, 5, 1}, [3]int{16, 16, 1}, "16x8x1", "32x8x1 64x4x1 16x32x1"}, // 48 and 80 threads
		// not so many blocks in y (a half of 64x4's would do)
		{[3]int{8, 65535, 1}, [3]int{32, 8, 1}, "64x4x1 16x16x1", "256x1x1 128x2x1"},
		{[3]int{8, 8, 8}, [3]int{8, 8, 8}, "64x1x8 32x2x8 32x16x1 16x4x8", "8x8x8"},
		{[3]int{7, 1, 1}, [3]int{33, 1, 1}, "", "32x1x1"},
		// 400 threads each way
		{[3]int{100, 50, 50}, [3]int{4, 8, 8}, "16x16x1 40x5x1 80x2x1 200x1x1 40x10x1 16x2x8",
			"32x8x1 4x8x8"},
	} {
		s := reshapable(t, c.grid, c.block)
		if c.grid[1] == 65535 {
			c.has, c.not = "16x16x1", "64x4x1 256x1x1 128x2x1"
			s.Shape.Grid[1] = 65534
		}
		got := tried(s)
		for _, want := range strings.Fields(c.has) {
			if !slices.Contains(got, want) {
				t.Errorf("%v x %v: %v, want %s", c.grid, c.block, got, want)
			}
		}
		for _, not := range strings.Fields(c.not) {
			if slices.Contains(got, not) {
				t.Errorf("%v x %v: %s is tried", c.grid, c.block, not)
			}
		}
		for _, r := range levers()["shape"].Try(s) {
			if err := rewrite.Check(r); err != nil {
				t.Error(err)
			}
		}
	}
	s := reshapable(t, [3]int{1000, 1, 1}, [3]int{256, 1, 1})
	s.Largest, s.Kernel.MaxThreads = 512, 300
	if got := tried(s); slices.ContainsFunc(got, func(v string) bool {
		return v == "320x1x1" || v == "512x1x1"
	}) {
		t.Errorf("blocks that can't be launched: %v", got)
	}
	for _, change := range []func(*policy.Kernel){func(k *policy.Kernel) {
		Shapeable.Put(k, Sight{})
	}, func(k *policy.Kernel) { k.NoSecond = "x" }} {
		s := reshapable(t, [3]int{1000, 1, 1}, [3]int{256, 1, 1})
		change(s.Kernel)
		if got := tried(s); len(got) > 0 || levers()["shape"].Why(s) == "" {
			t.Errorf("%+v: %v", s.Kernel, got)
		}
	}
}

// TestShapeAround: neighbours of a winner, and blocks on a copy for values, which then knows
// nothing of its block.
func TestShapeAround(t *testing.T) {
	s := reshapable(t, [3]int{64, 64, 1}, [3]int{16, 16, 1})
	texts := func(best string) string {
		var out []string
		for _, r := range levers()["shape"].Around(s, policy.Trial{Recipe: recipeOf(t, best), Ratio: 0.8}) {
			if err := rewrite.Check(r); err != nil {
				t.Error(err)
			}
			out = append(out, r.String())
		}
		return strings.Join(out, "; ")
	}
	host := "host(block)=16x16x1,host(dynamic)=0"
	if got, want := texts("hint@ld=cs spec{"+host+"} shape=64x4x1"), "hint@ld=cs shape=32x4x1 spec{"+host+
		"}; hint@ld=cs shape=128x4x1 spec{"+host+"}; "+
		"hint@ld=cs shape=64x2x1 spec{"+host+"}; hint@ld=cs shape=64x8x1 spec{"+host+"}"; got != want {
		t.Errorf("around 64x4: %s", got)
	}
	// as many warps stay resident, and as many of them share the cache
	if got, want := texts("bypass=2 spec{"+host+"} shape=32x4x1 throttle=4"), "bypass=1 shape=16x4x1 spec{"+host+
		"} throttle=8; bypass=4 shape=64x4x1 spec{"+host+"} throttle=2; "+
		"bypass=1 shape=32x2x1 spec{"+host+"} throttle=8; bypass=4 shape=32x8x1 spec{"+host+
		"} throttle=2"; got != want {
		t.Errorf("around 32x4 with others: %s", got)
	}
	s.Trial = func(text string) *policy.Trial {
		if text == "shape=64x4x1 spec{"+host+"}" || text == "shape=32x4x1 spec{"+host+"}" {
			return &policy.Trial{Ratio: 0.9}
		}
		return nil
	}
	if got, want := texts("bypass=4 spec{#1=8,blockDim.x=16,blockDim.y=16,blockDim.z=1}"),
		"bypass=4 shape=64x4x1 spec{#1=8,"+host+"}; bypass=2 shape=32x4x1 spec{#1=8,"+host+"}"; got != want {
		t.Errorf("on a copy with a threshold: %s", got)
	}
	s.Trial = func(text string) *policy.Trial {
		if text == "shape=64x4x1 spec{"+host+"}" {
			return &policy.Trial{Ratio: 0.9}
		}
		return nil
	}
	if got, want := texts("spec{#1=8,blockDim.x=16,blockDim.y=16,blockDim.z=1} unroll=2"),
		"shape=64x4x1 spec{#1=8,"+host+"} unroll=2"; got != want {
		t.Errorf("on a copy for values: %s", got)
	}
	for _, best := range []string{"maxnreg=40", "spec{blockDim.x=16}", "spec{#1=8}"} {
		if got := texts(best); got != "" {
			t.Errorf("around %s: %s", best, got)
		}
	}
}

// TestCombineKeepsWarps: what acts on the number of resident warps is counted anew beside another
// that does. The kernel has 40 registers: 6 blocks of 256 threads are resident.
func TestCombineKeepsWarps(t *testing.T) {
	spec := "spec{host(block)=256x1x1,host(dynamic)=0}"
	s := reshapable(t, [3]int{4096, 1, 1}, [3]int{256, 1, 1})
	s.Kernel.Default.Registers = 40
	unknown, full := *s, *s
	unknown.Known = false
	full.Kernel = &policy.Kernel{Name: "k", Default: cache.Build{Registers: 32}} // 8 blocks: all
	for _, c := range []struct {
		s          *Situation
		a, b, want string
	}{
		{s, spec + " throttle=3", spec + " shape=128x1x1", spec + " shape=128x1x1 throttle=6"},
		{s, spec + " shape=512x1x1", spec + " throttle=3", spec + " shape=512x1x1 throttle=2"},
		{s, spec + " shape=1024x1x1", spec + " throttle=1", ""}, // a quarter of a block
		{s, spec + " shape=32x1x1", spec + " throttle=4", ""},   // 32 blocks: all that there are
		{s, "bypass=2", spec + " shape=128x1x1", "bypass=1 " + spec + " shape=128x1x1"},
		{s, "bypass=3", spec + " shape=32x1x1", ""},
		{s, "maxnreg=64", spec + " shape=128x1x1", "maxnreg=64 " + spec + " shape=128x1x1"},
		{s, spec + " throttle=3", "maxnreg=64", "maxnreg=64 " + spec + " throttle=3"},
		{s, "spec{#1=8,blockDim.x=256}", spec + " shape=128x1x1", ""}, // compiled for its block
		{s, "spec{#1=8}", spec + " shape=128x1x1",
			"spec{#1=8,host(block)=256x1x1,host(dynamic)=0} shape=128x1x1"},
		// 48 warps in 6 blocks of 256 under 40 registers; one block of 1024 has 32, two need 32
		// registers
		{s, "maxnreg=40", spec + " shape=1024x1x1", "maxnreg=32 " + spec + " shape=1024x1x1"},
		{s, spec + " shape=1024x1x1", "maxnreg=40", "maxnreg=32 " + spec + " shape=1024x1x1"},
		{s, "maxnreg=128", spec + " shape=1024x1x1", "maxnreg=64 " + spec + " shape=1024x1x1"},
		// more registers leave room for 2 blocks, not for the 5 that throttling would allow
		{s, spec + " throttle=5", "maxnreg=128", "maxnreg=128 " + spec + " throttle=2"},
		// fewer make room for blocks that throttling keeps away
		{s, spec + " throttle=5", "maxnreg=32", ""},
		{s, "maxnreg=32", spec + " throttle=5", ""},
		{s, "maxnreg=32", spec + " throttle=7", "maxnreg=32 " + spec + " throttle=7"},
		// a cap that makes no room is fast for another reason
		{&full, spec + " throttle=3", "maxnreg=26", "maxnreg=26 " + spec + " throttle=3"},
		// 2 warps of each of 6 blocks share the cache: 4 of 3 blocks, all of one
		{s, "bypass=2", spec + " throttle=3", "bypass=4 " + spec + " throttle=3"},
		{s, spec + " throttle=1", "bypass=2", ""},
		{s, "bypass=2", "maxnreg=128", "bypass=6 maxnreg=128"},
		{s, "bypass=2", "hint@ld=cs", "bypass=2 hint@ld=cs"},
		// both at once: 24 warps, and 12 that share the cache, in blocks of 4 warps
		{s, "bypass=4 " + spec + " throttle=3", spec + " shape=128x1x1",
			"bypass=2 " + spec + " shape=128x1x1 throttle=6"},
		// of a device that is not known only threads are counted
		{&unknown, spec + " throttle=3", spec + " shape=128x1x1", spec + " shape=128x1x1 throttle=6"},
		{&unknown, "bypass=2", spec + " shape=128x1x1", "bypass=1 " + spec + " shape=128x1x1"},
		{&unknown, "maxnreg=40", spec + " shape=1024x1x1", "maxnreg=40 " + spec + " shape=1024x1x1"},
		{&unknown, spec + " throttle=5", "maxnreg=32", "maxnreg=32 " + spec + " throttle=5"},
	} {
		got, ok := c.s.Combine(recipeOf(t, c.a), recipeOf(t, c.b))
		if ok != (c.want != "") || ok && got.String() != recipeOf(t, c.want).String() {
			t.Errorf("%s and %s: %s, %v, want %s", c.a, c.b, got, ok, c.want)
		}
	}
	// Around a throttled winner caps are for more registers, not for more blocks.
	for _, r := range capsAround(s, policy.Trial{Recipe: recipeOf(t, spec+" throttle=3"), Ratio: 0.7,
		Build: cache.Build{Registers: 40}}) {
		if n, _ := r.Get("maxnreg", ""); n < "40" && len(n) == 2 {
			t.Errorf("tried around throttle=3: %s", r)
		}
	}
	for text, want := range map[string]int{spec + " shape=1024x1x1": 1024, spec + " shape=64x2x1": 128,
		spec: 256, "maxnreg=40": 512,
		"spec{host(block)=256x1x1|shape=512x1x1} spec{host(block)=64x1x1|shape=128x1x1}": 512} {
		if got := Needed(recipeOf(t, text), 512); got != want {
			t.Errorf("%s needs blocks of %d, want %d", text, got, want)
		}
	}
}
