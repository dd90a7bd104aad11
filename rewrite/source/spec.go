package source

// Guarded specialisation: a second copy of the body for values that the launches were seen to have.
//
//	{ BODY }      { if ((unsigned int)n == 1024u && ::blockDim.x == 256u) { int n = 1024; { BODY } } else { BODY } }
//
// Every launch that has other values takes the plain copy, and a parameter's variable in the specialised copy is one that
// the body may change as it may change its parameter. Up to three specialised copies; the first guard that holds is taken.
// Fields of structs, blockDim and gridDim are guarded only: LLVM carries the equality into the branch.
//
// Where the host looks at the guard, it compares bytes: sizes, offsets and classes of all values stand in the text, too, so that the
// compiler refuses it where this reader took a type for another one.
//
// Static shared arrays come out once per copy: MergeShared makes them one again.

import (
	"bytes"
	"fmt"
	"strconv"
	"strings"

	"gnvcc/rewrite/recipe"
)

// Limits: specialised copies of one body, and the text of one body. The prototype's largest useful body had 40 KB.
const (
	maxCopies = 3
	maxBody   = 64 << 10
)

// A copy is one specialised copy of the body.
type copied struct {
	guard   string
	declare string
	judge   string // what must be true of the types, "" for nothing: else the compiler refuses the text
}

var dimensions = map[string]uint64{ // the largest value that a launch can have (CUDA programming guide, compute capabilities)
	"blockDim.x": 1024, "blockDim.y": 1024, "blockDim.z": 64,
	"gridDim.x": 1<<31 - 1, "gridDim.y": 65535, "gridDim.z": 65535,
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
		return nil, refuse(k.label(), "its body has %d bytes, and %d are the most that is copied", size, maxBody)
	}
	byName := map[string]Value{}
	for _, v := range values {
		if v.Name != "" {
			byName[v.Name] = v
		}
	}
	var out []copied
	seen := map[string]bool{}
	for _, term := range terms {
		if !term.Brace || term.Site != "" {
			return nil, refuse(k.label(), "%s: a specialisation is spec{name=value,...}", term)
		}
		c, err := k.copy(term, byName, opt.Alone)
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

// copy reads one term; alone: for a copy that the host chooses.
func (k *Kernel) copy(term recipe.Term, byName map[string]Value, alone bool) (copied, error) {
	var c copied
	var guards, judges []string
	fixed := map[string]bool{}
	if _, err := recipe.HostConditions(term.Value); err != nil {
		return c, refuse(k.label(), "%s: %v", term, err)
	}
	for _, item := range strings.Split(term.Value, ",") {
		name, text, ok := strings.Cut(strings.TrimSpace(item), "=")
		if !ok || name == "" || text == "" {
			return c, refuse(k.label(), "%s: %q is not name=value", term, item)
		}
		if strings.HasPrefix(name, "host(") {
			if !alone {
				return c, refuse(k.label(), "%s: %s is for the host, and only a second entry is chosen there", term, name)
			}
			continue
		}
		if fixed[name] {
			return c, refuse(k.label(), "%s: %s stands twice", term, name)
		}
		fixed[name] = true
		if most, ok := dimensions[name]; ok {
			x, err := strconv.ParseUint(text, 10, 32)
			if err != nil || x < 1 || x > most {
				return c, refuse(k.label(), "%s: %s is 1 to %d", term, name, most)
			}
			guards = append(guards, fmt.Sprintf("::%s == %du", name, x))
			continue
		}
		if p, ok := strings.CutPrefix(name, "align("); ok {
			p = strings.TrimSuffix(p, ")")
			v, known := byName[p]
			x, err := strconv.ParseUint(text, 10, 32)
			switch {
			case !known || v.Why != "" || v.Class != Pointer || v.field:
				return c, refuse(k.label(), "%s: %s is no pointer parameter", term, p)
			case err != nil || x < 2 || x > 128 || x&(x-1) != 0:
				return c, refuse(k.label(), "%s: an alignment is a power of two from 2 to 128", term)
			}
			guards = append(guards, fmt.Sprintf("((unsigned long long)%s & %dull) == 0ull", p, x-1))
			// Told by the pointer itself, not by a copy of it: a copy would lose __restrict__.
			c.declare += fmt.Sprintf(" (void)__builtin_assume_aligned((const void *)%s, %d);", p, x)
			continue
		}
		v, ok := byName[name]
		if !ok {
			return c, refuse(k.label(), "%s: it has no parameter or plain field %s", term, name)
		}
		if v.Why != "" {
			return c, refuse(k.label(), "%s: %s cannot be specialised: %s", term, name, v.Why)
		}
		x, err := v.bits(text)
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
	}
	c.judge = strings.Join(judges, " && ")
	if c.guard = strings.Join(guards, " && "); len(guards) == 0 {
		c.guard = "true" // the host alone looks
	}
	return c, nil
}

// wrap writes the body, from its { to its }, once per copy and once more plain.
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
			return refuse(k.label(), "every dimension of the launch is specialised: no guard is left that never holds")
		}
		fmt.Fprintf(out, `unsigned int __gnvcc_never; asm("mov.u32 %%0, %%%%%s;" : "=r"(__gnvcc_never)); `, reg)
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

// neverRegister picks a special register for a guard that never holds in a real launch: the largest value of a dimension that
// no guard speaks of. The compiler cannot know it, it comes out of inline assembly; and should a launch have it, the guard's
// other half still decides, so that the program means the same.
func neverRegister(copies []copied) (reg string, most uint64, ok bool) {
	for _, r := range [][2]string{{"nctaid.z", "gridDim.z"}, {"nctaid.y", "gridDim.y"}, {"nctaid.x", "gridDim.x"},
		{"ntid.z", "blockDim.z"}, {"ntid.y", "blockDim.y"}} {
		used := false
		for _, c := range copies {
			used = used || strings.Contains(c.guard, "::"+r[1]+" ")
		}
		if !used {
			return r[0], dimensions[r[1]], true
		}
	}
	return "", 0, false
}
