package lever

import (
	"fmt"
	"strings"

	"gnvcc/policy"
	"gnvcc/rewrite/lowered"
	"gnvcc/rewrite/recipe"
)

// Unrolling: one factor for all loops of the kernel in the user's files that have no pragma, then
// factors per loop, also for those whose pragma is a hint (allowed.go). 1 wins too: less
// code and fewer registers than LLVM's own choice.

var _ = register(Lever{
	Name: recipe.Unroll, Idea: "loops unrolled", Gain: 1.047,
	Try: func(s *Situation) []recipe.Recipe {
		var out []recipe.Recipe
		if len(freeLoops(s.Kernel)) > 0 {
			out = unrolls("", 4, 1, 2, 8, 16)
		}
		return append(out, againstPragmas(s)...)
	},
	Why: func(s *Situation) string {
		if s.Kernel.NoUnroll != "" {
			return s.Kernel.NoUnroll
		}
		return "no loop without a #pragma unroll of its own"
	},
	// What helped, further; then per loop: innermost ones first, each with the factors that the whole
	// does not have. At most mostLoops a round: a round is repeated while it gains. With the default
	// as the best so far it is loops one by one: a factor that one loop wants may undo what LLVM does
	// to another (a short inner loop that it unrolls completely).
	Around: func(s *Situation, best policy.Trial) []recipe.Recipe {
		loops := freeLoops(s.Kernel)
		if !s.Options.Keep {
			loops = append(loops, askedLoops(s.Kernel)...)
		}
		var out []recipe.Recipe
		for _, t := range best.Recipe.Terms {
			if t.Lever == recipe.Unroll {
				for _, factor := range further[t.Value] {
					out = append(out, best.Recipe.With(recipe.Term{Lever: recipe.Unroll, Site: t.Site, Value: factor}))
				}
			}
		}
		if len(loops) < 2 {
			return out
		}
		whole, _ := best.Recipe.Get(recipe.Unroll, "")
		taken := 0
		for n := 0; n < len(loops) && taken < mostLoops; n++ {
			site := loops[n].Site
			if _, ok := best.Recipe.Get(recipe.Unroll, site); ok {
				continue
			}
			taken++
			factors := []string{"1", "4", "8", "2", "16"}
			if trip := loops[n].Trip; trip > 1 && trip <= 64 {
				factors = append(factors, "full")
			}
			for _, factor := range factors {
				if factor != whole {
					out = append(out, best.Recipe.With(recipe.Term{Lever: recipe.Unroll, Site: site, Value: factor}))
				}
			}
		}
		return out
	},
	Words: func(k *policy.Kernel, t recipe.Term) string {
		what := "loops"
		if t.Site != "" {
			what = "loop " + place(t.Site)
		}
		switch t.Value {
		case "1":
			return what + " not unrolled"
		case "full":
			return what + " unrolled completely"
		}
		return fmt.Sprintf("%s unrolled %s times", what, t.Value)
	},
	Source:   func(t recipe.Term) string { return strings.TrimSuffix("#pragma unroll "+t.Value, " full") },
	Refuse:   func(k *policy.Kernel, t recipe.Term) string { return k.NoUnroll },
	Outvotes: pragma,
})

// pragma names the unroll pragma of a term's loop, "" where it has none.
func pragma(k *policy.Kernel, t recipe.Term) string {
	for _, l := range k.Loops {
		if l.Site != "" && l.Site == t.Site && l.Pragma {
			return fmt.Sprintf("#pragma unroll of the loop in line %d", l.Line)
		}
	}
	return ""
}

// place reads a loop's site: "2" is the kernel's second loop, "f.1" the first one of a function f.
func place(site string) string {
	if function, n, ok := strings.Cut(site, "."); ok {
		return n + " of " + function
	}
	return site
}

// mostLoops bounds the loops that get factors of their own in one round. A candidate of one costs a
// slice's cicc (0.1 s) and ptxas, as one of all loops does.
const mostLoops = 6

// Pairs are two loops together, each with the factor that was its best alone: a factor that gains
// nothing by itself may, where the loop around it or next to it has another one, too. At most three
// pairs, of the loops that lost least.
func Pairs(s *Situation, trials []*policy.Trial) []recipe.Recipe {
	var best []recipe.Recipe
	seen := map[string]bool{}
	for _, tr := range policy.Rank(trials) {
		r := tr.Recipe
		if len(r.Terms) != 1 || r.Terms[0].Lever != recipe.Unroll || r.Terms[0].Site == "" ||
			seen[r.Terms[0].Site] || tr.Ratio > Combinable {
			continue
		}
		seen[r.Terms[0].Site] = true
		best = append(best, r)
	}
	var out []recipe.Recipe
	for i, a := range best[:min(len(best), 3)] {
		for _, b := range best[i+1 : min(len(best), 3)] {
			out = append(out, Join(a, b))
		}
	}
	return out
}

// further are the factors next to one that helped. For the whole kernel 1 to 16 have been tried by
// then, and are passed over.
var further = map[string][]string{"1": {"2"}, "2": {"4"}, "4": {"2", "8"}, "8": {"16"},
	"16": {"32"}}

func unrolls(site string, factors ...int) []recipe.Recipe {
	var out []recipe.Recipe
	for _, f := range factors {
		out = append(out, recipe.Recipe{}.With(recipe.Term{Lever: recipe.Unroll, Site: site,
			Value: fmt.Sprint(f)}))
	}
	return out
}

// mostAsked bounds the loops with a pragma of which other factors are tried at first.
const mostAsked = 2

// againstPragmas are other factors for loops that have one of the source's: none, and a small one,
// which give back registers and code.
func againstPragmas(s *Situation) []recipe.Recipe {
	if s.Options.Keep {
		return nil
	}
	var out []recipe.Recipe
	loops := askedLoops(s.Kernel)
	for _, l := range loops[:min(len(loops), mostAsked)] {
		out = append(out, unrolls(l.Site, 1, 4)...)
	}
	return out
}

// freeLoops returns the loops without a pragma that a factor may be given, innermost ones first.
func freeLoops(k *policy.Kernel) []lowered.Loop { return loopsOf(k, false) }

// askedLoops returns those that have one of the source's.
func askedLoops(k *policy.Kernel) []lowered.Loop { return loopsOf(k, true) }

func loopsOf(k *policy.Kernel, asked bool) []lowered.Loop {
	if k.NoUnroll != "" {
		return nil
	}
	var out []lowered.Loop
	for _, inner := range []bool{true, false} {
		for _, l := range k.Loops {
			if l.Kind == "for" && l.Pragma == asked && l.Inner == inner && (!asked || l.Site != "") {
				out = append(out, l)
			}
		}
	}
	return out
}
