package fold

import (
	"fmt"
	"math"
	"strconv"
	"strings"

	"gnvcc/rewrite/ptx"
	"gnvcc/rewrite/ptx/dataflow"
)

// Behind `x == s` the compiler puts s for x, and computes with it: so what comes from memory may be
// a constant in a variant, for a part of the kernel. That part need not be the branch's own in the
// kernel: `x == 3 || n > 0` tells x where n is known to be 0. So whatever a comparison of its own
// could tell is taken for what may become known, everywhere in the function.
//
// What tells a value: equality with anything that is a constant or may become one; an order of
// integers where it may leave one number, since there are two of them, or the other end is known:
// 0 of what is unsigned or a thread's number; an order of floats where two with the same number
// join to an equality. Constrained is what is compared, and what it is made of by operations on
// integers that have one solution, which the compiler finds; some bits of a number tell it where
// the others are compared as well. It solves none on floats but a sign (v * 2 == 6 tells nothing
// of v), nor asks which floats give an integer, and does not put 0 for x behind x == 0.0f, as x
// may be -0 (TestConstraints). One order alone tells what is cut from an integer elsewhere: behind
// k < 3, max(k, 7) is 7.

// Constraints finds the statements of a function whose results a comparison may tell.
type Constraints struct {
	f     *ptx.Func
	reach *dataflow.Reaching
	ops   [][]string // by statement
	// firm tells of an operand of a statement that it is a constant in no variant
	firm func(i int, operand string) bool
	// Ignored are comparisons that tell nothing; nil: there are none.
	Ignored func(i int) bool
	out     map[int]bool
	ends    map[int]map[string]bool // by statement: the other sides of orders that it stands in
	masked  map[int]uint64          // by statement: its bits that are compared
	// integers of which an order is asked, and those that others are cut from
	ordered map[int]bool
	cuts    []map[int]bool
}

// NewConstraints begins with no comparison read.
func NewConstraints(f *ptx.Func, reach *dataflow.Reaching,
	firm func(i int, operand string) bool) *Constraints {
	h := &Constraints{f: f, reach: reach, firm: firm, ops: make([][]string, len(f.Stmts)),
		out: map[int]bool{}}
	for i, st := range f.Stmts {
		if st.Kind != ptx.Inst {
			continue
		}
		for _, o := range f.Operands(i, nil) {
			h.ops[i] = append(h.ops[i], strings.TrimSpace(string(f.Bytes(o))))
		}
	}
	return h
}

// Constrain tells of a statement whether a comparison may fix its result.
func (h *Constraints) Constrain(i int) bool { return h.out[i] }

// Look finds what comparisons may tell by what is known now, and tells whether it is more.
func (h *Constraints) Look() bool {
	before := len(h.out)
	h.ends, h.masked = map[int]map[string]bool{}, map[int]uint64{}
	h.ordered, h.cuts = map[int]bool{}, nil
	for i := range h.f.Stmts {
		if h.ops[i] == nil || h.Ignored != nil && h.Ignored(i) {
			continue
		}
		switch base := string(h.f.Base(i)); {
		case base == "brx":
			h.tell(i, h.ops[i][0])
		case (base == "setp" || base == "set") && len(h.ops[i]) > 2:
			h.comparison(i, h.ops[i][1], h.ops[i][2])
		case h.isCut(i, base):
			for _, operand := range h.ops[i][1:] {
				h.cuts = append(h.cuts, h.defs(i, operand))
			}
		}
	}
	for _, defs := range h.cuts {
		for d := range defs {
			if h.ordered[d] {
				h.mark(defs)
				break
			}
		}
	}
	h.alike()
	return len(h.out) > before
}

// comparison tells what one may tell.
func (h *Constraints) comparison(i int, a, b string) {
	defs := map[int]bool{}
	some := h.slice(i, a, defs)
	some = h.slice(i, b, defs) || some
	op := h.f.Opcode(i)
	if !Float(op) && !equality(op) {
		for d := range defs {
			h.ordered[d] = true
		}
	}
	if !some {
		return // of data with data
	}
	switch {
	case Float(op) && equality(op):
		if !zero(a) && !zero(b) {
			h.mark(defs)
		}
	case equality(op), unsigned(op), h.counted(i, a), h.counted(i, b):
		h.mark(defs)
	default:
		h.order(i, a, b, ptx.HasModifier(op, "lt") || ptx.HasModifier(op, "ge"))
		h.order(i, b, a, ptx.HasModifier(op, "le") || ptx.HasModifier(op, "gt"))
	}
}

// isCut tells of an operation on integers whose result an order of an operand tells: its least or
// most, its absolute value, its sign.
func (h *Constraints) isCut(i int, base string) bool {
	if Float(h.f.Opcode(i)) {
		return false
	}
	switch base {
	case "min", "max", "abs":
		return true
	case "shr":
		by := h.ops[i][len(h.ops[i])-1]
		return by == "31" || by == "63"
	}
	return false
}

// order notes one of an operand with another: below says that equal ones are on the upper side. Of
// floats two with one number tell, of integers two that cut at different places.
func (h *Constraints) order(i int, operand, other string, below bool) {
	whole := !Float(h.f.Opcode(i))
	key := other
	if k, err := strconv.ParseInt(other, 0, 64); err == nil && whole && !below {
		key = fmt.Sprint(k + 1) // x > 2 cuts where x < 3 does
	} else if whole && !below && err != nil {
		key += " and more"
	}
	defs := h.defs(i, operand)
	for d := range defs {
		if h.ends[d] == nil {
			h.ends[d] = map[string]bool{}
		}
		for before := range h.ends[d] {
			if whole && before != key || !whole && (before == key || !literal(before) || !literal(key)) {
				h.mark(defs)
			}
		}
		h.ends[d][key] = true
	}
}

// tell marks what an operand is made of.
func (h *Constraints) tell(i int, operand string) { h.mark(h.defs(i, operand)) }

func (h *Constraints) mark(defs map[int]bool) {
	for d := range defs {
		h.out[d] = true
	}
}

// defs are what an operand is made of.
func (h *Constraints) defs(i int, operand string) map[int]bool {
	out := map[int]bool{}
	h.slice(i, operand, out)
	return out
}

// slice collects the statements that an operand is made of, as far as memory, and tells whether any
// of it is a constant, or may become one.
func (h *Constraints) slice(i int, operand string, out map[int]bool) bool {
	operand = strings.TrimSpace(operand)
	some := !h.firm(i, operand)
	if !h.reach.Written(operand) {
		return some
	}
	for _, d := range h.reach.Of(i, operand) {
		if out[d] {
			continue
		}
		out[d] = true
		if base := string(h.f.Base(d)); base == "and" || base == "shr" || base == "bfe" {
			some = h.mask(d) || some
			continue
		}
		if !h.solves(d) {
			continue
		}
		for _, o := range h.ops[d][1:] {
			for _, part := range strings.Split(strings.Trim(o, "{}"), ",") {
				some = h.slice(d, part, out) || some
			}
		}
	}
	return some
}

// solves tells of an operation whose operands its result may tell.
func (h *Constraints) solves(d int) bool {
	op := h.f.Opcode(d)
	switch string(h.f.Base(d)) {
	case "mov", "selp", "neg":
		return true
	case "cvt": // of an integer, or to a float
		return !Float(op) || toFloat(op)
	case "add", "sub", "mul", "mad", "shl", "xor", "not":
		return !Float(op)
	}
	return false
}

// mask notes which bits of a statement's operands are compared, and tells whether any constant but
// the mask is in it.
func (h *Constraints) mask(d int) (some bool) {
	var from []int
	bits := ^uint64(0) // all, where it is not known
	for n, operand := range h.ops[d][1:] {
		if literal(operand) {
			if k, err := strconv.ParseInt(operand, 0, 64); err == nil {
				bits = uint64(k)
				if base := string(h.f.Base(d)); n == 1 && base == "shr" {
					bits = ^uint64(0) << (k & 63)
				} else if base != "and" {
					bits = ^uint64(0)
				}
			}
			continue
		}
		some = some || !h.firm(d, operand)
		from = append(from, h.reach.Of(d, operand)...)
	}
	if !ptx.HasModifier(h.f.Opcode(d), "b64") && !ptx.HasModifier(h.f.Opcode(d), "u64") &&
		!ptx.HasModifier(h.f.Opcode(d), "s64") {
		bits |= uint64(math.MaxUint32) << 32
	}
	for _, k := range from {
		if h.masked[k] |= bits; h.masked[k] == ^uint64(0) && !h.out[k] {
			h.out[k] = true
			if h.solves(k) {
				for _, p := range h.ops[k][1:] {
					h.tell(k, p)
				}
			}
		}
	}
	return some
}

// toFloat tells of a conversion that gives a float.
func toFloat(op []byte) bool {
	words := strings.Split(string(op), ".")
	return Float([]byte("cvt." + words[len(words)-2]))
}

// counted tells of an operand that is a thread's or block's number, which begins with 0.
func (h *Constraints) counted(i int, operand string) bool {
	for range 10 {
		if !h.reach.Written(operand) {
			return strings.HasPrefix(operand, "%")
		}
		defs := h.reach.Of(i, operand)
		if len(defs) != 1 {
			return false
		}
		switch base := string(h.f.Base(defs[0])); base {
		case "mov", "cvt":
		case "and", "shr", "rem": // what is left has another end, too
			return true
		default:
			return false
		}
		i, operand = defs[0], h.ops[defs[0]][len(h.ops[defs[0]])-1]
	}
	return true
}

// alike takes what is read twice for constrained where one of the two is: the same special
// register, loads of one kind, the results of calls. With the result of a call its arguments are.
func (h *Constraints) alike() {
	found := map[string]bool{}
	for d := range h.out {
		found[h.source(d)] = true
	}
	delete(found, "")
	if found["ld.param"] { // a result: what it was made of is the caller's
		found["st.param"] = true
	}
	for i := range h.f.Stmts {
		switch source := h.source(i); {
		case source == "st.param" && found[source]:
			h.tell(i, h.ops[i][1])
		case source != "" && found[source]:
			h.out[i] = true
		}
	}
}

// source names what a statement reads, "" where it computes.
func (h *Constraints) source(i int) string {
	if len(h.ops[i]) < 2 {
		return ""
	}
	op, from := h.f.Opcode(i), h.ops[i][1]
	switch base := string(h.f.Base(i)); {
	case base == "mov" && strings.HasPrefix(from, "%") && !h.reach.Written(from):
		return from
	case base == "ld" && ptx.HasModifier(op, "param"):
		name := place(from)
		for k := range h.f.Params {
			if h.f.Params[k].Name == name {
				return from
			}
		}
		return "ld.param"
	case base == "ld":
		return string(op)
	case base == "st" && ptx.HasModifier(op, "param"):
		return "st.param"
	}
	return ""
}

func equality(op []byte) bool {
	for _, how := range []string{"eq", "ne", "equ", "neu"} {
		if ptx.HasModifier(op, how) {
			return true
		}
	}
	return false
}

func unsigned(op []byte) bool {
	for _, how := range []string{"lo", "ls", "hi", "hs", "u16", "u32", "u64"} {
		if ptx.HasModifier(op, how) {
			return true
		}
	}
	return false
}

// literal tells of a number in the code.
func literal(operand string) bool {
	return operand != "" && (operand[0] >= '0' && operand[0] <= '9' || operand[0] == '-')
}

// zero tells of a floating-point zero in the code.
func zero(operand string) bool {
	switch strings.ToLower(operand) {
	case "0f00000000", "0f80000000", "0d0000000000000000", "0d8000000000000000":
		return true
	}
	return false
}
