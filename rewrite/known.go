package rewrite

import (
	"encoding/binary"
	"errors"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

	"gnvcc/rewrite/pass"
	"gnvcc/rewrite/ptx"
	"gnvcc/rewrite/recipe"
	"gnvcc/rewrite/refuse"
	"gnvcc/rewrite/stub"
)

// known{#1=64,blockDim.x=256} is spec in PTX: a second entry for launches that have these values,
// made of nvcc's own PTX, in which what reads them is a number:
//
//	ld.param.u32 %r2, [k_param_1];      mov.u32 %r2, 64;
//	mov.u32 %r3, %ntid.x;               mov.u32 %r3, 256;
//
// ptxas does the rest: it computes with the numbers, leaves out branches that are not taken, and
// unrolls loops whose turns it can count; repeat, behind it, writes turns in a row whose tests
// ptxas then finds known. ptxas divides on by a number, which cicc would not: so multiplications
// are written in place of integer divisions by what is known (divide.go). What cicc alone does it
// lacks: a thread's array in registers.
//
// It has a word of its own beside spec, which compiles edited source: the same word for other
// machine code would be other code than recorded recipes were measured with. With levers on the
// source spec alone can stand.
//
// Allowed: arguments and fields of them that the kernel reads with one width, in which all values
// are compared by their bytes; sizes of the block and the grid, where the entry is launched in the
// kernel's own blocks. An alignment is none: PTX has no word for it.
//
// Safe: the host launches the entry where the argument's bytes are those (rewrite/stub), so that
// each load finds what stands in its place, whatever the source calls it. cicc does not run again:
// no contraction is chosen and no function folded anew but by ptxas. A kernel is refused where
// integers would have no result (rewrite/refuse).
func known(k *pass.Kernel, terms []recipe.Term) error {
	if len(terms) != 1 {
		return errors.New("one set of values is for one entry")
	}
	g, err := terms[0].Guard()
	if err != nil {
		return err
	}
	v := values{Func: k.Func, sizes: map[string]string{}}
	if v.args, err = Arguments(k.Func, g); err != nil {
		return err
	}
	fixed := refuse.Fixed{}
	for _, a := range v.args {
		fixed[fmt.Sprintf("%d+%d", a.Index, a.Offset)] = int64(number(a.Bytes))
	}
	blocks, chosen := k.Options.Blocks[k.Name]
	_, coarse := k.Options.Coarse[k.Name]
	if !coarse && (!chosen || blocks == g.Block()) {
		for name, size := range map[string][3]int{"ntid.": g.Block(), "nctaid.": g.Grid()} {
			for axis, n := range size {
				if of := name + "xyz"[axis:axis+1]; n > 0 {
					v.sizes["%"+of], fixed[of] = fmt.Sprint(n), int64(n)
				}
			}
		}
	}
	if v.registers, err = k.Registers(); err != nil {
		return err
	}
	if !v.put() {
		return errors.New("the kernel reads none of these")
	}
	if err := refuse.Undefined(k.Module, k.Name, fixed); err != nil {
		return err
	}
	value, err := refuse.Integers(k.Module, k.Name, fixed)
	if err == nil {
		divide(k.Func, value)
	}
	return err
}

// Arguments are a guard's conditions on arguments, as the host compares them. f is the kernel, of
// which the PTX tells widths and floats.
func Arguments(f *ptx.Func, g recipe.Guard) (out []stub.Arg, err error) {
	for _, c := range g.Conditions {
		switch {
		case c.Kind == recipe.Alignment:
			return nil, fmt.Errorf("%s: PTX has no word for an alignment", c)
		case c.Kind != recipe.Argument:
			continue
		}
		typ := typeAt(f, c.Of)
		bits := pass.BitsOf(typ)
		if bits > 64 || bits < 8 {
			return nil, fmt.Errorf("%s: the kernel reads no number there, or several widths", c)
		}
		var x uint64
		switch signed := int64(0); {
		case typ[0] == 'f':
			x, err = floatBits(c.Value, bits)
		case c.Value[0] == '-':
			signed, err = strconv.ParseInt(c.Value, 10, bits)
			x = uint64(signed)
		default:
			x, err = strconv.ParseUint(c.Value, 10, bits)
		}
		if err != nil {
			return nil, fmt.Errorf("%s: no value of %d bits", c, bits)
		}
		b := binary.LittleEndian.AppendUint64(nil, x)
		out = append(out, stub.Arg{Index: c.Of.Index, Offset: c.Of.Offset, Bytes: b[:bits/8]})
	}
	return out, nil
}

// floatBits reads a normal number or a zero: of others the bits may not stay what they are.
func floatBits(text string, bits int) (x uint64, err error) {
	f, err := strconv.ParseFloat(text, bits)
	x = math.Float64bits(f)
	exponent := x >> 52 & 0x7ff
	if bits == 32 {
		x = uint64(math.Float32bits(float32(f)))
		exponent = x >> 23 & 0xff << 3
	}
	if err == nil && (f != 0 && exponent == 0 || math.IsInf(f, 0) || math.IsNaN(f) || bits < 32 ||
		strings.ContainsAny(text, "xXpP_")) {
		err = strconv.ErrRange
	}
	return x, err
}

// typeAt is the type with which a kernel declares or reads what lies at a place of its arguments;
// "": none, or several widths.
func typeAt(f *ptx.Func, p recipe.Place) (typ string) {
	if p.Index >= len(f.Params) {
		return ""
	}
	if v := &f.Params[p.Index]; len(v.Dims) == 0 && v.Vector == 0 {
		if p.Offset > 0 {
			return ""
		}
		return v.Type
	}
	for i := range f.Stmts {
		l, ok := paramLoad(f, i)
		if !ok || l.index != p.Index {
			continue
		}
		size := pass.BitsOf(l.typ) / 8
		for n := range l.to {
			switch at := l.offset + n*size; {
			case at+size <= p.Offset || at > p.Offset: // others
			case at < p.Offset, typ != "" && pass.BitsOf(typ) != 8*size:
				return ""
			case typ == "" || l.typ[0] == 'f':
				typ = l.typ
			}
		}
	}
	return typ
}

// A load of arguments: elements of one type, from an offset on.
type load struct {
	index, offset int
	typ           string
	to            []string
}

// paramLoad reads a statement that loads some of a kernel's arguments, whatever its guard.
func paramLoad(f *ptx.Func, i int) (l load, ok bool) {
	if f.Stmts[i].Kind != ptx.Inst || !f.Entry {
		return l, false
	}
	words := strings.Split(string(f.Opcode(i)), ".")
	ops := f.Operands(i, nil)
	if len(words) < 3 || len(ops) != 2 || words[0] != "ld" || words[1] != "param" ||
		len(words) == 4 && ptx.KindOf(words[2]) != ptx.VectorWord || len(words) > 4 {
		return l, false
	}
	name, offset, ok := f.Place(ops[1])
	l.offset, l.typ = offset, words[len(words)-1]
	l.index = slices.IndexFunc(f.Params, func(v ptx.Variable) bool { return v.Name == name })
	for _, reg := range strings.Split(strings.Trim(string(f.Bytes(ops[0])), "{}"), ",") {
		l.to = append(l.to, strings.TrimSpace(reg))
	}
	return l, ok && l.index >= 0 && pass.BitsOf(l.typ) >= 8
}

// Values that a kernel is known to have.
type values struct {
	*ptx.Func
	args      []stub.Arg
	sizes     map[string]string // by special register
	registers []ptx.Variable
}

// put writes them into the text, and tells whether there was any.
func (v *values) put() (some bool) {
	for i := range v.Stmts {
		if l, ok := paramLoad(v.Func, i); ok && !v.Stmts[i].Guarded {
			if text, ok := v.loaded(l); ok {
				v.Replace(i, text)
				some = true
			}
			continue
		}
		if string(v.Base(i)) != "mov" {
			continue
		}
		if ops := v.Operands(i, nil); len(ops) == 2 && v.sizes[string(v.Bytes(ops[1]))] != "" {
			v.ReplaceSpan(ops[1], v.sizes[string(v.Bytes(ops[1]))])
			some = true
		}
	}
	return some
}

// loaded is what stands in place of a load of which something is known.
func (v *values) loaded(l load) (text string, some bool) {
	size := pass.BitsOf(l.typ) / 8
	var lines []string
	for n, reg := range l.to {
		x, known := v.at(l.index, l.offset+n*size, size)
		width := v.width(reg)
		switch {
		case !known || width < 16 || width > 64:
			lines = append(lines, fmt.Sprintf("ld.param.%s %s, [%s+%d];", l.typ, reg,
				v.Params[l.index].Name, l.offset+n*size))
			continue
		case l.typ == "f32" && width == 32:
			lines = append(lines, fmt.Sprintf("mov.f32 %s, 0f%08X;", reg, x))
		case l.typ == "f64":
			lines = append(lines, fmt.Sprintf("mov.f64 %s, 0d%016X;", reg, x))
		case l.typ[0] == 's':
			lines = append(lines, fmt.Sprintf("mov.s%d %s, %d;", width, reg,
				int64(x)<<(64-8*size)>>(64-8*size)))
		case l.typ[0] == 'u':
			lines = append(lines, fmt.Sprintf("mov.u%d %s, %d;", width, reg, x))
		default: // to a register of any type
			lines = append(lines, fmt.Sprintf("mov.b%d %s, %d;", width, reg, x))
		}
		some = true
	}
	return strings.Join(lines, "\n\t"), some
}

// at is the number of so many bytes at a place of the arguments, where all of them are known.
func (v *values) at(index, offset, size int) (uint64, bool) {
	for _, a := range v.args {
		if at := offset - a.Offset; a.Index == index && at >= 0 && at+size <= len(a.Bytes) {
			return number(a.Bytes[at : at+size]), true
		}
	}
	return 0, false
}

func number(b []byte) uint64 {
	var all [8]byte
	copy(all[:], b)
	return binary.LittleEndian.Uint64(all[:])
}

// width is that of a register, 0 where it can't be told.
func (v *values) width(reg string) (bits int) {
	cut, n := ptx.SplitNumber([]byte(reg))
	for _, r := range v.registers {
		if r.Count == 0 && r.Name == reg || n >= 0 && n < r.Count && r.Name == reg[:cut] {
			if w := pass.BitsOf(r.Type); bits == 0 || bits == w {
				bits = w
			} else {
				return 0
			}
		}
	}
	return bits
}
