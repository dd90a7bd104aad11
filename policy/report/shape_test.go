package report

import (
	"testing"

	"gnvcc/cache"
	"gnvcc/rewrite/recipe"
)

// TestReshaped: what other blocks change, as far as the launch tells it.
func TestReshaped(t *testing.T) {
	for _, c := range []struct {
		grid, block [3]int
		recipe      string
		want        string
	}{
		{[3]int{64, 64, 1}, [3]int{16, 16, 1}, "shape=64x4x1 spec{host(block)=16x16x1}",
			"64x4 blocks: a warp has 32 threads of a row, not 16"},
		{[3]int{160, 1, 1}, [3]int{1024, 1, 1}, "shape=640x1x1 spec{host(block)=1024x1x1}",
			"blocks of 640: the fullest multiprocessor has 1.03 times as many threads as the average, not 1.65"},
		{[3]int{100000, 1, 1}, [3]int{32, 1, 1}, "shape=64x1x1 spec{host(block)=32x1x1}",
			"blocks of 64: occupancy 100 %, not 50 %"},
		{[3]int{100000, 1, 1}, [3]int{256, 1, 1}, "shape=128x1x1 spec{host(block)=256x1x1}",
			"blocks of 128: 200000 blocks, not 100000: smaller ones finish more evenly"},
		{[3]int{100000, 1, 1}, [3]int{128, 1, 1}, "shape=256x1x1 spec{host(block)=128x1x1}",
			"blocks of 256: 50000 blocks to start, not 100000"},
		// other launches
		{[3]int{100000, 1, 1}, [3]int{128, 1, 1}, "shape=256x1x1 spec{host(block)=64x1x1}", ""},
		// it does not divide them
		{[3]int{100001, 1, 1}, [3]int{128, 1, 1}, "shape=256x1x1 spec{host(block)=128x1x1}", ""},
		{[3]int{100000, 1, 1}, [3]int{128, 1, 1}, "maxnreg=40", ""},
		{[3]int{100, 8, 1}, [3]int{128, 1, 1}, "coarsen=1x4x1 spec{host(block)=128x1x1}",
			"each block does the work of 4: 200 blocks, not 800"},
		{[3]int{100, 7, 1}, [3]int{128, 1, 1}, "coarsen=1x4x1 spec{host(block)=128x1x1}", ""},
	} {
		d := &cache.Decision{Target: "sm_90", Evidence: cache.Evidence{
			Chosen:   cache.Build{Registers: 32},
			Launches: []cache.Launch{{Grid: c.grid, Block: c.block, Count: 1}}}}
		r, err := recipe.Parse(c.recipe)
		if err != nil {
			t.Fatal(err)
		}
		if got := reshaped(d, r); got != c.want {
			t.Errorf("%v x %v, %s:\n%s, want\n%s", c.grid, c.block, c.recipe, got, c.want)
		}
	}
}
