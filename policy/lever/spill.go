package lever

import (
	"fmt"

	"gnvcc/policy"
	"gnvcc/rewrite/demote"
	"gnvcc/rewrite/recipe"
)

// ptxas' own spilling into shared memory (.pragma "enable_smem_spilling", CUDA 13.0 and later)
// instead of local memory. It helps where registers spill, by default or under a cap; it is fatal
// with real calls, with dynamic shared memory and with -rdc, so those are left out here, too.
//
// Where registers limit the occupancy it is tried with the caps of the next levels, beside demotion
// and caps alone (RegDem's Table 3), in an entry for the block at hand, so that ptxas reserves no
// more than that needs.

// spillTries are the recipes to try on the default code.
func spillTries(s *Situation) []recipe.Recipe {
	base, threads, ok := demoteBase(s)
	if !ok || !smemSpills(s) {
		return nil
	}
	k, by := s.Kernel, Term("demote", demote.Spill)
	var out []recipe.Recipe
	if k.Default.Spill > 0 {
		out = append(out, Join(base, by))
	}
	if threads <= 2*s.Shape.Threads() && s.kept() == "" {
		for _, n := range higherLevels(s, k.Default.Registers, func(count int) int {
			return 4 * (k.Default.Registers - count) * threads
		}) {
			out = append(out, Join(Join(base, by), Term("maxnreg", fmt.Sprint(n))))
		}
	}
	return out
}

// spillAround tries it on a winner: under caps that are known to spill and to lose little by it, and
// where it spills already.
func spillAround(s *Situation, best policy.Trial) []recipe.Recipe {
	base, _, ok := demoteBase(s)
	if ForDynamic(best.Recipe) {
		base, ok = recipe.Recipe{}, true
	}
	if !ok || !smemSpills(s) {
		return nil
	}
	var out []recipe.Recipe
	for _, r := range caps(s, best.Recipe.Without("maxnreg").Without("demote"),
		Region{Min: LowestCap, Max: best.Build.Registers}) {
		if tr := s.Trial(r.String()); tr != nil && tr.Refused == "" && tr.Build.Spill > 0 &&
			tr.Ratio > 0 && tr.Ratio < 1.2*best.Ratio {
			out = append(out, Join(Join(r, base), Term("demote", demote.Spill)))
		}
	}
	if best.Build.Spill > 0 {
		out = append(out, Join(Join(best.Recipe, base), Term("demote", demote.Spill)))
	}
	return out
}

// smemSpills reports whether ptxas can do it.
func smemSpills(s *Situation) bool {
	k := s.Kernel
	return !k.Calls && !k.Dynamic && !k.Reloc && s.Shape.Dynamic == 0 && versionAtLeast(k.Ptxas, 13)
}

// versionAtLeast compares a tool's version ("13.0.88") with a major number.
func versionAtLeast(version string, major int) bool {
	n := 0
	for _, c := range version {
		if c < '0' || c > '9' {
			break
		}
		n = 10*n + int(c-'0')
	}
	return n >= major
}
