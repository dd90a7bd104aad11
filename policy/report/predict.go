package report

import (
	"context"
	"fmt"
	"io"
	"strings"

	"gnvcc/policy"
	"gnvcc/policy/lever"
	"gnvcc/sim"
)

// What can be said without a GPU: a kernel's register effective region by two ptxas runs, and for
// assumed block sizes the critical points and the occupancy there. Nothing is measured, and the
// text says so.

// A Prospect is a kernel as seen without a GPU.
type Prospect struct {
	Kernel *policy.Kernel
	Region sim.Region
	Note   string // what could not be found out
}

// Foresee compiles a kernel under the lowest and the highest cap.
func Foresee(ctx context.Context, c policy.Compiler, k *policy.Kernel) Prospect {
	p := Prospect{Kernel: k}
	var counts [2]int
	for i, limit := range []int{lever.LowestCap, 255} {
		cand, err := c.Compile(ctx, k, lever.Term("maxnreg", fmt.Sprint(limit)), false)
		if err != nil {
			p.Note = fmt.Sprintf("a cap of %d: %s", limit, policy.FirstLine(err))
			counts[i] = k.Default.Registers
			continue
		}
		counts[i] = cand.Build.Registers
	}
	if d, ok := deviceOf(k.Target); ok {
		p.Region = d.Region(counts[0], counts[1])
	} else {
		p.Region = sim.Region{Min: min(counts[0], counts[1]), Max: max(counts[0], counts[1])}
	}
	return p
}

// assumedBlocks are the block sizes that a prediction assumes, threads.
var assumedBlocks = []int{128, 256, 512, 1024}

// Predict writes prospects. Block sizes are assumed, save where the source fixes them.
func Predict(w io.Writer, prospects []Prospect) error {
	p := &printer{w: w}
	p.line(
		"From ptxas and the tables of the architecture, with assumed block sizes (nothing was measured):")
	for _, x := range prospects {
		k := x.Kernel
		p.line("")
		p.line("%s (%s)", k.Label(), k.Target)
		p.line("  nvcc's own build: %d registers, %d bytes spilled, %d bytes of shared memory",
			k.Default.Registers, k.Default.Spill, k.Default.Shared)
		if k.Alone != "" {
			p.line("  will be left alone: %s", k.Alone)
			continue
		}
		if k.Bounds != "" {
			p.line("  register limit in the source, which is kept: %s", k.Bounds)
		}
		if x.Note != "" {
			p.line("  incomplete: %s", x.Note)
		}
		p.line("  register effective region: %d to %d", x.Region.Min, x.Region.Max)
		d, ok := deviceOf(k.Target)
		if !ok {
			p.line("  %s is not in the table of architectures: no occupancy", k.Target)
			continue
		}
		for _, threads := range blocks(k) {
			source := "assumed"
			if threads == k.MaxThreads && threads < sim.BlockThreads {
				source = "bound in the source"
			}
			shape := sim.Shape{Threads: threads, Shared: k.Default.Shared, Barriers: k.Default.Barriers}
			own := d.Occupancy(k.Default.Registers, shape)
			var points []string
			for _, l := range d.Levels(shape, x.Region.Min, max(x.Region.Max, k.Default.Registers)) {
				points = append(points, fmt.Sprintf("%d (%.0f%%)", l.Max, 100*d.Fraction(l.Occupancy)))
			}
			p.line("  blocks of %4d (%s): occupancy %3.0f%%, limited by %s; critical points %s",
				threads, source, 100*d.Fraction(own), own.Limit, or(strings.Join(points, ", "),
					"none: such blocks can't be launched"))
		}
		p.levers(k)
	}
	return p.err
}

// blocks are the sizes to look at: those that are assumed, as far as the kernel may have them, and
// its own bound.
func blocks(k *policy.Kernel) []int {
	var out []int
	for _, threads := range assumedBlocks {
		if k.MaxThreads == 0 || threads < k.MaxThreads {
			out = append(out, threads)
		}
	}
	if k.MaxThreads > 0 {
		out = append(out, k.MaxThreads)
	}
	return out
}

// levers says what a tuning run would try, in one line.
func (p *printer) levers(k *policy.Kernel) {
	var words []string
	if n := len(lever.FreeLoops(k)); n > 0 {
		words = append(words, fmt.Sprintf("%d loops to unroll", n))
	} else if k.NoUnroll != "" {
		words = append(words, "no unrolling ("+k.NoUnroll+")")
	}
	if n := len(k.Values); n > 0 && k.NoSpec == "" {
		words = append(words, fmt.Sprintf("%d arguments to specialise for", n))
	} else if k.NoSpec != "" {
		words = append(words, "no specialisation ("+k.NoSpec+")")
	}
	if k.Loads+k.Stores > 0 {
		words = append(words, fmt.Sprintf("cache hints on %d loads and %d stores", k.Loads, k.Stores))
	}
	if len(words) > 0 {
		p.line("  gnvcc tune would also try: %s", strings.Join(words, ", "))
	}
}
