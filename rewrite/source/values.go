package source

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
	Argument int    // index of the kernel's argument, packs expanded
	Offset   int    // bytes into the argument
	Bits     int    // width: 8, 16, 32, 64
	Class    Class
	Why      string // why it cannot be specialised, "" if it can

	sign   byte
	whole  int  // bytes of the struct that it is a field of, 0: it is none
	text   bool // its class is known from the text alone, not from the entry's own name
	field  bool // of a struct: read in the guard, never written
	shadow bool // a parameter whose copy gets a variable of its own
}

// Values lists what can be fixed, in the order of the arguments. signature holds the PTX types of
// the entry's parameters (".u32", ".f64", ".b8[24]"); without it (nil) types that only PTX knows
// (enums, structs) cannot be used.
func (k *Kernel) Values(signature []string) ([]Value, error) {
	if k.NoSpec != "" {
		return nil, refuse(k.label(), "%s", k.NoSpec)
	}
	u := k.u
	n := len(k.Params)
	pack := slices.IndexFunc(k.Params, func(p Param) bool { return p.Pack })
	total, err := k.arguments(signature, pack)
	if err != nil {
		return nil, err
	}
	var values []Value
	count := map[string]int{}
	for _, p := range k.Params {
		count[p.Name]++
	}
	for i, p := range k.Params {
		at := i
		if pack >= 0 && i > pack {
			at = i + total - n
		}
		v := Value{Name: p.Name, Type: p.Type, Argument: at}
		switch {
		case p.Pack:
			v.Why = p.Odd
			values = append(values, v)
			continue
		case p.Odd != "":
			v.Why = p.Odd
			values = append(values, v)
			continue
		case p.Name == "":
			v.Why = "it has no name"
		case count[p.Name] > 1:
			v.Why = "its name is used twice"
		}
		text, mangled, ptx, size := u.fromText(p.Type), scalar{}, scalar{}, 0
		if p.Pointer {
			text = scalar{Pointer, 64, 0}
		}
		if k.known {
			mangled = fromMangled(k.args[at])
		}
		if signature != nil {
			var err error
			if ptx, size, err = fromPTX(signature[at]); err != nil {
				return nil, refuse(k.label(), "%v", err)
			}
		}
		s, why := agree(text, mangled, ptx, size, p.Grid, signature != nil)
		if why == "its type in the source and in the PTX differ" {
			return nil, refuse(k.label(), "parameter %s (%s): %s", p.Name, p.Type, why)
		}
		if v.Why == "" {
			v.Why = why
		}
		v.Class, v.Bits, v.sign = s.class, s.bits, s.sign
		v.text = mangled.class == Unknown && text.class != Unknown
		if strings.HasSuffix(p.Type, "TextureObject_t") || strings.HasSuffix(p.Type, "SurfaceObject_t") {
			v.Class, v.Why = Pointer, "a handle, another one in every run"
		}
		switch v.Class {
		case Struct:
			values = append(values, u.members(v, size)...)
			continue
		case Integer, Float:
			// __grid_constant__ has its address in parameter space: no variable in its stead
			v.shadow = !p.Grid
		case Pointer:
			if v.Why == "" && p.Grid {
				v.Why = "__grid_constant__"
			}
		}
		values = append(values, v)
	}
	return values, nil
}

// arguments is how many a launch has; pack is the parameter that stands for any number, -1: none.
func (k *Kernel) arguments(signature []string, pack int) (int, error) {
	n := len(k.Params)
	total := n
	switch {
	case signature != nil:
		total = len(signature)
	case k.known:
		total = len(k.args)
	}
	if k.known && len(k.args) != total {
		return 0, refuse(k.label(), "its name has %d parameters, its PTX signature %d", len(k.args),
			total)
	}
	if pack < 0 && total != n || pack >= 0 && total < n-1 {
		return 0, refuse(k.label(), "%d parameters in the source, %d in the PTX", n, total)
	}
	return total, nil
}

// members are the values in a struct of so many bytes, or the struct itself with the reason why
// nothing is known of it.
func (u *Unit) members(v Value, size int) []Value {
	fields, layoutSize, _, ok := u.layout(v.Type, 0)
	if v.Why == "" && (!ok || layoutSize != size) {
		v.Why = "the layout of its type is not known"
	}
	if v.Why != "" {
		return []Value{v}
	}
	var out []Value
	for _, f := range fields {
		out = append(out, Value{Name: v.Name + "." + f.path, Type: f.typ, Argument: v.Argument,
			Offset: f.offset, Bits: f.scalar.bits, Class: f.scalar.class, sign: f.scalar.sign,
			field: true, text: true, whole: layoutSize})
	}
	return out
}

func (k *Kernel) label() string {
	if k.Entry != "" {
		return k.Entry
	}
	return k.Name
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
	var x uint64
	switch v.Bits {
	case 8:
		x = uint64(b[0])
	case 16:
		x = uint64(binary.LittleEndian.Uint16(b))
	case 32:
		x = uint64(binary.LittleEndian.Uint32(b))
	case 64:
		x = binary.LittleEndian.Uint64(b)
	}
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
		if v.Bits == 32 {
			return strconv.FormatFloat(float64(math.Float32frombits(uint32(x))), 'g', -1, 32), nil
		}
		return strconv.FormatFloat(math.Float64frombits(x), 'g', -1, 64), nil
	case Pointer:
		return "", fmt.Errorf("%s is a pointer: only its alignment can be fixed", v.Name)
	}
	return "", fmt.Errorf("%s is of an unknown type", v.Name)
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
			return 0, fmt.Errorf("%s=%s: no value of its type (%s)", v.Name, text, v.Type)
		}
		return x, nil
	case Float:
		f, err := strconv.ParseFloat(text, v.Bits)
		if err != nil || strings.ContainsAny(text, "xXpP_") {
			return 0, fmt.Errorf("%s=%s: no value of its type (%s)", v.Name, text, v.Type)
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
// knowledge of signs, and no operator that a user overloaded for his enum.
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

// guard is the condition that this value has these bits.
func (v Value) guard(x uint64) string {
	if v.Class == Float {
		cast, back := "::__float_as_int(%s) == (int)0x%xu", "%s == ::__int_as_float((int)0x%xu)"
		if v.Bits == 64 {
			cast, back = "::__double_as_longlong(%s) == (long long)0x%xull",
				"%s == ::__longlong_as_double((long long)0x%xull)"
		}
		g := fmt.Sprintf(cast, v.Name, x)
		// not a zero: LLVM carries an equality of floats into the branch, too
		if x<<(64-v.Bits+1)>>1 != 0 {
			g += " && " + fmt.Sprintf(back, v.Name, x)
		}
		return g
	}
	name, suffix := unsigned(v.Bits)
	return fmt.Sprintf("(%s)%s == %d%s", name, v.Name, x, suffix)
}

// judge is what this reader believes of the value, as a constant expression: its size, its place in
// the struct, and that it is an integer (1.5 becomes 1) or a float. The host compares bytes by it.
// "" where the entry's name has said it: a template is judged in all its instantiations, and a
// parameter may be of another type in each.
func (v Value) judge() string {
	if !v.text {
		return ""
	}
	number := "1.0"
	if v.Class == Float {
		number = "1.5"
	}
	text := fmt.Sprintf("sizeof(%s) == %d && (double)(__decltype(%s))1.5 == %s", v.Name, v.Bits/8,
		v.Name, number)
	if param, path, _ := strings.Cut(v.Name, "."); v.field {
		text = fmt.Sprintf("sizeof(%s) == %d && __builtin_offsetof(__decltype(%s), %s) == %d && %s",
			param, v.whole, param, path, v.Offset, text)
	}
	return text
}

// declare is the variable that stands for the parameter in the specialised copy: same name, same
// type, constant start. The body may change it as it may change its parameter.
func (v Value) declare(x uint64) string {
	_, suffix := unsigned(v.Bits)
	val := fmt.Sprintf("%d%s", x, suffix)
	if v.Class == Float {
		val = fmt.Sprintf("::__int_as_float((int)0x%xu)", x)
		if v.Bits == 64 {
			val = fmt.Sprintf("::__longlong_as_double((long long)0x%xull)", x)
		}
	}
	return fmt.Sprintf("__decltype(%s) %s = (__decltype(%s))%s; (void)%s;", v.Name, v.Name, v.Name,
		val, v.Name)
}
