package lowered

// Specialisation: the body for values that launches were seen to have. The host launches such a
// kernel (a second entry) only where the values are these.
//
//	{ BODY }      { if ((unsigned int)n == 1024u && ::blockDim.x == 256u) { int n = 1024u; { BODY } } else __builtin_unreachable(); }
//
// Fields of structs, blockDim and gridDim are compared only: LLVM carries the equality into the
// branch.
//
// The host compares bytes: sizes, offsets and classes of all values stand in the text, too, so that
// the compiler refuses it where this reader took a type for another one.

import (
	"cmp"
	"encoding/binary"
	"fmt"
	"slices"
	"strings"

	"gnvcc/rewrite/recipe"
)

// maxBody is the longest body that is specialised, bytes of lowered text.
const maxBody = 256 << 10

// A copied is what stands around a specialised body.
type copied struct {
	guard   string // "": the body is not specialised
	declare string
	judge   string // what must be true of the types, "" for nothing
}

// copied reads the spec terms: one at most. What they say is given twice, for the text and for the
// host.
func (k *Kernel) copied(terms []recipe.Term, signature []string) (c copied, host Conditions, err error) {
	if len(terms) == 0 {
		return c, host, nil
	}
	if len(terms) > 1 {
		return c, host, refuse(k.Entry, "a second entry is for one set of values")
	}
	values, err := k.Values(signature)
	if err != nil {
		return c, host, err
	}
	t, d := k.u.tokens, &k.u.decls[k.def]
	if size := int(t[d.to-1].end - t[d.body].off); size > maxBody {
		return c, host, refuse(k.Entry, "its body has %d bytes, and %d are the most that is copied", size,
			maxBody)
	}
	g, err := terms[0].Guard()
	if err != nil {
		return c, host, refuse(k.Entry, "%v", err)
	}
	host.Block, host.Grid = g.Block(), g.Grid()
	host.Dynamic, host.HasDynamic = g.Dynamic()
	var guards, judges []string
	for _, condition := range g.Conditions {
		switch condition.Kind {
		case recipe.BlockDim, recipe.GridDim:
			guards = append(guards, fmt.Sprintf("::%s == %du", condition.Key(), condition.Number))
		case recipe.Argument, recipe.Alignment:
			v, err := find(values, condition.Of)
			aligns := condition.Kind == recipe.Alignment
			switch {
			case err != nil:
				return c, host, refuse(k.Entry, "%s: %v", terms[0], err)
			case aligns && (v.Why != "" || v.Class != Pointer || v.field != ""):
				return c, host, refuse(k.Entry, "%s: %s is no pointer parameter", terms[0], condition.Of)
			case v.Why != "":
				return c, host, refuse(k.Entry, "%s: %s cannot be specialised: %s", terms[0], condition.Of, v.Why)
			case aligns:
				guards = append(guards, fmt.Sprintf("((unsigned long long)%s & %dull) == 0ull", v.is,
					condition.Number-1))
				// Said of the pointer itself, not by a copy of it: a copy would lose __restrict__.
				c.declare += fmt.Sprintf(" (void)__builtin_assume_aligned((const void *)%s, %d);", v.is,
					condition.Number)
				host.Arguments = append(host.Arguments, Argument{Index: v.Argument, Align: condition.Number})
				continue
			}
			x, err := v.bits(condition.Value)
			if err != nil {
				return c, host, refuse(k.Entry, "%s: %v", terms[0], err)
			}
			guards = append(guards, v.guard(x))
			judges = append(judges, v.judge())
			if v.shadow {
				c.declare += " " + v.declare(x)
			}
			host.Arguments = append(host.Arguments, Argument{Index: v.Argument, Offset: v.Offset,
				Bytes: binary.LittleEndian.AppendUint64(nil, x)[:v.Bits/8]})
		}
	}
	c.judge = strings.Join(judges, " && ")
	c.guard = cmp.Or(strings.Join(guards, " && "), "true") // the host alone looks
	return c, host, nil
}

// find gives the value at a place: by its name, or by argument and offset.
func find(values []Value, p recipe.Place) (Value, error) {
	var found []Value
	for _, v := range values {
		if v.Name != "" && (p.Name != "" && v.Name == p.Name || p.Name == "" && v.Argument == p.Index &&
			v.Offset == p.Offset) {
			found = append(found, v)
		}
	}
	switch len(found) {
	case 0:
		return Value{}, fmt.Errorf("it has no parameter or plain field %s", p)
	case 1:
		return found[0], nil
	}
	return Value{}, fmt.Errorf("%s could be %s or %s", p, found[0].Name, found[1].Name)
}

// Place is where the value lies, as a recipe keeps it.
func (v Value) Place() recipe.Place { return recipe.Place{Index: v.Argument, Offset: v.Offset} }

// Resolve gives a recipe in which a user called values by name as it is kept: by the arguments'
// numbers, which mean the same in every source of a kernel.
func (k *Kernel) Resolve(r recipe.Recipe, signature []string) (recipe.Recipe, error) {
	named := func(t recipe.Term) bool {
		g, err := t.Guard()
		return err == nil && g.Named() != ""
	}
	if !slices.ContainsFunc(r.Terms, named) {
		return r, nil
	}
	values, err := k.Values(signature)
	if err != nil {
		return r, err
	}
	var out recipe.Recipe
	for _, t := range r.Terms {
		if t.IsSecond() {
			g, err := t.Guard()
			if err == nil {
				g, err = g.Places(func(p recipe.Place) (recipe.Place, error) {
					v, err := find(values, p)
					return v.Place(), err
				})
			}
			if err != nil {
				return r, refuse(k.Entry, "%s: %v", t, err)
			}
			t = g.Term()
		}
		out = out.With(t)
	}
	return out, nil
}

// wrap gives the edits that put a copied around the kernel's body.
func (k *Kernel) wrap(c copied) []edit {
	t, d := k.u.tokens, &k.u.decls[k.def]
	var b strings.Builder
	b.WriteString("{ ")
	if c.judge != "" { // an array of a negative size is an error
		fmt.Fprintf(&b, "typedef char __gnvcc_judge[%s ? 1 : -1]; ", c.judge)
	}
	fmt.Fprintf(&b, "if (%s) {%s ", c.guard, c.declare)
	return []edit{{off: t[d.body].off, text: b.String()},
		{off: t[d.to-1].off, blank: 1, text: "} } else __builtin_unreachable(); }"}}
}
