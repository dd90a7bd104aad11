package lever

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"gnvcc/cache"
	"gnvcc/policy"
	"gnvcc/rewrite"
	"gnvcc/rewrite/recipe"
)

// coarsenable is a launch of a kernel whose blocks look at their numbers in x and y; with 32
// registers and blocks of 128 threads 16 of them are resident on each of 132 multiprocessors.
func coarsenable(t *testing.T, grid [3]int) *Situation {
	s := reshapable(t, grid, [3]int{128, 1, 1})
	Coarsenable.Put(s.Kernel, Coarsens{Axes: [3]bool{true, true, false}})
	s.Kernel.Default = cache.Build{Registers: 32}
	return s
}

func coarseTried(s *Situation) string {
	var out []string
	for _, r := range levers()["coarsen"].Try(s) {
		value, _ := r.Get("coarsen", "")
		if strings.Contains(r.String(), "host(grid)") {
			value += "+"
		}
		out = append(out, value)
	}
	return strings.Join(out, " ")
}

// TestCoarsenTried: values that divide the grid, or are for one grid alone (+), and leave so many
// blocks that the GPU is full.
func TestCoarsenTried(t *testing.T) {
	const wave = 132 * 16
	for _, c := range []struct {
		grid [3]int
		want string
	}{
		{[3]int{wave, 16, 1}, "1x4x1 4x1x1 1x2x1 2x1x1"},
		{[3]int{16 * wave, 1, 1}, "4x1x1 2x1x1"},
		{[3]int{16*wave - 4, 1, 1}, "2x1x1"},         // not four waves left
		{[3]int{16*wave + 2, 1, 1}, "4x1x1+ 2x1x1"},  // four don't divide them
		{[3]int{16*wave + 1, 1, 1}, "4x1x1+ 2x1x1+"}, // nor two
		{[3]int{16 * wave, 13, 1}, "4x1x1 2x1x1"},    // of 13 much would be left over
		{[3]int{8*wave - 2, 1, 1}, "2x1x1"},          // not four waves left, but more than 1.5
		{[3]int{3 * wave, 1, 1}, "2x1x1"},            // 1.5
		{[3]int{3*wave - 2, 1, 1}, ""},               // not 1.5 left
		{[3]int{1, 2, 16 * wave}, ""},                // all of y in one block
		{[3]int{1, 4, 16 * wave}, "1x2x1"},           // z is not looked at
		{[3]int{64 * wave, 1, 1}, "4x1x1 2x1x1"},
		{[3]int{51*wave + 4, 1, 1}, "4x1x1 2x1x1"}, // eight don't divide them
	} {
		s := coarsenable(t, c.grid)
		if got := coarseTried(s); got != c.want {
			t.Errorf("%v blocks: %q, want %q", c.grid, got, c.want)
		}
		s.ManyGrids = true
		if got := coarseTried(s); strings.Contains(got, "+") {
			t.Errorf("%v blocks, and other grids: %q", c.grid, got)
		}
		for _, r := range levers()["coarsen"].Try(s) {
			if err := rewrite.Check(r); err != nil {
				t.Error(err)
			}
			if !s.takesAs(r) {
				t.Errorf("%s: %v blocks are no such launch", r, c.grid)
			}
		}
		if c.want == "" && levers()["coarsen"].Why(s) == "" {
			t.Errorf("%v blocks: no reason is given", c.grid)
		}
	}
	for name, change := range map[string]func(*Situation){
		"no second entry":  func(s *Situation) { s.Kernel.NoSecond = "x" },
		"shared memory":    func(s *Situation) { Coarsenable.Put(s.Kernel, Coarsens{Why: "x"}) },
		"not looked at":    func(s *Situation) { Coarsenable.Put(s.Kernel, Coarsens{}) },
		"an unknown GPU":   func(s *Situation) { s.Known = false },
		"many registers":   func(s *Situation) { s.Kernel.Default.Registers = 168 },
		"no host's values": func(s *Situation) { s.Values = nil },
	} {
		s := coarsenable(t, [3]int{16 * wave, 16, 1})
		change(s)
		if got := coarseTried(s); got != "" || levers()["coarsen"].Why(s) == "" {
			t.Errorf("%s: %s", name, got)
		}
	}
	s := coarsenable(t, [3]int{wave, 64, 1})
	s.Kernel.Default.Registers = 96 // 384 for four
	if got := coarseTried(s); strings.Contains(got, "4") {
		t.Errorf("64 registers: %s", got)
	}
}

// takesAs tells whether the launch at hand can be done as a recipe has it.
func (s *Situation) takesAs(r recipe.Recipe) bool {
	_, _, ok := rewrite.MannerOf(r).Launch(s.Shape.Grid, s.Shape.Block)
	return ok
}

// TestCoarsenAround: neighbours of a winner, and a value on a winner that has none.
func TestCoarsenAround(t *testing.T) {
	s := coarsenable(t, [3]int{2112, 64, 1})
	host := "host(block)=128x1x1,host(dynamic)=0"
	around := func(best string) string {
		var out []string
		for _, r := range levers()["coarsen"].Around(s, policy.Trial{Recipe: recipeOf(t, best),
			Ratio: 0.8}) {
			if err := rewrite.Check(r); err != nil {
				t.Error(err)
			}
			out = append(out, r.String())
		}
		return strings.Join(out, "; ")
	}
	want := []string{"coarsen=1x2x1 hint@ld=cs spec{" + host + "}", "coarsen=1x8x1 hint@ld=cs spec{" + host +
		"}"}
	if got := around("hint@ld=cs spec{" + host + "} coarsen=1x4x1"); got != strings.Join(want, "; ") {
		t.Errorf("around four in y: %s", got)
	}
	if got := around("maxnreg=40"); got != "" {
		t.Errorf("none won: %s", got)
	}
	s.Trial = func(text string) *policy.Trial {
		if text == "coarsen=2x1x1 spec{"+host+"}" {
			return &policy.Trial{Ratio: 0.9, Build: cache.Build{Registers: 64, Shared: 2048}}
		}
		return nil
	}
	if got, want := around("spec{#1=8,blockDim.x=128}"),
		"coarsen=2x1x1 spec{#1=8,blockDim.x=128,"+host+"}"; got != want {
		t.Errorf("a copy for values: %s, want %s", got, want)
	}
	// of the code for two blocks 8 are resident, and there are half as many
	r := recipeOf(t, "coarsen=2x1x1 spec{"+host+"}")
	if n := s.blocks(r); n != 8 {
		t.Errorf("%d blocks are resident", n)
	}
	if got := s.ShapeFor(r); got.Grid != [3]int{1056, 64, 1} || got.Block != s.Shape.Block {
		t.Errorf("launched as %s", got)
	}
	if got := s.simFor(r); got.Shared != 2048 || got.Blocks != 1056*64 {
		t.Errorf("%+v", got)
	}
	if r, ok := s.Combine(r, recipeOf(t, "throttle=12 spec{"+host+"}")); !ok ||
		!strings.Contains(r.String(), "throttle=8") {
		t.Errorf("throttled: %s", r)
	}
	if r, ok := s.Combine(r, recipeOf(t, "shape=64x1x1 spec{"+host+"}")); ok {
		t.Errorf("in other blocks, too: %s", r)
	}
	words := Words(s.Kernel, recipeOf(t, "coarsen=1x4x1 spec{"+host+"}"))
	for value, want := range map[string]string{
		"16x1x1b": "16 neighbouring blocks in x side by side in one",
		"1x32x1b": "32 neighbouring blocks in y side by side in one",
	} {
		r := recipeOf(t, "coarsen="+value+" spec{host(block)=8x1x1,host(dynamic)=0}")
		if got := Words(s.Kernel, r); !strings.Contains(got, want) {
			t.Errorf("%s: %s", value, got)
		}
	}
	if !strings.Contains(words, "each block does the work of 4 neighbouring blocks in y") {
		t.Error(words)
	}
	if !slices.ContainsFunc(All(), func(l *Lever) bool { return l.Name == "coarsen" }) {
		t.Error("it is not in the table")
	}
}

// TestBesideTried: small blocks that stand beside each other, where enough are left; the grid is a
// condition where it leaves a rest.
func TestBesideTried(t *testing.T) {
	const all = 132 * 2 * 32
	for _, c := range []struct {
		block, grid [3]int
		want        string
	}{
		{[3]int{8, 1, 1}, [3]int{all, 1, 1}, "32x1x1b 16x1x1b 8x1x1b"},
		{[3]int{8, 1, 1}, [3]int{all + 1, 1, 1}, "32x1x1b+ 16x1x1b+ 8x1x1b+"},
		{[3]int{8, 1, 1}, [3]int{all - 8, 1, 1}, "16x1x1b+ 8x1x1b"},
		{[3]int{8, 4, 1}, [3]int{2, all, 1}, "1x8x1b 1x4x1b 1x2x1b"},
		{[3]int{2, 1, 1}, [3]int{4 * all, 1, 1}, "64x1x1b 32x1x1b"},
		{[3]int{64, 1, 1}, [3]int{all, 1, 1}, ""},
	} {
		s := reshapable(t, c.grid, c.block)
		Coarsenable.Put(s.Kernel, Coarsens{Why: "x"})
		besides.Put(s.Kernel, func(block [3]int) error {
			if n := block[0] * block[1] * block[2]; 32%n != 0 {
				return errors.New("x")
			}
			return nil
		})
		s.Values = valuesOf(t, policy.HostValue, fmt.Sprintf("host(block)=%dx%dx1,host(dynamic)=0",
			c.block[0], c.block[1]))
		var out []string
		for _, r := range levers()["coarsen"].Try(s) {
			value, _ := r.Get("coarsen", "")
			if !strings.HasSuffix(value, "b") {
				continue
			}
			if err := rewrite.Check(r); err != nil || !s.takesAs(r) {
				t.Errorf("%s: %v", r, err)
			}
			if strings.Contains(r.String(), "host(grid)") {
				value += "+"
			}
			out = append(out, value)
		}
		if got := strings.Join(out, " "); got != c.want {
			t.Errorf("%v blocks of %v: %q, want %q", c.grid, c.block, got, c.want)
		}
	}
}
