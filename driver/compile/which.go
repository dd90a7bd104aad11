package compile

import (
	"slices"
	"strings"

	"gnvcc/rewrite/fold"
	"gnvcc/rewrite/fold/same"
	"gnvcc/rewrite/ptx"
)

// With which of two products a sum was contracted. x*y - z*w is one multiplication and one
// contracted sum, and the line of the multiplication is that of the product which was rounded by
// itself. The other product is at no line: it was contracted, unless ptxas has its value from
// elsewhere, since another statement computes the same one.

// contractedWith is the operand of a contracted sum, from 0, whose product is in it: -1 where that
// can't be told.
func (d *doings) contractedWith(sum same.Statement) int {
	k, ok := d.with[sum]
	if !ok {
		k = d.whichOf(sum)
		d.with[sum] = k
	}
	return k
}

func (d *doings) whichOf(sum same.Statement) int {
	f := sum.Func
	var products [2]int
	for k, o := range f.Operands(sum.Index, nil)[1:] {
		defs := d.reach[f].Of(sum.Index, string(f.Bytes(o)))
		if k > 1 || len(defs) != 1 || f.Stmts[defs[0]].Guarded || string(f.Base(defs[0])) != "mul" ||
			!fold.FreeProduct(f, defs[0]) {
			return -1
		}
		products[k] = defs[0]
	}
	for k, p := range products {
		other := same.Statement{Func: f, Index: products[1-k]}
		if d.did[same.Statement{Func: f, Index: p}] == gone && d.did[other] == alone && !d.twin(f, p) {
			return k
		}
	}
	return -1
}

// contracted are the sums that ptxas contracted, each with its product: those of which that is
// known.
func (d *doings) contracted() map[same.Statement]same.Statement {
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

// twin tells whether another product that is computed may have the value of one.
func (d *doings) twin(f *ptx.Func, product int) bool {
	v := values{f, d.reach[f], &d.steps}
	return slices.ContainsFunc(d.products(f), func(i int) bool {
		return i != product && v.mayEqual(i, product, twinDepth)
	})
}

// products lists a function's products that are computed.
func (d *doings) products(f *ptx.Func) []int {
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

// twinDepth is how far down values are told from each other: what is further down counts as equal.
const twinDepth = 6

// twinSteps bounds how many pairs of values are told from each other in a proof, a second's work:
// what is not looked at counts as equal.
const twinSteps = 400_000

// mayEqual tells whether two statements may give one value, as far as a compiler sees: by the same
// instructions, from the same registers or addresses.
func (v values) mayEqual(i, j, depth int) bool {
	if i == j || depth == 0 || *v.steps >= twinSteps {
		return true
	}
	*v.steps++
	of, with := v.operands(i), v.operands(j)
	if string(v.f.Opcode(i)) != string(v.f.Opcode(j)) || len(of) != len(with) || len(of) < 2 {
		return twice(v.f, i) && v.scales(j) || twice(v.f, j) && v.scales(i)
	}
	alike := func(a, b []string) bool {
		for k := range a {
			if !v.mayHold(i, a[k], j, b[k], depth) {
				return false
			}
		}
		return true
	}
	if alike(of[1:], with[1:]) {
		return true
	}
	switch string(v.f.Base(i)) {
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
		return !strings.HasPrefix(o, "%")
	})
}

func (v values) operands(i int) (out []string) {
	for _, o := range v.f.Operands(i, nil) {
		out = append(out, strings.TrimSpace(string(v.f.Bytes(o))))
	}
	return out
}

// mayHold tells whether operand a of statement i may be what operand b of statement j is.
func (v values) mayHold(i int, a string, j int, b string, depth int) bool {
	if strings.HasPrefix(a, "[") && strings.HasPrefix(b, "[") {
		base, offset, _ := strings.Cut(strings.Trim(a, "[] "), "+")
		other, distance, _ := strings.Cut(strings.Trim(b, "[] "), "+")
		return offset == distance && v.mayHold(i, base, j, other, depth)
	}
	i, a = v.moved(i, a)
	j, b = v.moved(j, b)
	if !v.reach.Written(a) || !v.reach.Written(b) {
		return a == b
	}
	for _, d := range v.reach.Of(i, a) {
		for _, e := range v.reach.Of(j, b) {
			if d == e && a == b || d != e && v.mayEqual(d, e, depth-1) {
				return true
			}
		}
	}
	return false
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
