package same

import (
	"slices"
	"strconv"
	"strings"

	"gnvcc/rewrite/ptx"
)

// Which variable of local memory an address is of. cicc puts all of a function's into one array,
// and takes the address of each one that is indexed once: `add.u64 %rd4, %SPL, 160`. What is
// computed from that stays inside of the variable, or nobody may use it. So what is stored to one
// variable is not read from another. An address that may be of two makes them one; one that is made
// of anything else makes all of them one.

// localVars are a function's variables in local memory: by offset, the offset that stands for it
// and for those that can't be distinguished by it. Nil: they are all one.
type localVars map[int]int

// wholeDepot stands for all variables together.
const wholeDepot = -1

// of is the variable that a load or store of local memory may reach.
func (v localVars) of(f *function, at int, address string) int {
	if v == nil {
		return wholeDepot
	}
	k, ok := f.varAt[at]
	if !ok {
		offsets, _ := f.localOffsets(at, address)
		k = v.find(offsets[0]) // there is one: localVars has looked at all addresses
		f.varAt[at] = k
	}
	return k
}

func (v localVars) find(k int) int {
	for v[k] != k {
		k = v[k]
	}
	return k
}

// localVars looks at all that is done with local memory.
func (f *function) localVars() localVars {
	type access struct {
		at      int
		address string
	}
	var all []access
	starts := localVars{}
	for i, st := range f.Stmts {
		if st.Kind != ptx.Inst {
			continue
		}
		if k, ok := f.start(i); ok {
			starts[k] = k
		}
		base, op, ops := string(f.Base(i)), f.Opcode(i), f.ops[i]
		switch {
		case base == "ld" && len(ops) > 1 && ptx.Space(op) == "local":
			all = append(all, access{i, ops[1]})
		case base == "st" && len(ops) > 1 && (ptx.Space(op) == "local" || ptx.Space(op) == ""):
			all = append(all, access{i, ops[0]})
		}
	}
	for _, a := range all {
		offsets, ok := f.localOffsets(a.at, a.address)
		if !ok || len(offsets) == 0 {
			return nil
		}
		for _, k := range offsets {
			if _, ok := starts[k]; !ok {
				return nil
			}
			starts[starts.find(k)] = starts.find(offsets[0])
		}
	}
	return starts
}

// start tells of a statement that takes the address of a variable, and its offset.
func (f *function) start(i int) (offset int, ok bool) {
	ops := f.ops[i]
	if string(f.Opcode(i)) != "add.u64" || len(ops) != 3 || ops[1] != "%SPL" || f.Stmts[i].Guarded {
		return 0, false
	}
	k, err := strconv.Atoi(ops[2])
	return k, err == nil && k >= 0
}

// localOffsets are the variables that an address may be made of, sorted; not ok: also of what
// nobody knows.
func (f *function) localOffsets(at int, address string) (out []int, ok bool) {
	name, _ := base(address)
	type use struct {
		at   int
		text string
	}
	found, seen := map[int]bool{}, map[int]bool{}
	ok = true
	todo := []use{{at, name}}
	for len(todo) > 0 && ok {
		u := todo[len(todo)-1]
		todo = todo[:len(todo)-1]
		if !f.reach.IsRegister(u.text) {
			ok = ok && u.text != "" && (u.text[0] >= '0' && u.text[0] <= '9' || u.text[0] == '-')
			continue
		}
		if !f.reach.Written(u.text) {
			ok = ok && isSpecial[strings.SplitN(u.text[1:], ".", 2)[0]]
			continue
		}
		for _, d := range f.reach.Of(u.at, u.text) {
			if seen[d] {
				continue
			}
			seen[d] = true
			if k, start := f.start(d); start {
				found[k] = true
				continue
			}
			switch op := f.Opcode(d); string(f.Base(d)) {
			case "ld":
				// A pointer may come from memory, or from a caller; an index has 32 bits.
				ok = ok && (width(op) < 8 || f.Entry && ptx.Space(op) == "param")
				continue
			case "setp": // which of two
				continue
			case "add", "sub", "mov", "selp", "mul", "mad", "shl", "shr", "cvt", "and", "or", "xor", "neg",
				"not", "min", "max", "div", "rem", "abs", "bfe", "bfi", "lop3", "shf", "prmt":
			default:
				ok = ok && !wide(op) // no pointer
				continue
			}
			for _, o := range f.ops[d][1:] {
				for _, p := range parts(o) {
					todo = append(todo, use{d, p})
				}
			}
		}
	}
	for k := range found {
		out = append(out, k)
	}
	slices.Sort(out)
	return out, ok
}
