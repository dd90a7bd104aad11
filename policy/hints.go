package policy

import (
	"fmt"
	"slices"

	"gnvcc/rewrite/recipe"
	"gnvcc/rewrite/source"
)

// Hints and meanings. A block's largest size (__launch_bounds__(N)) has a meaning: the program
// is wrong without it, and every recipe keeps it. The second value of __launch_bounds__,
// __maxnreg__(N), -maxrregcount and #pragma unroll N are hints: somebody thought, once and for
// some GPU, that the kernel would be faster with them. What is measured faster on the user's own
// launches outvotes a hint, unless he says --keep-directives (Options.Keep). The kernel's
// identity knows them: with another hint it is another kernel, of which nothing was measured.

// Outvoted lists the hints for a kernel that a recipe does not keep.
func (k *Kernel) Outvoted(r recipe.Recipe) []string {
	var out []string
	add := func(hint string) {
		if hint != "" && !slices.Contains(out, hint) {
			out = append(out, hint)
		}
	}
	for _, t := range r.Terms {
		switch t.Lever {
		case "maxnreg":
			add(k.Bounds)
		case "unroll":
			for _, l := range k.Loops {
				if l.Site != "" && l.Site == t.Site {
					add(pragma(l))
				}
			}
		}
		if g, err := t.Guard(); err == nil {
			for _, hint := range k.Outvoted(g.Own) {
				add(hint)
			}
		}
	}
	return out
}

// pragma names a loop's unroll pragma, "" where it has none.
func pragma(l source.Loop) string {
	if !l.Pragma {
		return ""
	}
	return fmt.Sprintf("#pragma unroll of the loop in line %d", l.Line)
}
