package lever

import (
	"fmt"
	"strings"

	"gnvcc/policy"
	"gnvcc/rewrite/demote"
	"gnvcc/rewrite/recipe"
	"gnvcc/sim"
)

// Registers demoted to shared memory (RegDem, section 3): for kernels of which registers limit the
// occupancy, or that spill. For each of the next levels of occupancy, as many words as it takes to
// come down to that level's count, with the cap that belongs to it, as long as the shared memory
// that this costs does not take the gain away again; by each of the paper's three strategies. Plain
// caps (maxnreg), which spill to local memory, and ptxas' own spilling to shared memory (spill.go) compete with it.
//
// Slots are reserved for the largest block: so this is for a second entry, for blocks of the size
// at hand, where there can be one.

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
	Name: "demote", Idea: "words of each thread kept in shared memory:", Gain: 1.012,
	Try: func(s *Situation) []recipe.Recipe {
		out := spillTries(s)
		if base, threads, ok := demoteBase(s); ok {
			out = append(out, demotions(s, base, threads, s.Kernel.Default.Registers,
				s.Kernel.Default.Spill)...)
		}
		return out
	},
	With: []string{"maxnreg"},
	Why:  whyNotDemoted,
	Around: func(s *Situation, best policy.Trial) []recipe.Recipe {
		return append(spillAround(s, best), demoteAround(s, best)...)
	},
	Words: func(k *policy.Kernel, t recipe.Term) string {
		if t.Value == demote.Spill {
			return "registers spilled to shared memory by ptxas"
		}
		words, strategy, _ := strings.Cut(t.Value, ":")
		return fmt.Sprintf("%s words of each thread kept in shared memory (by %s)", words, strategy)
	},
})

// demotable tells whether the pass could do anything here.
func demotable(s *Situation) bool {
	k := s.Kernel
	return s.Known && !k.Functions
}

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

// demoteBase is what demotion is added to: a second entry for blocks of this size and as much
// dynamic shared memory, with nvcc's own code but for that. threads is the block that slots are
// reserved for.
func demoteBase(s *Situation) (base recipe.Recipe, threads int, ok bool) {
	if !demotable(s) {
		return base, 0, false
	}
	if host := ofKind(s.Values, policy.HostValue); s.Kernel.NoSecond == "" && len(host) > 0 {
		return spec(host), s.Shape.Threads(), true
	}
	return base, 0, false
}

// demotions returns the recipes for a build with so many registers and so many bytes spilled: the
// default's or that of base.
func demotions(s *Situation, base recipe.Recipe, threads, registers, spill int) []recipe.Recipe {
	room := demote.Room(threads, s.Kernel.Default.Shared+s.Shape.Dynamic)
	var out []recipe.Recipe
	add := func(words int, r recipe.Recipe) {
		if words = min(words, room); words < 1 {
			return
		}
		for _, strategy := range demote.Strategies {
			out = append(out, Join(r, Term("demote", fmt.Sprintf("%d:%s", words, strategy))))
		}
	}
	if s.kept() == "" {
		need := func(count int) int { return registers - count + addressWords }
		for _, n := range higherLevels(s, registers, func(count int) int {
			return 4 * min(need(count), room) * threads
		}) {
			if 2*room >= need(n) {
				add(need(n), Join(base, Term("maxnreg", fmt.Sprint(n))))
			}
		}
	}
	if spill > 0 {
		add((spill+3)/4+addressWords, base)
	}
	return out
}

// higherLevels returns the largest counts of the next levels of occupancy that are worth trying,
// where registers limit it. shared says how much more shared memory a build with so many registers
// will take, bytes.
func higherLevels(s *Situation, registers int, shared func(count int) int) []int {
	shape := s.Shape.Sim(s.Kernel.Default)
	now := s.Device.Occupancy(registers, shape)
	if now.Limit != sim.LimitRegisters {
		return nil
	}
	var out []int
	last := now.Warps
	for _, l := range s.Device.Levels(shape, LowestCap, registers) {
		with := shape
		with.Shared += shared(l.Max)
		if warps := s.Device.Occupancy(l.Max, with).Warps; float64(warps) >= demoteMore*float64(last) &&
			len(out) < demoteLevels {
			out, last = append(out, l.Max), warps
		}
	}
	return out
}

// demoteAround tries it on a winner: more or less of it, or in place of what the winner spills.
func demoteAround(s *Situation, best policy.Trial) []recipe.Recipe {
	if !demotable(s) {
		return nil
	}
	var words int
	var strategy string
	if value, ok := best.Recipe.Get("demote", ""); ok {
		if n, err := fmt.Sscanf(value, "%d:%s", &words, &strategy); n != 2 || err != nil {
			return nil
		}
		var out []recipe.Recipe
		for _, n := range []int{words * 3 / 4, words * 3 / 2, words + (best.Build.Spill+3)/4} {
			if n >= 1 && n <= demote.Most && n != words {
				out = append(out, Join(best.Recipe, Term("demote", fmt.Sprintf("%d:%s", n, strategy))))
			}
		}
		return out
	}
	base, threads, ok := demoteBase(s)
	if !ok {
		return nil
	}
	if n, ok := guardedBlock(best.Recipe); ok {
		threads = n
		if ForDynamic(best.Recipe) {
			base = recipe.Recipe{}
		}
	}
	base = Join(best.Recipe, base)
	if best.Build.Spill > 0 { // what the cap spills, in shared memory
		return demotions(s, base, threads, s.Kernel.Default.Registers, best.Build.Spill)
	}
	return demotions(s, base.Without("maxnreg"), threads, max(best.Build.Registers,
		s.Kernel.Default.Registers), 0)
}
