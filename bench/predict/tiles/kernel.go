package tiles

import (
	"fmt"
	"math/rand"
	"strings"
)

// The kernels: parameters, and the source that they give.

// patterns say which element a thread (x, y) reads in turn (i, j) of the two loops, of an array
// whose rows are pitch apart: row and column.
var patterns = []struct{ Name, Row, Column string }{
	{"xy-reuse", "i", "j"},
	{"x-reuse-row", "y", "i * m + j"},
	{"x-reuse-column", "i * m + j", "y"},
	{"y-reuse-row", "x", "i * m + j"},
	{"y-reuse-column", "i * m + j", "x"},
	{"own-row", "y * width + x", "i * m + j"},
	{"sliding", "y + i", "x + j"},
}

// stencils are shapes of neighbours.
var stencils = []string{"rectangle", "diamond", "star"}

// A Kernel is what one is made of. Pairs: in the inner loop, and behind the loops.
type Kernel struct {
	Name       string
	Pattern    int
	Stencil    int
	Radius     int
	Operations [2]int
	Aligned    [2]int // accesses to another array, side by side in a warp
	Scattered  [2]int // the same, each in a line of its own
}

// draw makes up a kernel; n is its number.
func draw(rng *rand.Rand, n int) Kernel {
	few := func(most int) int { // small numbers more often
		a, b := rng.Intn(most+1), rng.Intn(most+1)
		return min(a, b)
	}
	return Kernel{Name: fmt.Sprintf("k%d", n), Pattern: n % len(patterns),
		Stencil: rng.Intn(len(stencils)), Radius: rng.Intn(3),
		Operations: [2]int{few(40), few(48)}, Aligned: [2]int{few(4), few(8)},
		Scattered: [2]int{few(2), few(3)}}
}

// neighbours lists the offsets that a kernel reads at, rows and columns.
func (k *Kernel) neighbours() (out [][2]int) {
	for r := -k.Radius; r <= k.Radius; r++ {
		for c := -k.Radius; c <= k.Radius; c++ {
			far := max(r, -r) + max(c, -c)
			if k.Stencil == 1 && far > k.Radius || k.Stencil == 2 && r != 0 && c != 0 {
				continue
			}
			out = append(out, [2]int{r, c})
		}
	}
	return out
}

// source is the kernel in CUDA. in points to an element with room for all neighbours around what is
// read; other has an element for each thread and access.
func (k *Kernel) source() string {
	var b strings.Builder
	p := patterns[k.Pattern]
	fmt.Fprintf(&b, `extern "C" __global__ void %s(const float *__restrict__ in, const float *__restrict__ other, float *__restrict__ out,
    int n, int m, int pitch, int width) {
    int x = blockIdx.x * blockDim.x + threadIdx.x, y = blockIdx.y * blockDim.y + threadIdx.y;
    int own = y * width + x;
    float v = 0;
#pragma unroll 1
    for (int i = 0; i < n; i++) {
        #pragma unroll 1
        for (int j = 0; j < m; j++) {
            const float *at = other + (i * m + j) * 32;
`, k.Name)
	for _, o := range k.neighbours() {
		fmt.Fprintf(&b, "            v += in[(%s + %d) * pitch + (%s + %d)];\n", p.Row, o[0], p.Column, o[1])
	}
	work := func(at int, array string) {
		for n := range k.Operations[at] {
			fmt.Fprintf(&b, "            v = fmaf(v, %gf, %gf);\n", 0.5+0.001*float64(n), 0.25)
		}
		for n := range k.Aligned[at] {
			fmt.Fprintf(&b, "            v += %s[own + %d];\n", array, 32*n)
		}
		for n := range k.Scattered[at] {
			fmt.Fprintf(&b, "            v += %s[own * 16 + %d];\n", array, n)
		}
	}
	work(0, "at")
	fmt.Fprintf(&b, "        }\n    }\n")
	work(1, "other")
	fmt.Fprintf(&b, "    out[own] = v;\n}\n\n")
	return b.String()
}

// subject is a kernel as the maker wants it.
func (k *Kernel) subject() subject {
	return subject{name: k.Name, pattern: patterns[k.Pattern].Name, source: k.source(),
		loads: len(k.neighbours()), margin: k.Radius,
		extent: func(n, m, w, h int) (rows, columns int) {
			turns := n * m
			return []int{n, h, turns, w, turns, w * h, h + n}[k.Pattern],
				[]int{m, turns, h, turns, w, turns, w + m}[k.Pattern]
		}}
}
