package rewrite

import (
	"strconv"

	"gnvcc/rewrite/pass"
	"gnvcc/rewrite/ptx"
	"gnvcc/rewrite/ptx/dataflow"
)

// Streams tells of each load that a hint may be given to (the sites of ld@N) which array it reads:
// loads with the same number read through the same pointer argument, -1 where that can't be told.
// Numbers go from 0 in the order of the text.
//
// An address is followed back through additions, moves and conversions to the parameter that it
// begins with. What is multiplied or shifted on the way is an index, and not followed; neither is
// what comes from memory: a pointer in a structure in memory is no argument.
func Streams(f *ptx.Func) []int {
	list := pass.Accesses(f, "ld")
	if len(list) == 0 {
		return nil
	}
	t := tracer{f: f, origins: dataflow.OriginsOf(f), found: make(map[string]string)}
	numbers := make(map[string]int)
	out := make([]int, len(list))
	for k, a := range list {
		out[k] = -1
		base, _, ok := f.Address(f.Operands(a.Stmt, nil)[1])
		if !ok {
			continue
		}
		from := t.origin(string(base), make(map[string]bool))
		if from == "" || from == manyOrigins {
			continue
		}
		n, ok := numbers[from]
		if !ok {
			n = len(numbers)
			numbers[from] = n
		}
		out[k] = n
	}
	return out
}

// manyOrigins stands for more than one parameter.
const manyOrigins = "*"

// A tracer follows registers back to parameters.
type tracer struct {
	f       *ptx.Func
	origins *dataflow.Origins
	found   map[string]string // register -> its origin
}

// origin names the parameter (with its offset, for structures) that a register's value begins with;
// "" where it is none.
func (t *tracer) origin(reg string, on map[string]bool) string {
	// a pointer that moves along in a loop comes back to itself
	if from, ok := t.found[reg]; ok || on[reg] {
		return from
	}
	on[reg] = true
	from := ""
	for _, i := range t.origins.Defs(reg) {
		from = both(from, t.through(i, on))
	}
	delete(on, reg)
	if len(on) == 0 { // inside a circle it is not the whole truth
		t.found[reg] = from
	}
	return from
}

func both(a, b string) string {
	switch {
	case a == "" || a == b:
		return b
	case b == "":
		return a
	}
	return manyOrigins
}

// through follows one statement that writes a register.
func (t *tracer) through(i int, on map[string]bool) string {
	f := t.f
	ops := f.Operands(i, nil)
	if len(ops) < 2 {
		return ""
	}
	switch string(f.Base(i)) {
	case "ld":
		base, offset, ok := f.Address(ops[1])
		if !ok || !ptx.HasModifier(f.Opcode(i), "param") {
			return ""
		}
		for k := range f.Params {
			if p := &f.Params[k]; p.Name == string(base) && (p.Pointer || p.Type == "u64" ||
				p.Type == "b64" || len(p.Dims) > 0) {
				return strconv.Itoa(k) + string(offset)
			}
		}
		return ""
	case "mov", "cvta", "selp":
		ops = ops[1:]
	case "add", "sub":
		ops = ops[1:]
	case "mad": // a * b + c
		ops = ops[len(ops)-1:]
	default:
		return ""
	}
	from := ""
	for _, o := range ops {
		if name := f.Bytes(o); name[0] == '%' {
			from = both(from, t.origin(string(name), on))
		}
	}
	return from
}
