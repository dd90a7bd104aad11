package main

// The kernels of the examples that the emulator runs, with launches small enough for it: sizes that
// are no multiple of the block, so that bounds matter; and so few threads to spare that an index
// which goes backwards (- threadIdx.x) does not reach all elements, too.

// A kernel is one of them.
type kernel struct {
	file, name          string
	set                 []string
	grid, block         [3]int
	dynamic, bufferSize int // bytes
}

var kernels = []kernel{
	{file: "alignment", name: "rotate", set: []string{"n=253"}},
	{file: "blocksize", name: "product", set: []string{"n=16"}, grid: [3]int{2, 2, 1},
		block: [3]int{8, 8, 1}, dynamic: 512},
	{file: "cancel", name: "zeros", set: []string{"n=250", "turns=5"}},
	{file: "exchange", name: "exchange", grid: [3]int{8, 2, 2}, block: [3]int{32, 4, 2},
		bufferSize: 1 << 21},
	{file: "hotregisters", name: "products", set: []string{"n=128", "depth=6"},
		grid: [3]int{2, 2, 1}, block: [3]int{64, 1, 1}},
	{file: "membrane", name: "swing", set: []string{"nx=16", "ny=15"}, grid: [3]int{2, 4, 1},
		block: [3]int{8, 4, 1}},
	{file: "occupancy", name: "walk", set: []string{"count=5"}},
	{file: "pairs", name: "pairs", grid: [3]int{2, 2, 1}, block: [3]int{128, 1, 1}},
	{file: "periodogram", name: "relax", set: []string{"width=15", "height=15"},
		grid: [3]int{2, 4, 1}, block: [3]int{8, 4, 1}},
	{file: "phases", name: "mix", set: []string{"channels=7", "samples=250"}},
	{file: "planes", name: "add", grid: [3]int{2, 2, 2}, block: [3]int{8, 4, 2},
		bufferSize: 1 << 21},
	{file: "planes", name: "exchange", grid: [3]int{2, 2, 2}, block: [3]int{8, 4, 2},
		bufferSize: 1 << 21},
	{file: "potential", name: "potential", set: []string{"n=9", "points=1250"},
		grid: [3]int{5, 1, 1}, block: [3]int{256, 1, 1}}, // beyond 1024 points y is not 0
	{file: "quantile", name: "median", set: []string{"n=64"}},
	{file: "stars", name: "light", set: []string{"m=6", "n=250"}},
	{file: "stencil", name: "wave", set: []string{"nx=23", "ny=19", "nz=12"}, grid: [3]int{2, 3, 1},
		block: [3]int{8, 4, 1}},
	{file: "tripcount", name: "search", set: []string{"positions=200", "n=12", "window=5"}},
	{file: "wavefront", name: "barriers", grid: [3]int{1, 1, 1}, block: [3]int{256, 1, 1},
		bufferSize: 1 << 20},
}
