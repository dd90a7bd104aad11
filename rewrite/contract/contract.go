package contract

import (
	"fmt"
	"strings"

	"gnvcc/rewrite/ptx"
	"gnvcc/rewrite/ptx/dataflow"
)

// Alone, in place of an operand, says of a sum that it is rounded by itself.
const Alone = -1

// A Sum is an addition or subtraction that names no rounding, and what it is contracted with.
type Sum struct {
	Stmt int // in Func.Stmts
	With int // the operand, 0 or 1, that is the product, or Alone
}

// prefix begins the names of the registers that Write declares.
const prefix = "%gnvcc_f"

// Write notes the sums, and commits. left are those, by their statements before that, which PTX has
// no words for: their product is more than one multiplication, comes by way of another instruction,
// or is of another kind of rounding.
//
//	add.f32 %f3, %f1, %f2;           alone: add.rn.f32 %f3, %f1, %f2;
//	                                 with %f1, which is mul.f32 %f1, %f4, %f5:
//	                                 fma.rn.f32 %f3, %gnvcc_fs0, %gnvcc_fs1, %f2;
//
// An operation that names its rounding is contracted with nothing (PTX ISA, "Floating Point
// Instructions": add, mul). The factors are copied where the product is computed, since they may
// have other values by the time of the sum.
func Write(f *ptx.Func, sums []Sum) (left []int, err error) {
	if len(sums) == 0 {
		return nil, nil
	}
	if strings.Contains(string(f.Text()), prefix) {
		return nil, fmt.Errorf("the kernel has registers called %s already", prefix)
	}
	reach, err := dataflow.ReachingOf(f)
	if err != nil {
		return nil, err
	}
	w := writer{f: f, reach: reach, copies: map[int][2]string{}}
	w.declare(sums)
	for _, s := range sums {
		if !w.sum(s) {
			left = append(left, s.Stmt)
		}
	}
	return left, f.Commit()
}

var (
	kinds = [...]string{"f32", "f64"}
	// in the names of their registers; ptxas takes none in front of <n> that ends in a digit
	letters = [len(kinds)]string{"s", "d"}
)

type writer struct {
	f         *ptx.Func
	reach     *dataflow.Reaching
	registers [len(kinds)]int
	copies    map[int][2]string // of a product's factors, by its statement
}

// declare declares as many registers as the sums can take: two factors and two signs each.
func (w *writer) declare(sums []Sum) {
	var most [len(kinds)]int
	for _, s := range sums {
		_, modifiers, _ := strings.Cut(string(w.f.Opcode(s.Stmt)), ".")
		if kind := kindOf(modifiers); kind >= 0 && s.With != Alone {
			most[kind] += 4
		}
	}
	for kind, n := range most {
		if n > 0 {
			w.f.Insert(w.f.First(), fmt.Sprintf(".reg .%s %s%s<%d>;", kinds[kind], prefix, letters[kind], n))
		}
	}
}

// sum notes the edits for one sum.
func (w *writer) sum(s Sum) bool {
	f := w.f
	op := string(f.Opcode(s.Stmt))
	base, modifiers, _ := strings.Cut(op, ".")
	at := ptx.Span{Start: f.Stmts[s.Stmt].Op, End: f.Stmts[s.Stmt].OpEnd}
	if base != "add" && base != "sub" || ptx.NamesRounding([]byte(op)) {
		return false
	}
	if s.With == Alone {
		f.ReplaceSpan(at, base+".rn."+modifiers)
		return true
	}
	o := f.Operands(s.Stmt, nil)
	kind := kindOf(modifiers)
	if len(o) != 3 || kind < 0 {
		return false
	}
	product, minus := w.product(s.Stmt, string(f.Bytes(o[1+s.With])), modifiers)
	if product < 0 {
		return false
	}
	x, y := w.factors(product, kind)
	other := string(f.Bytes(o[2-s.With]))
	// signs that the fma has to change, in registers of their own in front of it
	negated := ""
	negate := func(from string) string {
		to := w.register(kind)
		negated += fmt.Sprintf("neg.%s %s, %s;\n\t", kinds[kind], to, from)
		return to
	}
	if base == "sub" && s.With == 0 { // x*y - c
		other = negate(other)
	}
	if minus != (base == "sub" && s.With == 1) { // c - x*y
		x = negate(x)
	}
	stmt := f.Stmts[s.Stmt]
	guard := strings.TrimSpace(string(f.Bytes(ptx.Span{Start: stmt.Start, End: stmt.Op})))
	if guard != "" {
		guard += " "
	}
	f.ReplaceSpan(ptx.Span{Start: stmt.Start, End: stmt.End}, fmt.Sprintf("%s%sfma.rn.%s %s, %s, %s, %s;",
		negated, guard, modifiers, f.Bytes(o[0]), x, y, other))
	return true
}

// kindOf is the index in kinds of an instruction's type, -1 for others.
func kindOf(modifiers string) int {
	for n, k := range kinds {
		if modifiers == k || strings.HasSuffix(modifiers, "."+k) {
			return n
		}
	}
	return -1
}

// product finds the one multiplication that an operand holds, with its sign or the other, and that
// a sum with these modifiers can be contracted with; -1: there is none.
func (w *writer) product(sum int, operand, modifiers string) (at int, minus bool) {
	for at = sum; ; {
		defs := w.reach.Of(at, operand)
		if len(defs) != 1 || w.f.Stmts[defs[0]].Guarded {
			return -1, false
		}
		at = defs[0]
		base, of, _ := strings.Cut(string(w.f.Opcode(at)), ".")
		if of != strings.ReplaceAll(modifiers, "sat.", "") {
			return -1, false
		}
		switch base {
		case "mul":
			return at, minus
		case "neg":
			operand, minus = string(w.f.Bytes(w.f.Operands(at, nil)[1])), !minus
		default:
			return -1, false
		}
	}
}

// factors are registers with a product's factors.
func (w *writer) factors(product, kind int) (x, y string) {
	if of, ok := w.copies[product]; ok {
		return of[0], of[1]
	}
	o := w.f.Operands(product, nil)
	var of [2]string
	text := ""
	for n := range of {
		of[n] = w.register(kind)
		text += fmt.Sprintf("mov.%s %s, %s;\n\t", kinds[kind], of[n], w.f.Bytes(o[1+n]))
	}
	w.f.Insert(product, strings.TrimSuffix(text, "\n\t"))
	w.copies[product] = of
	return of[0], of[1]
}

// register gives one that nothing else uses.
func (w *writer) register(kind int) string {
	w.registers[kind]++
	return fmt.Sprintf("%s%s%d", prefix, letters[kind], w.registers[kind]-1)
}
