package source

// The front door: terms of a recipe in, a whole rewritten text out.

import (
	"bytes"
	"sort"

	"gnvcc/rewrite/recipe"
)

// Rewrite returns the text with the terms carried out on the kernel that the PTX entry comes from.
// In the PTX of the result only that entry is to be used: for a template the other instantiations
// change too, and so do other kernels that share a device function. A refusal says that the kernel
// is to be left as it is.
//
// signature holds the PTX types of the entry's parameters, in order (".u32", ".f64", ".b8[24]").
// Without it values whose type only PTX knows (enums, fields of structs) cannot be specialised.
func (u *Unit) Rewrite(entry string, terms []recipe.Term, signature []string) ([]byte, error) {
	k, err := u.Kernel(entry)
	if err != nil {
		return nil, err
	}
	return k.rewrite(terms, signature)
}

// rewrite is Unit.Rewrite for a kernel that was found before.
func (k *Kernel) rewrite(terms []recipe.Term, signature []string) ([]byte, error) {
	w, err := k.work(terms, signature)
	if err != nil {
		return nil, err
	}
	return k.u.carryOut([]*work{w}), nil
}

// A work is what the terms for one kernel come to.
type work struct {
	k     *Kernel
	edits []insertion
	copy  copied
}

// work reads the terms.
func (k *Kernel) work(terms []recipe.Term, signature []string) (*work, error) {
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
			return nil, refuse(k.label(), "%s is no lever of the source stage", t)
		}
	}
	w := &work{k: k}
	var err error
	if w.edits, err = k.unrollEdits(unroll); err != nil {
		return nil, err
	}
	renames, err := k.fastEdits(fast)
	if err != nil {
		return nil, err
	}
	w.edits = append(w.edits, renames...)
	if w.copy, _, err = k.copied(spec, signature); err != nil {
		return nil, err
	}
	return w, nil
}

// carryOut gives the text with works that do not conflict.
func (u *Unit) carryOut(works []*work) []byte {
	var edits []insertion
	var bodies []*work // whose bodies are copied, one for each body
	seen := map[insertion]bool{}
	done := map[*function]bool{}
	for _, w := range works {
		for _, e := range w.edits {
			if !seen[e] {
				seen[e] = true
				edits = append(edits, e)
			}
		}
		if w.copy.guard != "" && !done[w.k.f] {
			done[w.k.f] = true
			bodies = append(bodies, w)
		}
	}
	if len(edits)+len(bodies) == 0 {
		return u.text
	}
	sort.SliceStable(edits, func(i, j int) bool { return edits[i].off < edits[j].off })
	sort.Slice(bodies, func(i, j int) bool { return bodies[i].k.f.open < bodies[j].k.f.open })
	var out bytes.Buffer
	out.Grow(len(u.text) + len(u.text)/16)
	at := 0
	for _, w := range bodies {
		t := u.tokens
		open, stop := int(t[w.k.f.open].off), int(t[t[w.k.f.open].match].end)
		u.render(&out, at, open, edits)
		w.k.wrap(&out, w.copy, edits)
		at = stop
	}
	u.render(&out, at, len(u.text), edits)
	return out.Bytes()
}
