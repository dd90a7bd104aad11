package compile

import (
	"bytes"
	"slices"
	"strconv"
	"strings"

	"gnvcc/rewrite/fold"
	"gnvcc/rewrite/fold/same"
	"gnvcc/rewrite/ptx"
	"gnvcc/rewrite/ptx/dataflow"
)

// With which of two products a sum was contracted. x*y - z*w is one multiplication and one
// contracted sum. What that adds is the product which was rounded by itself, and the machine code
// shows at whose line the instruction is that gives it: then the other product is in the sum. Where
// that instruction stands in another block, the lines alone have to tell: the one product is at its
// line, and the other is at no line. It was contracted, unless ptxas has its value from elsewhere,
// since another statement computes the same one.

// contractedWith is the operand of a contracted sum, from 0, whose product is in it; -1: not known.
func (d *outcomes) contractedWith(sum same.Statement) int {
	k, ok := d.with[sum]
	if !ok {
		k = d.whichOf(sum)
		d.with[sum] = k
	}
	return k
}

func (d *outcomes) whichOf(sum same.Statement) int {
	f := sum.Func
	var products [2]int
	for k, o := range f.Operands(sum.Index, nil)[1:] {
		defs := d.reach[f].Of(sum.Index, string(f.Bytes(o)))
		for len(defs) == 1 && !f.Stmts[defs[0]].Guarded && string(f.Base(defs[0])) == "neg" {
			defs = d.reach[f].Of(defs[0], string(f.Bytes(f.Operands(defs[0], nil)[1])))
		}
		if k > 1 || len(defs) != 1 || f.Stmts[defs[0]].Guarded || string(f.Base(defs[0])) != "mul" ||
			!fold.FreeProduct(f, defs[0]) {
			return -1
		}
		products[k] = defs[0]
	}
	if added, ok := d.adding[sum]; ok && !d.values(f).mayEqual(products[0], products[1]) {
		for k := range products {
			if added == (same.Statement{Func: f, Index: products[1-k]}) {
				return k
			}
		}
	}
	for k, p := range products {
		other := same.Statement{Func: f, Index: products[1-k]}
		if d.did[same.Statement{Func: f, Index: p}] == gone && d.did[other] == alone && !d.doubled(f, p) {
			return k
		}
	}
	return -1
}

// contracted are the sums that ptxas contracted, each with its product: those of which that is
// known.
func (d *outcomes) contracted() map[same.Statement]same.Statement {
	out := map[same.Statement]same.Statement{}
	for s, did := range d.did {
		if did != contracted {
			continue
		}
		f := s.Func
		only := -1
		switch of := d.factored(s); len(of) {
		case 0:
		case 1:
			only = of[0]
		default:
			only = d.contractedWith(s)
		}
		if only < 0 {
			continue
		}
		defs := d.reach[f].Of(s.Index, string(f.Bytes(f.Operands(s.Index, nil)[1+only])))
		if len(defs) == 1 && !f.Stmts[defs[0]].Guarded && string(f.Base(defs[0])) == "mul" &&
			fold.FreeProduct(f, defs[0]) {
			out[s] = same.Statement{Func: f, Index: defs[0]}
		}
	}
	return out
}

// doubled tells whether another product that is computed may have the value of one.
func (d *outcomes) doubled(f *ptx.Func, product int) bool {
	v := d.values(f)
	return slices.ContainsFunc(d.products(f), func(i int) bool {
		return i != product && v.mayEqual(i, product)
	})
}

// values compares what registers of a function hold.
func (d *outcomes) values(f *ptx.Func) values {
	if d.equal[f] == nil {
		d.equal[f] = pairs{}
	}
	return values{f, d.reach[f], d.equal[f]}
}

// products lists a function's products that are computed.
func (d *outcomes) products(f *ptx.Func) []int {
	out, ok := d.computed[f]
	if !ok {
		for s, did := range d.did {
			if s.Func == f && did != gone && fold.FreeProduct(f, s.Index) {
				out = append(out, s.Index)
			}
		}
		slices.Sort(out)
		d.computed[f] = out
	}
	return out
}

// pairs of statements, and whether they may give one value.
type pairs map[[2]int]bool

// mostPairs bounds how many pairs of a function are compared, a second's work: those
// that are not looked at count as equal.
const mostPairs = 400_000

// mayEqual tells whether two statements may give one value, as far as a compiler sees: by the same
// instructions, from the same registers or addresses, however far up. Values of loops are made of
// themselves: a pair counts as equal until it is told apart, so that what is found too early can
// only be taken for equal.
func (v values) mayEqual(i, j int) bool {
	if i == j {
		return true
	}
	key := [2]int{min(i, j), max(i, j)}
	known, ok := v.pairs[key]
	if !ok {
		if len(v.pairs) >= mostPairs {
			return true
		}
		v.pairs[key] = true
		known = v.madeAlike(i, j)
		v.pairs[key] = known
	}
	return known
}

// madeAlike is mayEqual by the instructions and their operands.
func (v values) madeAlike(i, j int) bool {
	of, with := v.operands(i), v.operands(j)
	if string(v.f.Opcode(i)) != string(v.f.Opcode(j)) || len(of) != len(with) || len(of) < 2 {
		return twice(v.f, i) && v.scales(j) || twice(v.f, j) && v.scales(i) ||
			v.loads(i) && v.loads(j) && !v.distinct(i, j) && !v.distinct(j, i) || v.whole(i) && v.whole(j)
	}
	alike := func(a, b []string) bool {
		for k := range a {
			if !v.mayHold(i, a[k], j, b[k]) {
				return false
			}
		}
		return true
	}
	if alike(of[1:], with[1:]) {
		return true
	}
	switch string(v.f.Base(i)) {
	case "ld":
		return v.handed(i) && v.handed(j)
	case "mul", "add", "fma", "mad", "min", "max":
		crossed := slices.Clone(with[1:])
		crossed[0], crossed[1] = crossed[1], crossed[0]
		return alike(of[1:], crossed)
	}
	return false
}

// twice tells of x + x, which is x * 2.
func twice(f *ptx.Func, i int) bool { return string(f.Base(i)) == "add" && fold.FreeProduct(f, i) }

// scales tells of a product with a number.
func (v values) scales(i int) bool {
	return string(v.f.Base(i)) == "mul" && slices.ContainsFunc(v.operands(i)[1:], func(o string) bool {
		_, o = v.moved(i, o)
		return !v.reach.IsRegister(o)
	})
}

func (v values) loads(i int) bool { return string(v.f.Base(i)) == "ld" }

// distinct tells of two loads that the one gives an argument of the kernel, and the other what
// memory holds: no compiler sees that they are one value, unless the kernel stores the argument.
func (v values) distinct(argument, memory int) bool {
	if !v.f.Entry || !ptx.HasModifier(v.f.Opcode(argument), "param") {
		return false
	}
	if !v.parameter(argument) {
		return false
	}
	return slices.ContainsFunc([]string{"global", "shared", "local"}, func(space string) bool {
		return ptx.HasModifier(v.f.Opcode(memory), space)
	}) && !v.stored(argument)
}

// parameter tells of a load of one of the function's own parameters.
func (v values) parameter(i int) bool {
	base, _, ok := v.f.Address(v.f.Operands(i, nil)[1])
	return ok && slices.ContainsFunc(v.f.Params, func(p ptx.Variable) bool {
		return p.Name == string(base)
	})
}

// handed tells of a load of what ptxas may have in a register: a variable in local memory, or what
// a function returned.
func (v values) handed(i int) bool {
	op := v.f.Opcode(i)
	return ptx.HasModifier(op, "local") || ptx.HasModifier(op, "param") && !v.parameter(i)
}

// stored tells whether what a statement gives may be stored to memory.
func (v values) stored(i int) bool {
	key := [2]int{-1, i}
	known, ok := v.pairs[key]
	if ok {
		return known
	}
	v.pairs[key] = true // while it is looked at
	for at := range v.f.Stmts {
		switch string(v.f.Base(at)) {
		case "st", "atom", "red", "call":
		default:
			continue
		}
		v.f.Effects(at, func(n ptx.Span, read, _ bool) {
			for _, d := range v.reach.Of(at, string(v.f.Bytes(n))) {
				known = known || read && (d == i || v.mayEqual(d, i))
			}
		})
		if known {
			break
		}
	}
	v.pairs[key] = known
	return known
}

// whole tells of arithmetic on integers: there are many ways to compute a number.
func (v values) whole(i int) bool {
	switch string(v.f.Base(i)) {
	case "add", "sub", "mul", "mad", "shl", "shr", "shf", "and", "or", "xor", "not", "neg", "lop3",
		"bfe", "bfi", "prmt", "cvt", "min", "max", "div", "rem":
		return !inTypes(v.f.Opcode(i), "f32", "f64", "f16", "f16x2", "bf16", "bf16x2", "f32x2")
	}
	return false
}

func (v values) operands(i int) (out []string) {
	for _, o := range v.f.Operands(i, nil) {
		out = append(out, strings.TrimSpace(string(v.f.Bytes(o))))
	}
	return out
}

// mayHold tells whether operand a of statement i may be what operand b of statement j is.
func (v values) mayHold(i int, a string, j int, b string) bool {
	inside := strings.HasPrefix(a, "[") && strings.HasPrefix(b, "[")
	if inside {
		a, b = strings.Trim(a, "[] "), strings.Trim(b, "[] ")
	}
	i, a, offset := v.behind(i, a, inside)
	j, b, distance := v.behind(j, b, inside)
	if offset != distance {
		return false
	}
	if strings.HasPrefix(a, "{") && strings.HasPrefix(b, "{") {
		return true // of several registers
	}
	if !v.reach.Written(a) || !v.reach.Written(b) {
		return a == b
	}
	for _, d := range v.reach.Of(i, a) {
		for _, e := range v.reach.Of(j, b) {
			if d == e && a == b || d != e && v.mayEqual(d, e) {
				return true
			}
		}
	}
	return false
}

// behind follows an operand through moves and sums with numbers, and tells how far from there it
// is.
func (v values) behind(i int, operand string, address bool) (at int, from string, offset int64) {
	if base, by, ok := strings.Cut(operand, "+"); address && ok {
		n, err := strconv.ParseInt(strings.TrimSpace(by), 0, 64)
		if err != nil {
			return i, operand, 0
		}
		operand, offset = strings.TrimSpace(base), n
	}
	for range 100 {
		i, operand = v.moved(i, operand)
		if !v.reach.Written(operand) {
			break
		}
		defs := v.reach.Of(i, operand)
		if len(defs) != 1 || string(v.f.Base(defs[0])) != "add" || v.f.Stmts[defs[0]].Guarded ||
			!v.whole(defs[0]) {
			break
		}
		of := v.operands(defs[0])
		if len(of) != 3 {
			break
		}
		n, err := strconv.ParseInt(of[2], 0, 64)
		if err != nil {
			break
		}
		i, operand, offset = defs[0], of[1], offset+n
	}
	return i, operand, offset
}

// moved follows an operand through moves.
func (v values) moved(i int, operand string) (int, string) {
	for range 100 {
		if !v.reach.Written(operand) {
			break
		}
		defs := v.reach.Of(i, operand)
		if len(defs) != 1 || string(v.f.Base(defs[0])) != "mov" || v.f.Stmts[defs[0]].Guarded {
			break
		}
		of := v.operands(defs[0])
		if len(of) != 2 || strings.HasPrefix(of[0], "{") || strings.HasPrefix(of[1], "{") {
			break
		}
		i, operand = defs[0], of[1]
	}
	return i, operand
}

// An approximate division is a product with the reciprocal, which the GPU looks up. Where there is
// no such instruction at a division's line, ptxas has taken the reciprocal for another division, or
// has computed it.

// shares tells of a division by the same value as another one that is computed on the GPU: ptxas
// takes the reciprocal once, and multiplies.
func (d *outcomes) shares(s same.Statement) bool {
	f := s.Func
	ops := f.Operands(s.Index, nil)
	if string(f.Base(s.Index)) != "div" || len(ops) != 3 {
		return false
	}
	v := values{f: f, reach: d.reach[f]}
	for other, did := range d.did {
		if did != looked || other.Func != f || !bytes.Equal(f.Opcode(other.Index), f.Opcode(s.Index)) {
			continue
		}
		if more := f.Operands(other.Index, nil); len(more) == 3 && v.equal(s.Index, ops[2], other.Index,
			more[2], 0) {
			return true
		}
	}
	return false
}

// computes tells of a division of the variant by a constant of the text, of which ptxas takes the
// reciprocal by itself: in the kernel (d) it does so in every division by that constant, too.
func (d *outcomes) computes(after *outcomes, s same.Statement) bool {
	by := after.divisor(s)
	found := false
	for other, did := range d.did {
		if by == "" || !bytes.Equal(other.Func.Opcode(other.Index), s.Func.Opcode(s.Index)) ||
			d.divisor(other) != by {
			continue
		}
		if did == looked {
			return false
		}
		found = true
	}
	return found
}

// divisor is the constant that a division divides by, "" where it is none.
func (d *outcomes) divisor(s same.Statement) string {
	ops := s.Func.Operands(s.Index, nil)
	if string(s.Func.Base(s.Index)) != "div" || len(ops) != 3 {
		return ""
	}
	by := string(s.Func.Bytes(ops[2]))
	if reach := d.reach[s.Func]; reach.Written(by) {
		of := reach.Of(s.Index, by)
		if len(of) != 1 || string(s.Func.Base(of[0])) != "mov" || s.Func.Stmts[of[0]].Guarded {
			return ""
		}
		by = string(s.Func.Bytes(s.Func.Operands(of[0], nil)[1]))
	}
	if by == "" || by[0] < '0' || by[0] > '9' {
		return ""
	}
	return by
}

// values compares what registers of a function hold.
type values struct {
	f     *ptx.Func
	reach *dataflow.Reaching
	pairs pairs // mayEqual's
}

// equal tells that operand x of statement i is made as operand y of statement j is: by the same
// writes, or by instructions without memory that have equal operands.
func (v values) equal(i int, x ptx.Span, j int, y ptx.Span, depth int) bool {
	const deepest = 8
	a, b := string(v.f.Bytes(x)), string(v.f.Bytes(y))
	if !v.reach.Written(a) || !v.reach.Written(b) {
		return a == b
	}
	from, to := v.reach.Of(i, a), v.reach.Of(j, b)
	if a == b && slices.Equal(from, to) {
		return true
	}
	if len(from) != 1 || len(to) != 1 || depth == deepest {
		return false
	}
	i, j = from[0], to[0]
	op := v.f.Opcode(i)
	if !bytes.Equal(op, v.f.Opcode(j)) || v.f.Stmts[i].Guarded || v.f.Stmts[j].Guarded {
		return false
	}
	switch string(v.f.Base(i)) {
	case "cvt", "mov", "mul", "mad", "fma", "add", "sub", "neg", "abs", "shl", "shr":
	case "ld":
		if !ptx.HasModifier(op, "param") {
			return false
		}
	default:
		return false
	}
	of, with := v.f.Operands(i, nil), v.f.Operands(j, nil)
	if len(of) != len(with) || len(of) < 2 {
		return false
	}
	for k := 1; k < len(of); k++ {
		if !v.equal(i, of[k], j, with[k], depth+1) {
			return false
		}
	}
	return true
}
