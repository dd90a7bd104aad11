package lever

import (
	"gnvcc/policy"
	"gnvcc/sim"
)

// A Situation is what a lever may look at when it names values.
type Situation struct {
	Kernel *policy.Kernel
	Shape  policy.Shape // the launch at hand
	Shapes []policy.Shape
	Device sim.Device
	Known  bool   // Device is in the table
	Region Region // of the default code
	Values []policy.Value
	// most of the kernel's launches have other grids: code for the grid at hand alone would not run
	ManyGrids bool
	Largest   int                             // block that the default build can launch, threads
	Trial     func(text string) *policy.Trial // what is known of a recipe already, nil if nothing
	Options   *policy.Options
}

// parts reports whether code that takes n blocks of one dimension at a time may be made: they divide
// the grid, or it is for this grid alone, which has so many there.
func (s *Situation) parts(axis, n, alone int) bool {
	grid := s.Shape.Grid[axis]
	return grid%n == 0 || grid >= alone && !s.ManyGrids
}

// kept is the source's limit on registers where it stays, "" where there is none, or it may be
// outvoted.
func (s *Situation) kept() string {
	if !s.Options.Keep {
		return ""
	}
	return s.Kernel.Bounds
}

const (
	Step       = 0.99 // a round of the search must gain at least this factor to be followed by another
	Combinable = 1.02 // values slower than this alone are not combined
)

// A Region is the kernel's register effective region: the counts that ptxas gives under the lowest
// cap and under a cap of 255 (Li et al., DATE 2016, section III). Zero: not known.
type Region struct{ Min, Max int }
