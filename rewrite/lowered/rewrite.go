package lowered

// The front door: terms of a recipe in, a kernel's slice with them carried out.

import (
	"slices"
	"strings"

	"gnvcc/rewrite/recipe"
)

// Rewrite returns the kernel's slice with the terms carried out, as a complete input for cicc. A
// refusal says that the kernel is to be left as it is.
//
// signature holds the PTX types of the entry's parameters, in order (".u32", ".f64", ".b8[24]"), nil
// if they are not known.
func (u *Unit) Rewrite(entry string, terms []recipe.Term, signature []string) ([]byte, error) {
	k, err := u.Kernel(entry)
	if err != nil {
		return nil, err
	}
	return k.Rewrite(terms, signature)
}

// Rewrite is Unit.Rewrite for a kernel that was found before.
func (k *Kernel) Rewrite(terms []recipe.Term, signature []string) ([]byte, error) {
	var unroll, spec, fast []recipe.Term
	for _, t := range terms {
		switch t.Lever {
		case "unroll":
			unroll = append(unroll, t)
		case recipe.Second:
			spec = append(spec, t)
		case "fastmath":
			fast = append(fast, t)
		default:
			return nil, refuse(k.Entry, "%s is no lever of the source stage", t)
		}
	}
	edits, err := k.unrollEdits(unroll)
	if err != nil {
		return nil, err
	}
	renames, functions, err := k.fastEdits(fast)
	if err != nil {
		return nil, err
	}
	edits = append(edits, renames...)
	c, _, err := k.copied(spec, signature)
	if err != nil {
		return nil, err
	}
	s := k.slice
	if c.guard != "" {
		edits = append(edits, k.wrap(c)...)
		names := []string{k.u.words[k.u.decls[k.def].name]}
		for _, name := range []string{"blockDim", "gridDim", "__float_as_int", "__int_as_float",
			"__double_as_longlong", "__longlong_as_double"} {
			if strings.Contains(c.guard+c.declare, "::"+name) {
				names = append(names, name)
			}
		}
		s = k.u.reached(k.def, names...)
	}
	slices.SortStableFunc(edits, func(a, b edit) int { return int(a.off - b.off) })
	return k.u.print(s, functions, edits), nil
}
