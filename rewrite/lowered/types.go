package lowered

// Types as far as values need them: is it an integer, a float, a pointer, a struct, how wide, and
// where the fields of a struct lie (System V ABI, as nvcc's host and device code both have it).

import (
	"strconv"
	"strings"
)

// A Class is what kind of value a parameter or field holds.
type Class uint8

const (
	Unknown Class = iota
	Integer       // integers, bool, characters, enums
	Float
	Pointer
	Struct // anything passed as bytes
)

func (c Class) String() string {
	return [...]string{"unknown", "integer", "float", "pointer", "struct"}[c]
}

// A scalar is a type's class and width; sign is 's', 'u', or 0 where it isn't known.
type scalar struct {
	class Class
	bits  int // 0 unknown
	sign  byte
}

// A layout is what is known of a type; size 0: nothing.
type layout struct {
	scalar      scalar
	name        string // of an arithmetic type, as C++ calls it
	size, align int    // bytes
	fields      []field
}

// A field is one scalar inside a struct.
type field struct {
	path   string // as the text has it: "n", "p.x", "__b_4base.n"
	typ    string
	offset int // bytes
	scalar scalar
}

// bases are the builtin types of one word. long double is not supported in device code as such.
var bases = map[string]scalar{"int": {Integer, 32, 's'}, "char": {Integer, 8, 's'},
	"float": {Float, 32, 0}, "double": {Float, 64, 0}, "bool": {Integer, 8, 'u'},
	"__nv_bool": {Integer, 8, 'u'}, "wchar_t": {Integer, 32, 's'}, "char8_t": {Integer, 8, 'u'},
	"char16_t": {Integer, 16, 'u'}, "char32_t": {Integer, 32, 'u'}}

// builtin reads a type of builtin words, in any order.
func builtin(words []string) (scalar, bool) {
	bits, sign, base := 0, byte(0), ""
	for _, w := range words {
		switch w {
		case "long":
			bits = 64
		case "short":
			bits = 16
		case "unsigned":
			sign = 'u'
		case "signed":
			sign = 's'
		default:
			if base != "" {
				return scalar{}, false
			}
			base = w
		}
	}
	if base == "" && (bits > 0 || sign != 0) {
		base = "int"
	}
	s, ok := bases[base]
	if bits > 0 {
		s.bits, ok = bits, ok && base == "int"
	}
	if sign != 0 {
		s.sign = sign
	}
	return s, ok
}

var pointer = layout{scalar: scalar{Pointer, 64, 0}, size: 8, align: 8}

// maxDepth bounds how deep typedefs and structs in structs are followed.
const maxDepth = 32

// typeOf reads a type: words and stars, without a name.
func (u *Unit) typeOf(kept []string, depth int) (l layout) {
	var words []string
	kind := ""
	for _, w := range kept {
		switch w {
		case "*":
			return pointer
		case "const", "volatile", "__restrict__", "extern", "static", "__extension__":
		case "struct", "union", "enum":
			kind = w
		default:
			words = append(words, w)
		}
	}
	if len(words) == 0 || depth > maxDepth {
		return l
	}
	if s, ok := builtin(words); ok && kind == "" {
		name := strings.Join(words, " ")
		if name == "__nv_bool" {
			name = "bool"
		}
		return layout{scalar: s, name: name, size: s.bits / 8, align: s.bits / 8}
	}
	if len(words) > 1 {
		return l
	}
	if kind == "enum" {
		return layout{scalar: scalar{Integer, 32, 0}, size: 4, align: 4}
	}
	in, d := u.lookup(words[0], kind)
	switch {
	case d == nil:
	case d.kind == tagged:
		return in.layoutOf(d, depth+1)
	default:
		return in.aliased(d, depth+1)
	}
	return l
}

// lookup finds what defines a type's name: a typedef, or with kind a struct or union with its body.
func (u *Unit) lookup(name, kind string) (*Unit, *decl) {
	for _, in := range []*Unit{u, header()} {
		if n, ok := in.numbers[name]; ok {
			for _, k := range in.by[n] {
				d := &in.decls[k]
				if d.kind == tagged && d.body > 0 || kind == "" && d.kind == typeDef {
					return in, d
				}
			}
		}
	}
	return u, nil
}

// aliased is the type that a typedef gives a name to.
func (u *Unit) aliased(d *decl, depth int) layout {
	var words []string
	for i := d.from + 1; i < d.to-1; i++ {
		switch t := u.tokens[i]; {
		case t.kind == word && attribute(u.str(int(i))): // aligned, vector_size
			return layout{}
		case t.kind == word && t.n == d.name:
			if u.tokens[i+1].kind != ';' {
				return layout{}
			}
			return u.typeOf(words, depth)
		case t.kind == word || t.kind == '*':
			words = append(words, u.str(int(i)))
		default:
			return layout{}
		}
	}
	return layout{}
}

// layoutOf is a struct's or union's. Bit-fields take their place and are not listed, nor are the
// members of unions and arrays.
func (u *Unit) layoutOf(d *decl, depth int) (l layout) {
	t := u.tokens
	union := false
	forced := 0
	for _, span := range [2][2]int32{{d.from, d.body}, {t[d.body].n, d.to}} {
		for i := span[0]; i < span[1]; i++ {
			union = union || u.is(int(i), "union")
			if t[i].kind != word || !attribute(u.str(int(i))) || t[i+1].kind != '(' {
				continue
			}
			n, ok := u.aligned(int(i))
			if !ok {
				return layout{}
			}
			forced = max(forced, n)
			i = t[i+1].n
		}
	}
	bit := 0 // where the next field may begin
	l.align = max(1, forced)
	stop := int(t[d.body].n)
	for i := int(d.body) + 1; i < stop; i++ {
		from := i
		for i < stop && t[i].kind != ';' {
			if k := t[i].kind; k == '(' || k == '[' || k == '{' {
				i = int(t[i].n)
			}
			i++
		}
		if union {
			bit = 0
		}
		end, ok := u.fields(&l, from, i, bit, union, depth)
		if !ok {
			return layout{}
		}
		bit = end
		l.size = max(l.size, (end+7)/8)
	}
	l.size = (max(l.size, 1) + l.align - 1) / l.align * l.align
	if union {
		l.fields = nil
	}
	l.scalar = scalar{Struct, 0, 0}
	return l
}

// aligned reads the attribute at i: the alignment that it asks for, 0 if it is about other things;
// not ok: it changes the layout in a way that is not read.
func (u *Unit) aligned(i int) (int, bool) {
	t := u.tokens
	n := 0
	for j := i + 2; j < int(t[i+1].n); j++ {
		switch strings.Trim(u.str(j), "_") {
		case "packed", "ms_struct", "vector_size", "mode":
			return 0, false
		case "aligned":
			v, ok := integer(u.str(j + 2))
			if t[j+1].kind != '(' || !ok || v < 1 || v > 4096 || v&(v-1) != 0 {
				return 0, false
			}
			n = v
		}
	}
	return n, true
}

// fields reads the members that one declaration in a struct declares, tokens [i, stop), and returns
// the bit behind them.
func (u *Unit) fields(l *layout, i, stop, bit int, union bool, depth int) (int, bool) {
	t := u.tokens
	var words []string
	forced := 1
	var name string
	count, width := 1, -1
	for ; i < stop; i++ {
		switch t[i].kind {
		case word:
			if attribute(u.str(i)) && i+1 < stop && t[i+1].kind == '(' {
				n, ok := u.aligned(i)
				if !ok {
					return 0, false
				}
				forced = max(forced, n)
				i = int(t[i+1].n)
				continue
			}
			words = append(words, u.str(i))
		case '*':
			words = append(words, "*")
		case '[':
			n, ok := integer(u.str(i + 1))
			if int(t[i].n) != i+2 || !ok || count*n > 1<<24 {
				return 0, false
			}
			count *= n
			i = int(t[i].n)
			if name == "" && len(words) > 0 {
				name, words = words[len(words)-1], words[:len(words)-1]
				count = -count // an array
			}
		case ':':
			n, err := strconv.Atoi(u.str(i + 1))
			if err != nil {
				return 0, false
			}
			width = n
			i++
		case '(': // a pointer to a function or an array
			words = append(words, "*", "")
			i = stop
		case ',': // only in our own header: unsigned int x, y
			end, ok := u.place(l, words, name, count, width, forced, bit, union, depth)
			if !ok || name != "" || width >= 0 {
				return 0, false
			}
			bit, words = end, words[:len(words)-1]
		default:
			return 0, false
		}
	}
	return u.place(l, words, name, count, width, forced, bit, union, depth)
}

// place lays one member out. Negative counts are arrays; width is a bit-field's, -1 for others.
func (u *Unit) place(l *layout, words []string, name string, count, width, forced, bit int, union bool,
	depth int) (int, bool) {
	array := count < 0
	count = max(count, -count)
	named := name != ""
	if !named && len(words) > 0 {
		name = words[len(words)-1]
		if _, is := builtin([]string{name}); !is || width < 0 {
			words, named = words[:len(words)-1], true
		}
	}
	m := u.typeOf(words, depth)
	if m.size == 0 {
		return 0, false
	}
	align := 8 * max(m.align, forced)
	if width >= 0 {
		unit := 8 * m.size
		if width == 0 || bit/unit != (bit+width-1)/unit {
			bit = (bit + unit - 1) / unit * unit
		}
		if named {
			l.align = max(l.align, m.align)
		}
		return bit + width, true
	}
	bit = (bit + align - 1) / align * align
	l.align = max(l.align, align/8)
	if !array && !strings.HasPrefix(name, "__nv_no_debug_dummy") {
		if m.scalar.class == Struct {
			for _, f := range m.fields {
				f.path = name + "." + f.path
				f.offset += bit / 8
				l.fields = append(l.fields, f)
			}
		} else {
			l.fields = append(l.fields, field{name, m.name, bit / 8, m.scalar})
		}
	}
	return bit + 8*m.size*count, true
}
