// How many register counts there are to try, and how many of them are critical points.

package main

import (
	"context"
	"fmt"
	"io"
	"maps"
	"math"
	"path/filepath"
	"slices"

	"gnvcc/bench/decisions"
	"gnvcc/bench/lab"
	"gnvcc/cache"
	"gnvcc/policy/lever"
	"gnvcc/rewrite/ptx"
	"gnvcc/rewrite/recipe"
	"gnvcc/sim"
)

// A space is one kernel's, in the launch that its rows are of.
type space struct {
	Program, Kernel           string
	Threads, Dynamic, Blocks  int
	Registers, Least, Most    int // by default, under the lowest cap, under a cap of 255
	Counts, Points, Identical int // all counts between; critical points; points that are the default
}

// spaces compiles each kernel of rows under the lowest cap and one of 255, from stores in which
// gnvcc has built the same programs, and prints what critical points spare.
func (g *gatherer) spaces(ctx context.Context, w io.Writer, kernels []kernel, file string) error {
	var rows []space
	byProgram := map[string][]kernel{}
	for _, k := range kernels {
		byProgram[k.program] = append(byProgram[k.program], k)
	}
	for _, program := range slices.Sorted(maps.Keys(byProgram)) {
		found, err := g.spacesOf(ctx, w, program, byProgram[program])
		if ctx.Err() != nil {
			return ctx.Err()
		}
		if err != nil {
			fmt.Fprintf(w, "left out: %s: %v\n", program, err)
		}
		rows = append(rows, found...)
	}
	if err := lab.WriteLines(file, rows); err != nil {
		return err
	}
	tellSpaces(w, rows)
	return nil
}

func (g *gatherer) spacesOf(ctx context.Context, w io.Writer, program string,
	kernels []kernel) ([]space, error) {
	c, built, remove, err := decisions.Rebuilt(ctx, filepath.Join(g.stores, program))
	if err != nil {
		return nil, err
	}
	defer remove()
	b := builder{g: g, c: c, built: built}
	var out []space
	for _, k := range kernels {
		base := k.trials[0].run
		launch := cache.Launch{Grid: [3]int{base.Shape.Blocks, 1, 1},
			Block: [3]int{base.Shape.Threads, 1, 1}, Dynamic: k.dynamic}
		registers := map[int]int{} // by cap
		var shape sim.Shape
		err := decisions.ErrAbsent
		for _, was := range built {
			if ptx.ShortName(was.Name) != k.name || was.Registers != base.Registers {
				continue
			}
			source, errSource := c.Kernel(was.Assembly.Cubin, was.Name)
			if err = errSource; err != nil {
				break
			}
			for _, limit := range []int{0, sim.Floor, 255} {
				var r recipe.Recipe
				if limit > 0 {
					r = lever.Term("maxnreg", fmt.Sprint(limit))
				}
				t, _, errTrial := b.trial(ctx, source, r, launch)
				if err = errTrial; err != nil {
					break
				}
				registers[limit], shape = t.run.Registers, t.run.Shape
			}
			break
		}
		if err != nil {
			fmt.Fprintf(w, "left out: %s, %s: %v\n", program, k.name, err)
			continue
		}
		low, high := min(registers[sim.Floor], registers[0]), max(registers[255], registers[0])
		s := space{Program: program, Kernel: k.name, Threads: shape.Threads, Dynamic: k.dynamic,
			Blocks: shape.Blocks, Registers: registers[0], Least: low, Most: high, Counts: high - low + 1}
		points := base.Device.CriticalPoints(shape, max(low, sim.Floor), high)
		if !slices.Contains(points, high) { // the cap of 255
			points = append(points, high)
		}
		s.Points = len(points)
		if slices.Contains(points, registers[0]) {
			s.Identical = 1
		}
		out = append(out, s)
	}
	return out, nil
}

// tellSpaces prints the sums: of all kernels, and of those that ptxas gives several counts.
func tellSpaces(w io.Writer, rows []space) {
	counts, points, several := 0, 0, 0
	spared := 0.0
	for _, s := range rows {
		counts, points = counts+s.Counts, points+s.Points
		if s.Counts > 1 {
			several++
			spared += math.Log(float64(s.Counts) / float64(s.Points))
		}
	}
	fmt.Fprintf(w, "%d kernels have %d register counts, of which %d are critical points or the most: "+
		"%.1f times fewer; of %d with several counts %.1f times in geometric mean\n", len(rows), counts,
		points, float64(counts)/float64(max(points, 1)), several,
		math.Exp(spared/float64(max(several, 1))))
}
