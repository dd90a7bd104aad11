package lever

import (
	"fmt"

	"gnvcc/policy"
	"gnvcc/rewrite/recipe"
)

// ptxas' own spilling into shared memory (.pragma "enable_smem_spilling", CUDA 13.0 and later)
// instead of local memory. It helps where registers spill, by default or under a cap; it is fatal
// with real calls, with dynamic shared memory and with -rdc, so those are left out here, too.
//
// Where registers limit the occupancy it is tried with the caps of the next levels, beside demotion
// and caps alone (RegDem's Table 3), in an entry for the block at hand, so that ptxas reserves no
// more than that needs.

var _ = register(Lever{
	Name: "smemspill", Idea: "spills into shared memory:", Gain: 1.012,
	Try: func(s *Situation) []recipe.Recipe {
		if !smemSpills(s) {
			return nil
		}
		k, on := s.Kernel, Term("smemspill", "on")
		base, threads, ok := demoteBase(s)
		var out []recipe.Recipe
		if k.Default.Spill > 0 && ok {
			out = append(out, Join(base, on))
		}
		if ok && threads <= 2*s.Shape.Threads() && s.kept() == "" {
			for _, n := range higherLevels(s, k.Default.Registers, func(count int) int {
				return 4 * (k.Default.Registers - count) * threads
			}) {
				out = append(out, Join(Join(base, on), Term("maxnreg", fmt.Sprint(n))))
			}
		}
		return out
	},
	With: []string{"maxnreg"},
	Why:  whyNoSpills,
	Around: func(s *Situation, best policy.Trial) []recipe.Recipe {
		if !smemSpills(s) {
			return nil
		}
		base, _, ok := demoteBase(s)
		if ForDynamic(best.Recipe) {
			base = recipe.Recipe{}
		} else if !ok {
			return nil
		}
		var out []recipe.Recipe
		for _, r := range caps(s, best.Recipe.Without("maxnreg").Without("smemspill"),
			Region{Min: LowestCap, Max: best.Build.Registers}) {
			// Where the cap is known to spill and to lose little by it.
			if tr := s.Trial(r.String()); tr != nil && tr.Refused == "" && tr.Build.Spill > 0 &&
				tr.Ratio > 0 && tr.Ratio < 1.2*best.Ratio {
				out = append(out, Join(Join(r, base), Term("smemspill", "on")))
			}
		}
		if best.Build.Spill > 0 {
			out = append(out, Join(Join(best.Recipe, base), Term("smemspill", "on")))
		}
		return out
	},
})

// whyNoSpills says why ptxas can't spill there, or has nothing to spill.
func whyNoSpills(s *Situation) string {
	k := s.Kernel
	switch {
	case !versionAtLeast(k.Ptxas, 13):
		return "ptxas 13.0 and later do it"
	case k.Calls:
		return "it calls functions"
	case k.Dynamic || s.Shape.Dynamic > 0:
		return "dynamic shared memory"
	case k.Reloc:
		return "-rdc=true"
	case k.NoSecond != "":
		return "it is for second entries, chosen by their dynamic shared memory: " + k.NoSecond
	}
	return "nothing is spilled, and fewer registers would not bring many more warps"
}

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
