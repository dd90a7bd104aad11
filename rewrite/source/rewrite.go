package source

// The front door: terms of a recipe in, a whole rewritten text out.

import (
	"bytes"
	"sort"

	"gnvcc/rewrite"
)

// Options are what Rewrite has to know besides the terms.
type Options struct {
	// Signature holds the PTX types of the entry's parameters, in order (".u32", ".f64", ".b8[24]"). Without it values
	// whose type only PTX knows (enums, fields of structs) cannot be specialised.
	Signature []string
	// OverPragma lets unrolling replace the source's own unroll pragmas.
	OverPragma bool
	// NeverHolds adds to every guard a condition that no real launch fulfils, and that the compiler does not know: for
	// measuring what the plain copy costs.
	NeverHolds bool
	// Alone leaves the plain copy out: the host has looked at the guard (Conditions) and launches this kernel only where
	// it holds. One specialised copy, then.
	Alone bool
}

// Levers are the levers of a recipe that this stage carries out.
var Levers = []string{"unroll", "spec", "fastmath"}

// Rewrite returns the text with the terms carried out on the kernel that the PTX entry comes from. In the PTX of the
// result only that entry is to be used: for a template the other instantiations change too, and so do other kernels
// that share a device function. A Refusal says that the kernel is to be left as it is.
func (u *Unit) Rewrite(entry string, terms []rewrite.Term, opt Options) ([]byte, error) {
	k, err := u.Kernel(entry)
	if err != nil {
		return nil, err
	}
	return k.Rewrite(terms, opt)
}

// Rewrite is Unit.Rewrite for a kernel that was found before.
func (k *Kernel) Rewrite(terms []rewrite.Term, opt Options) ([]byte, error) {
	var unroll, spec, fast []rewrite.Term
	for _, t := range terms {
		switch t.Lever {
		case "unroll":
			unroll = append(unroll, t)
		case "spec":
			spec = append(spec, t)
		case "fastmath":
			fast = append(fast, t)
		default:
			return nil, refuse(k.label(), "%s is no lever of the source stage", t)
		}
	}
	if len(terms) == 0 {
		return k.u.text, nil
	}
	edits, err := k.unrollEdits(unroll, opt)
	if err != nil {
		return nil, err
	}
	renames, err := k.fastEdits(fast)
	if err != nil {
		return nil, err
	}
	edits = append(edits, renames...)
	copies, err := k.copies(spec, opt)
	if err != nil {
		return nil, err
	}
	sort.SliceStable(edits, func(i, j int) bool { return edits[i].off < edits[j].off })
	var out bytes.Buffer
	out.Grow(len(k.u.text) + len(k.u.text)/16)
	if len(copies) == 0 {
		k.u.render(&out, 0, len(k.u.text), edits)
		return out.Bytes(), nil
	}
	t := k.u.tokens
	open, stop := int(t[k.f.open].off), int(t[t[k.f.open].match].end)
	k.u.render(&out, 0, open, edits)
	if err := k.wrap(&out, copies, edits, opt); err != nil {
		return nil, err
	}
	k.u.render(&out, stop, len(k.u.text), edits)
	return out.Bytes(), nil
}
