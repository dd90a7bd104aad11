package source

// Guarded specialisation: a second copy of the body for values that the launches were seen to have.
//
//	{ BODY }      { if ((unsigned int)n == 1024u && ::blockDim.x == 256u) { int n = 1024; { BODY } } else { BODY } }
//
// Every launch that has other values takes the plain copy, and a parameter's variable in the
// specialised copy is one that the body may change as it may change its parameter. Up to three
// specialised copies; the first guard that holds is taken. Fields of structs, blockDim and gridDim
// are guarded only: LLVM carries the equality into the branch.
//
// Where the host looks at the guard, it compares bytes: sizes, offsets and classes of all values
// stand in the text, too, so that the compiler refuses it where this reader took a type for another
// one.
//
// Static shared arrays come out once per copy: MergeShared makes them one again.

import (
	"bytes"
	"fmt"
	"slices"
	"strings"

	"gnvcc/rewrite/recipe"
)

// Limits: specialised copies of one body, and the text of one body. The prototype's largest useful
// body had 40 KB.
const (
	maxCopies = 3
	maxBody   = 64 << 10
)

// A copy is one specialised copy of the body.
type copied struct {
	guard   string
	declare string
	// what must be true of the types, "" for nothing: else the compiler refuses the text
	judge string
}

// copies reads the spec terms.
func (k *Kernel) copies(terms []recipe.Term, opt Options) ([]copied, error) {
	if len(terms) == 0 {
		return nil, nil
	}
	if len(terms) > maxCopies {
		return nil, refuse(k.label(), "%d specialised copies, and %d are the most", len(terms), maxCopies)
	}
	values, err := k.Values(opt.Signature)
	if err != nil {
		return nil, err
	}
	t := k.u.tokens
	if size := int(t[t[k.f.open].match].end - t[k.f.open].off); size > maxBody {
		return nil, refuse(k.label(), "its body has %d bytes, and %d are the most that is copied", size,
			maxBody)
	}
	var out []copied
	seen := map[string]bool{}
	for _, term := range terms {
		c, err := k.copy(term, values, opt.Alone)
		if err != nil {
			return nil, err
		}
		if seen[c.guard] {
			return nil, refuse(k.label(), "%s stands twice", term)
		}
		seen[c.guard] = true
		out = append(out, c)
	}
	return out, nil
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
		if t.IsCopy() {
			g, err := t.Guard()
			if err == nil {
				g, err = g.Places(func(p recipe.Place) (recipe.Place, error) {
					v, err := find(values, p)
					return v.Place(), err
				})
			}
			if err != nil {
				return r, refuse(k.label(), "%s: %v", t, err)
			}
			t = g.Term(t.Lever)
		}
		out = out.With(t)
	}
	return out, nil
}

// copy reads one term; alone: for a copy that the host chooses.
func (k *Kernel) copy(term recipe.Term, values []Value, alone bool) (copied, error) {
	var c copied
	var guards, judges []string
	g, err := term.Guard()
	if err != nil {
		return c, refuse(k.label(), "%v", err)
	}
	for _, condition := range g.Conditions {
		switch condition.Kind {
		case recipe.BlockDim, recipe.GridDim:
			guards = append(guards, fmt.Sprintf("::%s == %du", condition.Key(), condition.Number))
		case recipe.Argument, recipe.Alignment:
			v, err := find(values, condition.Of)
			switch {
			case err != nil:
				return c, refuse(k.label(), "%s: %v", term, err)
			case condition.Kind == recipe.Alignment && (v.Why != "" || v.Class != Pointer || v.field):
				return c, refuse(k.label(), "%s: %s is no pointer parameter", term, condition.Of)
			case v.Why != "":
				return c, refuse(k.label(), "%s: %s cannot be specialised: %s", term, condition.Of, v.Why)
			}
			if condition.Kind == recipe.Alignment {
				guards = append(guards, fmt.Sprintf("((unsigned long long)%s & %dull) == 0ull", v.Name,
					condition.Number-1))
				// Said of the pointer itself, not by a copy of it: a copy would lose __restrict__.
				c.declare += fmt.Sprintf(" (void)__builtin_assume_aligned((const void *)%s, %d);", v.Name,
					condition.Number)
				continue
			}
			x, err := v.bits(condition.Value)
			if err != nil {
				return c, refuse(k.label(), "%s: %v", term, err)
			}
			guards = append(guards, v.guard(x))
			if judge := v.judge(); judge != "" {
				judges = append(judges, judge)
			}
			if v.shadow {
				c.declare += " " + v.declare(x)
			}
		default:
			if !alone {
				return c, refuse(k.label(), "%s: %s is for the host, and only a second entry is chosen there",
					term, condition.Key())
			}
		}
	}
	c.judge = strings.Join(judges, " && ")
	if c.guard = strings.Join(guards, " && "); len(guards) == 0 {
		c.guard = "true" // the host alone looks
	}
	return c, nil
}

// wrap writes the body, from its { to its }, once for each set of values and once more as the plain
// copy.
func (k *Kernel) wrap(out *bytes.Buffer, copies []copied, edits []insertion, opt Options) error {
	u := k.u
	open := int(u.tokens[k.f.open].off)
	stop := int(u.tokens[u.tokens[k.f.open].match].end)
	never := ""
	if opt.Alone && (len(copies) != 1 || opt.NeverHolds) {
		return refuse(k.label(), "a kernel without a plain copy is for one set of values")
	}
	out.WriteString("{ ")
	for i, c := range copies {
		if c.judge != "" { // an array of a negative size is an error in every C++
			fmt.Fprintf(out, "typedef char __gnvcc_judge%d[%s ? 1 : -1]; ", i, c.judge)
		}
	}
	if opt.NeverHolds {
		reg, most, ok := neverRegister(copies)
		if !ok {
			return refuse(k.label(),
				"every dimension of the launch is specialised: no guard is left that never holds")
		}
		fmt.Fprintf(out,
			`unsigned int __gnvcc_never; asm("mov.u32 %%0, %%%%%s;" : "=r"(__gnvcc_never)); `, reg)
		never = fmt.Sprintf("__gnvcc_never == %du && ", most)
	}
	for _, c := range copies {
		fmt.Fprintf(out, "if (%s%s) {%s", never, c.guard, c.declare)
		u.restore(out, open)
		u.render(out, open, stop, edits)
		out.WriteString(" } else ")
	}
	if opt.Alone {
		out.WriteString("__builtin_unreachable(); }")
		u.restore(out, stop)
		return nil
	}
	u.restore(out, open)
	u.render(out, open, stop, edits)
	out.WriteString(" }")
	u.restore(out, stop)
	return nil
}

// neverRegister picks a special register for a guard that never holds in a real launch: the largest
// value of a dimension that no guard speaks of. The compiler cannot know it, it comes out of inline
// assembly; and should a launch have it, the guard's other half still decides, so that the program
// means the same.
func neverRegister(copies []copied) (reg string, most uint64, ok bool) {
	for _, r := range []struct {
		register, name string
		most           uint64
	}{{"nctaid.z", "gridDim.z", 65535}, {"nctaid.y", "gridDim.y", 65535}, {"nctaid.x", "gridDim.x",
		1<<31 - 1},
		{"ntid.z", "blockDim.z", 64}, {"ntid.y", "blockDim.y", 1024}} {
		used := false
		for _, c := range copies {
			used = used || strings.Contains(c.guard, "::"+r.name+" ")
		}
		if !used {
			return r.register, r.most, true
		}
	}
	return "", 0, false
}
