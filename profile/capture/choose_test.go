package capture

import (
	"fmt"
	"math"
	"testing"
	"time"

	"gnvcc/profile"
)

// TestFloor: 1 %, where those above have nine tenths; else as low as it takes.
func TestFloor(t *testing.T) {
	flat := make([]float64, 1000)
	for i := range flat {
		flat[i] = 0.001
	}
	for name, c := range map[string]struct {
		shares []float64
		want   float64
	}{
		"nothing":      {nil, 0.01},
		"few":          {[]float64{0.7, 0.25, 0.005, 0.045}, 0.01},
		"one":          {[]float64{1}, 0.01},
		"none above":   {flat, 0.001},
		"a long tail":  {append([]float64{0.5}, flat[:500]...), 0.001},
		"tail of dust": {append([]float64{0.88, 0.03}, flat[:90]...), 0.01},
	} {
		if got := Floor(c.shares); math.Abs(got-c.want) > 1e-12 {
			t.Errorf("%s: %v, want %v", name, got, c.want)
		}
	}
}

// TestManyKernels: of kernels that are launched once none is captured when what is for those of which
// nothing is known is used up; and in a second run those that are known, though none has 1 % of the time.
func TestManyKernels(t *testing.T) {
	c, cubin := collector(t)
	clock := time.Unix(1, 0)
	c.now = func() time.Time { return clock }
	c.begun = clock
	c.stood = time.Duration(freely * float64(firstStand)) // so much was read
	captured := func(c *Collector) (n int) {
		for i := range 200 {
			l := launchOf(t, cubin, 1, 5)
			l.Kernel = fmt.Sprint("k", i)
			if c.play(t, l, []byte("content")); c.shape(l).captures != nil {
				n++
			}
		}
		return n
	}
	if n := captured(c); n != 0 {
		t.Errorf("%d kernels captured, want none", n)
	}
	var p Profile
	for i := range 200 {
		p.Shapes = append(p.Shapes, Line{Kernel: fmt.Sprint("k", i), Cubin: "c",
			Shape: profile.Shape{Grid: [3]int{8, 1, 1}, Block: [3]int{128, 1, 1}}, Seconds: 0.005})
		p.Seconds += 0.005
	}
	again, _ := collector(t)
	again.knows(&p)
	if n := captured(again); n != 200 {
		t.Errorf("%d kernels captured in the second run, want 200", n)
	}
}
