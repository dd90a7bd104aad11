package capture

import (
	"fmt"
	"slices"

	"gnvcc/profile"
)

// Kernels of which every launch has another size, as in a factorisation, or in a front that moves
// through an array: no configuration weighs anything, all of them together may be all of the run.
// Few sizes stand for the family: the first ones, and then those with half (or twice) the blocks,
// or the threads in a block, of any that was captured.

const (
	firstSizes = 3 // of a family, that are captured however near they are
	mostSizes  = 8 // of a family, beyond which only heavy ones are
)

// A family is all launches of a kernel on one model of GPU that differ in nothing but grid and
// block.
type family struct {
	sizes   []size  // of which a capture was asked for
	seconds float64 // of all launches; at the run's end
	members int
}

// A size is how many blocks a launch has, and threads in each.
type size struct{ blocks, threads int }

func sizeOf(s profile.Shape) size {
	return size{s.Grid[0] * s.Grid[1] * s.Grid[2], s.Block[0] * s.Block[1] * s.Block[2]}
}

func familyOf(cubin, kernel string, dynamic int) string {
	return fmt.Sprint(cubin, kernel, dynamic)
}

func (c *Collector) family(l *profile.Launch) *family {
	key := familyOf(l.Cubin, l.Kernel, l.Dynamic) + l.Model()
	if c.families[key] == nil {
		c.families[key] = &family{}
	}
	return c.families[key]
}

// wants reports whether a size that is new would stand for something.
func (f *family) wants(n size) bool {
	return len(f.sizes) < firstSizes || len(f.sizes) < mostSizes && f.apart(n)
}

// apart reports a size that is near none before it.
func (f *family) apart(n size) bool {
	return !slices.ContainsFunc(f.sizes, func(o size) bool {
		return n.blocks < 2*o.blocks && o.blocks < 2*n.blocks && n.threads < 2*o.threads &&
			o.threads < 2*n.threads
	})
}

// grows reports whether a size is that much larger than any before it: where launches become larger,
// the last ones weigh most.
func (f *family) grows(n size) bool {
	return len(f.sizes) >= firstSizes && f.apart(n) &&
		!slices.ContainsFunc(f.sizes, func(o size) bool {
			return n.blocks*n.threads < 2*o.blocks*o.threads
		})
}

// sum adds up the families' times.
func (c *Collector) sum() {
	for _, s := range c.order {
		s.family.seconds += s.use.Seconds
		s.family.members++
	}
}
