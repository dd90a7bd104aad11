package lever

import (
	"fmt"
	"strconv"
	"strings"

	"gnvcc/policy"
	"gnvcc/rewrite"
	"gnvcc/rewrite/demote"
	"gnvcc/rewrite/recipe"
	"gnvcc/sim"
)

// Registers demoted to shared memory (RegDem, section 3): for kernels of which registers limit the
// occupancy, or that spill. For each of the next levels of occupancy, as many words as it takes to
// come down to that level's count, with the cap that belongs to it, as long as the shared memory
// that this costs does not take the gain away again; by each of the paper's three strategies. Plain
// caps (maxnreg), which spill to local memory, and ptxas' own spilling to shared memory compete with it.
//
// Slots are reserved for the largest block: so this is for a second entry, for blocks of the size
// at hand, where there can be one.

// ptxas' own spilling (.pragma "enable_smem_spilling", CUDA 13.0 and later) helps where registers
// spill, by default or under a cap; it is fatal with real calls, with dynamic shared memory and with
// -rdc, so those are left out here, too.

// demoteLevels is how many levels of occupancy above the default's are tried, each with demoteMore
// times the warps of the one before: small blocks have many levels, close together.
const (
	demoteLevels = 3
	demoteMore   = 1.2
)

// addressWords is what the pass itself needs: the register that holds the thread's place in shared
// memory.
const addressWords = 1

var _ = register(Lever{
	// ptxas' own, the other values were not measured on those
	Name: demote.Lever, Idea: "words of each thread kept in shared memory:", Gain: 1.012,
	Try: func(s *Situation) []recipe.Recipe {
		k, host := s.Kernel, ofKind(s.Values, policy.HostValue)
		if !s.Known || k.Functions || k.NoSecond != "" || len(host) == 0 {
			return nil
		}
		return append(spillTries(s, spec(host)), demotions(s, spec(host))...)
	},
	With: []string{rewrite.MaxNReg},
	Why:  whyNotDemoted,
	Words: func(k *policy.Kernel, t recipe.Term) string {
		if t.Value == demote.Spill {
			return "registers spilled to shared memory by ptxas"
		}
		words, strategy, _ := strings.Cut(t.Value, ":")
		return fmt.Sprintf("%s words of each thread kept in shared memory (by %s)", words, strategy)
	},
})

// whyNotDemoted says why there was nothing to try.
func whyNotDemoted(s *Situation) string {
	k := s.Kernel
	shape := s.Shape.Sim(k.Default)
	now := s.Device.Occupancy(k.Default.Registers, shape)
	switch {
	case !s.Known:
		return "the GPU is not in the table of architectures"
	case k.Functions:
		return "it calls functions whose registers the PTX doesn't show"
	case k.NoSecond != "":
		return "it is for second entries, chosen by their dynamic shared memory: " + k.NoSecond
	case k.Default.Spill > 0:
		return "no shared memory is left for what is spilled"
	case now.Limit != sim.LimitRegisters:
		return "its occupancy is limited by " + now.Limit + ", and nothing is spilled"
	case s.kept() != "":
		return "the source limits its registers, which is kept: " + s.kept()
	}
	return "the shared memory it needs would cost as much occupancy as it gains"
}

// demotions returns the recipes for the levels of occupancy above nvcc's own build, and for what that
// spills.
func demotions(s *Situation, base recipe.Recipe) []recipe.Recipe {
	d, threads := s.Kernel.Default, s.Shape.Threads()
	room := demote.Room(threads, d.Shared+s.Shape.Dynamic)
	var out []recipe.Recipe
	add := func(words int, r recipe.Recipe) {
		if words = min(words, room); words < 1 {
			return
		}
		for _, strategy := range demote.Strategies {
			out = append(out, Join(r, Term(demote.Lever, fmt.Sprintf("%d:%s", words, strategy))))
		}
	}
	need := func(count int) int { return d.Registers - count + addressWords }
	for _, n := range higherLevels(s, func(count int) int { return min(need(count), room) }) {
		if 2*room >= need(n) {
			add(need(n), Join(base, Cap(n)))
		}
	}
	if d.Spill > 0 {
		add((d.Spill+3)/4+addressWords, base)
	}
	return out
}

// spillTries returns the recipes by which ptxas spills to shared memory.
func spillTries(s *Situation, base recipe.Recipe) []recipe.Recipe {
	k, by := s.Kernel, Term(demote.Lever, demote.Spill)
	if k.Calls || k.Dynamic || k.Reloc || s.Shape.Dynamic > 0 || ptxasBefore(k.Ptxas, 13) {
		return nil
	}
	var out []recipe.Recipe
	if k.Default.Spill > 0 {
		out = append(out, Join(base, by))
	}
	for _, n := range higherLevels(s, func(count int) int { return k.Default.Registers - count }) {
		out = append(out, Join(Join(base, by), Cap(n)))
	}
	return out
}

// ptxasBefore reports whether a version ("13.0.88") is before a major one.
func ptxasBefore(version string, major int) bool {
	first, _, _ := strings.Cut(version, ".")
	n, err := strconv.Atoi(first)
	return err != nil || n < major
}

// higherLevels returns the largest counts of the next levels of occupancy that are worth trying,
// where registers limit it. words says how many words of each thread a build with so many registers
// will have in shared memory.
func higherLevels(s *Situation, words func(count int) int) []int {
	shape, registers := s.Shape.Sim(s.Kernel.Default), s.Kernel.Default.Registers
	now := s.Device.Occupancy(registers, shape)
	if now.Limit != sim.LimitRegisters || s.kept() != "" {
		return nil
	}
	var out []int
	last := now.Warps
	for _, l := range s.Device.Levels(shape, LowestCap, registers) {
		with := shape
		with.Shared += 4 * words(l.Max) * shape.Threads
		if warps := s.Device.Occupancy(l.Max, with).Warps; float64(warps) >= demoteMore*float64(last) &&
			len(out) < demoteLevels {
			out, last = append(out, l.Max), warps
		}
	}
	return out
}
