package lowered

// Values: what of a kernel's launch a recipe can fix, under which name, and how a value is written
// in the recipe, in the guard and in the specialised copy. Everything is compared by its bits.

import (
	"encoding/binary"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
)

// A Value is a scalar of a launch: a parameter, a field of a struct, or a pointer's alignment.
type Value struct {
	Name     string // "n", "s.n"; for a pointer its name, to be used as align(p)
	Type     string // as in the source
	Argument int    // index of the kernel's argument
	Offset   int    // bytes into the argument
	Bits     int    // width: 8, 16, 32, 64
	Class    Class
	Why      string // why it cannot be specialised, "" if it can

	sign   byte
	is     string // the value in the text
	typ    string // its type in the text, of a parameter
	whole  int    // bytes of the struct that it is a field of, 0: it is none
	field  string // its path in that struct
	shadow bool   // a parameter whose copy gets a variable of its own
}

// Values lists what can be fixed, in the order of the arguments. signature holds the PTX types of
// the entry's parameters (".u32", ".f64", ".b8[24]"), nil: not known.
func (k *Kernel) Values(signature []string) ([]Value, error) {
	if k.NoSpec != "" {
		return nil, refuse(k.Entry, "%s", k.NoSpec)
	}
	if signature != nil && len(signature) != len(k.Params) {
		return nil, refuse(k.Entry, "%d parameters in the text, %d in the PTX", len(k.Params),
			len(signature))
	}
	var values []Value
	for i, p := range k.Params {
		v := Value{Name: p.Name, Type: p.Type, Argument: i, Why: p.Odd, is: p.Name, typ: p.text}
		if p.changed {
			v.is = "__val_param(" + p.Name + ")"
		}
		if v.Why == "" && v.Name == "" {
			v.Why = "it has no name"
		}
		if p.Pointer {
			v.Class, v.Bits = Pointer, 64
		}
		if v.Why != "" {
			if p.Pointer {
				v.Class, v.Bits = Pointer, 64
			} else if signature != nil { // what is not named is compared by its bytes
				if s, _, err := fromPTX(signature[i]); err == nil && s.class != Struct && s.bits <= 64 {
					v.Class, v.Bits = Integer, s.bits
				}
			}
			values = append(values, v)
			continue
		}
		l := k.u.typeOf(p.words, 0)
		if p.Pointer {
			l = pointer
		}
		if l.name != "" && p.Type != "bool" {
			v.Type = l.name
		}
		if signature != nil {
			s, size, err := fromPTX(signature[i])
			if err != nil {
				return nil, refuse(k.Entry, "%v", err)
			}
			if l, err = agree(l, s, size, p.Grid); err != nil {
				return nil, refuse(k.Entry, "parameter %s (%s): %v", p.Name, p.Type, err)
			}
		}
		v.Class, v.Bits, v.sign = l.scalar.class, l.scalar.bits, l.scalar.sign
		switch {
		case strings.HasSuffix(p.Type, "TextureObject_t") || strings.HasSuffix(p.Type, "SurfaceObject_t"):
			v.Class, v.Type, v.Why = Pointer, p.Type, "a handle, another one in every run"
		case v.Class == Struct && len(l.fields) > 0:
			values = append(values, members(v, l)...)
			continue
		case v.Class == Struct || v.Class == Unknown:
			v.Why = "the layout of its type is not known"
		case v.Class == Pointer && p.Grid:
			v.Why = "__grid_constant__"
		case v.Class != Pointer:
			// __grid_constant__ has its address in parameter space: no variable in its stead
			v.shadow = !p.Grid
		}
		values = append(values, v)
	}
	return values, nil
}

// PointsTo is the type of the elements that a parameter points to, its name followed to a type of C's, and of
// a struct that of its fields where they have one: "double". "" where it isn't known.
func (k *Kernel) PointsTo(p Param) string {
	star := slices.Index(p.words, "*")
	if star < 0 || slices.Contains(p.words[star+1:], "*") {
		return ""
	}
	l := k.u.typeOf(p.words[:star], 0)
	name := l.name
	for i, f := range l.fields {
		if i == 0 {
			name = f.typ
		} else if f.typ != name {
			return ""
		}
	}
	return name
}

// members are the values in a struct.
func members(v Value, l layout) (out []Value) {
	for _, f := range l.fields {
		m := Value{Name: v.Name, Type: f.typ, Argument: v.Argument, Offset: f.offset, Bits: f.scalar.bits,
			Class: f.scalar.class, sign: f.scalar.sign, is: v.is + "." + f.path, typ: v.typ, whole: l.size,
			field: f.path}
		for _, part := range strings.Split(f.path, ".") {
			if !strings.HasPrefix(part, "__b_") { // a base class
				m.Name += "." + part
			}
		}
		if strings.HasPrefix(f.path[strings.LastIndexByte(f.path, '.')+1:], "__vptr") {
			m.Why = "a table of virtual functions"
		}
		out = append(out, m)
	}
	return out
}

// fromPTX reads a parameter of the entry, such as ".u32", ".f64", ".b8[24]", perhaps with ".align 8"
// before it. Newer compilers say .b32 for floats and integers alike.
func fromPTX(sig string) (s scalar, bytes int, err error) {
	text := sig
	for _, w := range strings.Fields(sig) {
		if strings.HasPrefix(w, ".") && w != ".align" && w != ".param" && w != ".ptr" && w != ".space" {
			text = w
			break
		}
	}
	base, rest, array := strings.Cut(strings.TrimPrefix(text, "."), "[")
	odd := fmt.Errorf("a parameter of type %q", sig)
	if len(base) < 2 {
		return s, 0, odd
	}
	bits, err := strconv.Atoi(base[1:])
	if err != nil || bits < 8 || bits > 128 {
		return s, 0, odd
	}
	if array {
		n, err := strconv.Atoi(strings.TrimSuffix(rest, "]"))
		if err != nil || n < 0 {
			return s, 0, odd
		}
		return scalar{class: Struct}, n * bits / 8, nil
	}
	switch base[0] {
	case 'f':
		s.class = Float
	case 'u', 's':
		s.class = Integer
	case 'b':
	default:
		return s, 0, odd
	}
	s.bits = bits
	return s, bits / 8, nil
}

// agree joins what the text and the PTX say of a parameter.
func agree(l layout, ptx scalar, size int, grid bool) (layout, error) {
	differ := fmt.Errorf("its type in the source and in the PTX differ")
	switch {
	case l.size == 0: // not read
		l.scalar, l.size = ptx, size
		if ptx.class != Struct {
			l.scalar.class = Unknown
		}
		return l, nil
	case ptx.class == Struct && l.scalar.class == Struct || grid && ptx.class == Struct:
		if size != l.size {
			l.fields = nil // something in it was misread
		}
		return l, nil
	case l.name == "" && l.scalar.class == Integer && ptx.class != Float && ptx.class != Struct:
		l.scalar.bits = ptx.bits // an enum
		return l, nil
	case ptx.class == Struct, ptx.bits != l.scalar.bits, ptx.class == Float && l.scalar.class != Float,
		ptx.class == Integer && l.scalar.class == Float:
		return l, differ
	}
	return l, nil
}

// Text writes the value whose bytes are given (little endian, Bits/8 of them) as a recipe does:
// 1024, -3, 2.5.
func (v Value) Text(b []byte) (string, error) {
	if v.Why != "" {
		return "", fmt.Errorf("%s cannot be specialised: %s", v.Name, v.Why)
	}
	if len(b)*8 != v.Bits {
		return "", fmt.Errorf("%s has %d bits, not %d bytes", v.Name, v.Bits, len(b))
	}
	var wide [8]byte
	copy(wide[:], b)
	x := binary.LittleEndian.Uint64(wide[:])
	switch v.Class {
	case Integer:
		if v.Type == "bool" && x > 1 {
			return "", fmt.Errorf("%s is a bool of value %d", v.Name, x)
		}
		if v.sign == 's' {
			return strconv.FormatInt(int64(x<<(64-v.Bits))>>(64-v.Bits), 10), nil
		}
		return strconv.FormatUint(x, 10), nil
	case Float:
		if err := usableFloat(v, x); err != nil {
			return "", err
		}
		return strconv.FormatFloat(number64(v, x), 'g', -1, v.Bits), nil
	case Pointer:
		return "", fmt.Errorf("%s is a pointer: only its alignment can be fixed", v.Name)
	}
	return "", fmt.Errorf("%s is of an unknown type", v.Name)
}

// number64 is the number that a float's bits are.
func number64(v Value, x uint64) float64 {
	if v.Bits == 32 {
		return float64(math.Float32frombits(uint32(x)))
	}
	return math.Float64frombits(x)
}

// usableFloat refuses what a compiler may fold to other bits than the GPU computes: NaN (the GPU's
// own is another one than the host's), infinities (inf-inf is such a NaN), subnormals (flushed or
// not).
func usableFloat(v Value, x uint64) error {
	bad := false
	if v.Bits == 32 {
		e := x >> 23 & 0xff
		bad = e == 0xff || e == 0 && x&0x7fffff != 0
	} else {
		e := x >> 52 & 0x7ff
		bad = e == 0x7ff || e == 0 && x&(1<<52-1) != 0
	}
	if bad {
		return fmt.Errorf("%s is a NaN, an infinity or subnormal", v.Name)
	}
	return nil
}

// bits reads a recipe's text for this value.
func (v Value) bits(text string) (uint64, error) {
	odd := fmt.Errorf("%s=%s: no value of its type (%s)", v.Name, text, v.Type)
	switch v.Class {
	case Integer:
		if strings.HasPrefix(text, "-") {
			x, err := strconv.ParseInt(text, 10, v.Bits)
			if err != nil || v.sign == 'u' {
				return 0, fmt.Errorf("%s=%s: no value of %d bits", v.Name, text, v.Bits)
			}
			return uint64(x) << (64 - v.Bits) >> (64 - v.Bits), nil
		}
		size := v.Bits
		if v.sign == 's' {
			size--
		}
		if v.Type == "bool" {
			size = 1
		}
		x, err := strconv.ParseUint(text, 10, size)
		if err != nil {
			return 0, odd
		}
		return x, nil
	case Float:
		f, err := strconv.ParseFloat(text, v.Bits)
		if err != nil || strings.ContainsAny(text, "xXpP_") {
			return 0, odd
		}
		x := math.Float64bits(f)
		if v.Bits == 32 {
			x = uint64(math.Float32bits(float32(f)))
		}
		return x, usableFloat(v, x)
	}
	return 0, fmt.Errorf("%s is a %v: it has no value to fix", v.Name, v.Class)
}

// unsigned is the unsigned type of a width, and its literals' suffix: comparing there needs no
// knowledge of signs.
func unsigned(bits int) (name, suffix string) {
	switch bits {
	case 8:
		return "unsigned char", "u"
	case 16:
		return "unsigned short", "u"
	case 32:
		return "unsigned int", "u"
	}
	return "unsigned long long", "ull"
}

// constant is the value with these bits as the text has it.
func (v Value) constant(x uint64) string {
	if v.Class == Float {
		if v.Bits == 32 {
			return fmt.Sprintf("::__int_as_float((int)0x%xu)", x)
		}
		return fmt.Sprintf("::__longlong_as_double((long long)0x%xull)", x)
	}
	_, suffix := unsigned(v.Bits)
	return fmt.Sprintf("%d%s", x, suffix)
}

// guard is the condition that this value has these bits.
func (v Value) guard(x uint64) string {
	if v.Class == Float {
		g := fmt.Sprintf("::__float_as_int(%s) == (int)0x%xu", v.is, x)
		if v.Bits == 64 {
			g = fmt.Sprintf("::__double_as_longlong(%s) == (long long)0x%xull", v.is, x)
		}
		// not a zero: LLVM carries an equality of floats into the branch, too
		if x<<(64-v.Bits+1)>>1 != 0 {
			g += " && " + v.is + " == " + v.constant(x)
		}
		return g
	}
	name, _ := unsigned(v.Bits)
	return fmt.Sprintf("(%s)%s == %s", name, v.is, v.constant(x))
}

// judge is what this reader believes of a field, as a constant expression: its size, its place in
// the struct, and that it is an integer (1.5 becomes 1) or a float. The host compares bytes by it.
func (v Value) judge() string {
	if v.field == "" {
		return fmt.Sprintf("sizeof(%s) == %d", v.is, v.Bits/8)
	}
	number := "1.0"
	if v.Class == Float {
		number = "1.5"
	}
	param := strings.TrimSuffix(v.is, "."+v.field)
	return fmt.Sprintf("sizeof(%s) == %d && __builtin_offsetof(%s, %s) == %d && sizeof(%s) == %d && "+
		"(double)(__decltype(%s))1.5 == %s", param, v.whole, v.typ, v.field, v.Offset, v.is, v.Bits/8, v.is,
		number)
}

// declare is the variable that stands for the parameter in the specialised copy: same name, same
// type, constant start. The body may change it as it may change its parameter.
func (v Value) declare(x uint64) string {
	return fmt.Sprintf("%s %s = (%s)%s; (void)%s;", v.typ, v.is, v.typ, v.constant(x), v.is)
}
