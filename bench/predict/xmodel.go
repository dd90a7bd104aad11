package main

import (
	"context"
	"fmt"
	"io"
	"math"

	"gnvcc/bench/lab"
	"gnvcc/cache"
	"gnvcc/rewrite/ptx"
	"gnvcc/rewrite/recipe"
	"gnvcc/sim/xmodel"
)

// An xrow is a launch that was counted and timed on an H200: the X-model's parameters by the counts,
// and what it came to with the blocks that are left at the end (Foretold). Instructions a cycle and SM.
type xrow struct {
	Program, Kernel    string
	Grid, Block        [3]int
	Dynamic            int
	Warps, Z, E, M     float64
	L, R               float64
	Foretold, Measured float64
}

// near is how near a prediction is: 1 less the error as a part of what was measured, 0 at least.
func near(predicted, measured float64) float64 {
	return max(0, 1-math.Abs(predicted-measured)/measured)
}

// counted is what the X-model says of a row by its counts.
func (x xrow) counted() float64 {
	p, _ := xmodel.Model{Warps: x.Warps, Intensity: x.Z, Pace: x.E, Issue: x.M, Latency: x.L, Rate: x.R,
		Corner: 1.5}.Settled()
	return p.Rate
}

// compareX prints the X-model's throughput against what was measured: as recorded, by the recorded
// counts, and, where a store has the program's kernels, by machine code alone, as gnvcc predict has it.
func compareX(ctx context.Context, w io.Writer, file, store string) error {
	rows, err := lab.ReadLines(file, func(x xrow) string { return fmt.Sprint(x.Program, x.Kernel, x.Grid) })
	if err != nil {
		return err
	}
	code := func(xrow) (float64, error) { return 0, errAbsent }
	if store != "" {
		c, built, remove, err := openRebuilt(ctx, store)
		if err != nil {
			return err
		}
		defer remove()
		b := builder{c: c, built: built}
		code = func(x xrow) (float64, error) { return b.balance(ctx, x) }
	}
	sums, n := [3]float64{}, [3]float64{}
	fmt.Fprintf(w, "%-44s %9s %9s %9s %9s\n", "instructions a cycle and SM", "measured", "recorded", "by counts", "by code")
	for _, x := range rows {
		fmt.Fprintf(w, "%-44.44s %9.3f", x.Program+" "+x.Kernel, x.Measured)
		bare, err := code(x)
		for i, rate := range []float64{x.Foretold, x.counted(), bare} {
			if i == 2 && err != nil {
				fmt.Fprintf(w, " %9s", "-")
				continue
			}
			fmt.Fprintf(w, " %9.3f", rate)
			sums[i], n[i] = sums[i]+near(rate, x.Measured), n[i]+1
		}
		fmt.Fprintln(w)
	}
	fmt.Fprintf(w, "%-44s %9s", "mean accuracy", "")
	for i := range sums {
		if n[i] > 0 {
			fmt.Fprintf(w, "    %.1f %%", 100*sums[i]/n[i])
		}
	}
	fmt.Fprintf(w, "  of %g, %g, %g launches\n", n[0], n[1], n[2])
	return nil
}

// balance is the X-model of nvcc's own code, in a row's launch.
func (b *builder) balance(ctx context.Context, x xrow) (float64, error) {
	for _, k := range b.built {
		if ptx.ShortName(k.Name) != x.Kernel || k.Assembly.Target != fmt.Sprintf("sm_%d", rowsOn) {
			continue
		}
		source, err := b.c.Kernel(k.Assembly.Cubin, k.Name)
		if err != nil {
			return 0, err
		}
		t, _, err := b.trial(ctx, source, recipe.Recipe{}, cache.Launch{Grid: x.Grid, Block: x.Block, Dynamic: x.Dynamic})
		if err != nil {
			return 0, err
		}
		p, ok := t.run.XModel(&t.estimate).Settled()
		if !ok {
			return 0, fmt.Errorf("%s: the X-model does not settle", x.Kernel)
		}
		return p.Rate, nil
	}
	return 0, errAbsent
}
