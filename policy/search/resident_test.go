package search

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"gnvcc/policy"
	"gnvcc/rewrite"
	"gnvcc/rewrite/recipe"
	"gnvcc/sim"
)

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
	k := &simKernel{Kernel: policy.Kernel{Loads: 3, Shapeable: true}}
	k.code = func(r recipe.Recipe) string {
		return "code of " + r.Without("shape").Without("throttle").Without("spec").String()
	}
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

// decided tunes the kernel with some levers, on 4096 blocks of 256 threads.
func (g *simGPU) decided(levers ...string) (chosen string, tried []string) {
	g.t.Helper()
	o := simOptions()
	o.Levers, o.Full = levers, 1
	results, _ := g.run(o, one("_Z1aPfi", shape(4096, 256)))
	d := results[0].Decision
	if d == nil {
		g.t.Fatal("nothing was decided")
	}
	for _, t := range d.Evidence.Tried {
		tried = append(tried, t.Recipe)
	}
	return d.Recipe, tried
}

const crowdedFor = "spec{host(block)=256x1x1,host(dynamic)=0}"

// TestResidentWarps: levers that act on the resident warps are put together so that as many warps
// are, and are not tried as if they were independent.
func TestResidentWarps(t *testing.T) {
	for _, c := range []struct {
		name        string
		k           *simKernel
		levers      []string
		want, never string // chosen; never tried
	}{
		{ // 24 warps are best, and blocks of 128: 6 of them, where it were 3 of 256
			"shape and throttling", crowded(map[int]float64{48: 1, 40: 1, 32: 0.95, 24: 0.7, 12: 1.5},
				map[int]float64{256: 1, 128: 0.8}), []string{"shape", "throttle"},
			"shape=128x1x1 " + crowdedFor + " throttle=6", "shape=128x1x1 " + crowdedFor + " throttle=3"},
		{ // 64 warps are best, and blocks of 1024: they need 32 registers, where 48 warps came with 40
			"shape and caps", crowded(map[int]float64{48: 0.8, 40: 1, 32: 1.05, 64: 0.75},
				map[int]float64{256: 1, 1024: 0.8}), []string{"shape", "maxnreg"},
			"maxnreg=32 shape=1024x1x1 " + crowdedFor, "maxnreg=40 shape=1024x1x1 " + crowdedFor},
		{ // a cap for more warps than throttling allows
			"throttling and caps", crowded(map[int]float64{48: 1, 24: 0.7, 64: 0.9},
				map[int]float64{256: 1}), []string{"throttle", "maxnreg"},
			crowdedFor + " throttle=3", "maxnreg=32 " + crowdedFor + " throttle=3"},
	} {
		if c.name == "shape and caps" { // 5 blocks of 256, 40 warps; one of 1024
			c.k.Default.Registers = 48
			even := c.k.speed
			c.k.speed = func(r recipe.Recipe, s policy.Shape) float64 {
				if rewrite.Uses(r, "maxnreg") && c.k.registers(r) <= 32 {
					return 1.1 * even(r, s) // it spills
				}
				return even(r, s)
			}
		}
		g := newSim(t, c.k)
		chosen, tried := g.decided(c.levers...)
		if chosen != c.want {
			t.Errorf("%s: chosen %s, want %s", c.name, chosen, c.want)
		}
		if slices.Contains(tried, c.never) {
			t.Errorf("%s: tried %s, as if they were independent:\n%s", c.name, c.never,
				strings.Join(tried, "\n"))
		}
	}
}

// TestThresholdFollowsWarps: beside throttling, bypassing keeps the number of warps that share the
// cache: 2 of each of 6 blocks are 4 of each of 3.
func TestThresholdFollowsWarps(t *testing.T) {
	k := crowded(map[int]float64{48: 1, 24: 0.7}, map[int]float64{256: 1})
	plain := k.speed
	k.speed = func(r recipe.Recipe, s policy.Shape) float64 {
		f := plain(r, s)
		var n int
		value, ok := r.Get("bypass", "")
		if _, err := fmt.Sscan(value, &n); !ok || err != nil {
			return f
		}
		blocks := 6
		if most := rewrite.Throttle(r); most > 0 {
			blocks = min(blocks, most)
		}
		if n*blocks == 12 {
			return 0.8 * f
		}
		return 1.2 * f
	}
	chosen, tried := newSim(t, k).decided("throttle", "bypass")
	if want := "bypass=4 " + crowdedFor + " throttle=3"; chosen != want {
		t.Errorf("chosen %s, want %s", chosen, want)
	}
	if not := "bypass=2 " + crowdedFor + " throttle=3"; slices.Contains(tried, not) {
		t.Errorf("tried %s", not)
	}
}
