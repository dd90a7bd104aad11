package page

import (
	"cmp"
	"fmt"
	"strings"

	"gnvcc/cache"
	"gnvcc/policy"
	"gnvcc/policy/report"
	"gnvcc/rewrite"
	"gnvcc/rewrite/ptx"
	"gnvcc/rewrite/recipe"
	"gnvcc/sim"
)

// Why says in a sentence or two what a recipe changes for a kernel at the launch that takes most
// time. It says what is computed (residency, registers, spills) and what was measured (what a
// lever gives alone), and guesses at nothing.
func Why(e report.Entry) string {
	d := e.Decision
	ev := &d.Evidence
	switch {
	case d.Pinned:
		return "Pinned by hand, not measured."
	case d.Predicted:
		return "Predicted from machine code, for builds with GNVCC_PREDICT=1; not measured."
	case len(ev.Launches) == 0:
		return "Left alone: " + cmp.Or(ev.Note, "no launch was measured") + "."
	case e.Recipe == "":
		return fmt.Sprintf("None of %d candidates is faster than nvcc's default%s.", len(ev.Tried),
			report.Unmeasured(ev))
	}
	var parts []string
	if text := residency(d); text != "" {
		parts = append(parts, text)
	}
	if a, b := ev.Default.Spill, ev.Chosen.Spill; a != b {
		parts = append(parts, fmt.Sprintf("Spills to local memory: %d bytes before, %d after.", a, b))
	}
	if text := copies(e); text != "" {
		parts = append(parts, text)
	}
	var alone []string
	for _, l := range e.Levers {
		if l.SpeedUp >= 1.02 && len(alone) < 3 && strings.Contains(" "+e.Recipe, " "+l.Lever) {
			alone = append(alone, fmt.Sprintf("%s %.2fx", l.Best, l.SpeedUp))
		}
	}
	if len(alone) > 0 {
		parts = append(parts, "Measured alone: "+strings.Join(alone, ", ")+".")
	}
	if len(parts) == 0 {
		return strings.ToUpper(e.Words[:1]) + e.Words[1:] + "."
	}
	return strings.Join(parts, " ")
}

// residency says what the registers do to the blocks that are resident, with the real grid.
func residency(d *cache.Decision) string {
	ev := &d.Evidence
	dev, shape, ok := at(d)
	if !ok {
		return ""
	}
	a, b := ev.Default.Registers, ev.Chosen.Registers
	before, after := dev.Occupancy(a, shape), dev.Occupancy(b, shape)
	if r, err := recipe.Parse(d.Recipe); err == nil {
		if n := rewrite.Throttle(r); n > 0 && n < before.Blocks {
			return fmt.Sprintf("%d resident blocks in place of %d, which share the L1 cache.", n,
				before.Blocks)
		}
	}
	grid := fmt.Sprintf("%d blocks on %d SMs", shape.Blocks, dev.SMs)
	each := shape.Blocks > 0 && dev.SMs > 0
	perSM := 0
	if each {
		perSM = (shape.Blocks + dev.SMs - 1) / dev.SMs
	}
	switch {
	case b > a && each && after.Blocks >= perSM && perSM == 1 && shape.Blocks > 1:
		return fmt.Sprintf("%s: one block each, so %d registers cost nothing.", grid, b)
	case b > a && each && after.Blocks >= perSM:
		return fmt.Sprintf("%s: at most %d each, which fit with %d registers too, so they cost nothing.",
			grid, perSM, b)
	case b > a && after.Warps == before.Warps:
		return fmt.Sprintf("%d registers in place of %d leave as many warps resident (%d of %d).", b, a,
			after.Warps, dev.Warps)
	case b > a:
		return fmt.Sprintf(
			"%d registers in place of %d: %d resident warps in place of %d of %d, and still faster.", b, a,
			after.Warps, before.Warps, dev.Warps)
	case b < a && after.Warps > before.Warps:
		return fmt.Sprintf("%d registers in place of %d: %d resident warps in place of %d.", b, a,
			after.Warps, before.Warps)
	case b < a:
		return fmt.Sprintf("%d registers in place of %d; as many resident warps (%d of %d).", b, a,
			after.Warps, dev.Warps)
	}
	return ""
}

// copies lists values that the compiler knows.
func copies(e report.Entry) string {
	r, err := recipe.Parse(e.Recipe)
	if err != nil || !r.HasSecond() {
		return ""
	}
	guards, err := r.Guards()
	if err != nil || len(guards) == 0 || guards[0].HostOnly() {
		return ""
	}
	return "The compiler knows the values of these launches: " + e.Words + "."
}

// at is the device and the launch that takes most time, as the recipe has it done; ok is false
// where either is not known.
func at(d *cache.Decision) (sim.Device, sim.Shape, bool) {
	dev, known := sim.Lookup(ptx.Capability(d.Target))
	heaviest, ok := d.Evidence.Heaviest()
	if !ok || !known {
		return dev, sim.Shape{}, false
	}
	if r, err := recipe.Parse(d.Recipe); err == nil {
		heaviest = report.Launched(r, heaviest)
	}
	if !isProduct(dev, d.Evidence.Device) {
		dev.SMs = 0 // another product of this architecture, with another number of them
	}
	return dev, policy.ShapeMeasured(heaviest).Sim(d.Evidence.Default), true
}

// isProduct reports whether a GPU's name ("NVIDIA H200") is one whose number of SMs the table has.
func isProduct(dev sim.Device, name string) bool {
	words := strings.Fields(name)
	for _, product := range strings.Split(dev.Product, ", ") {
		found := product != ""
		for _, w := range strings.Fields(product) {
			in := false
			for _, have := range words {
				in = in || have == w
			}
			found = found && in
		}
		if found {
			return true
		}
	}
	return false
}
