package source

// Layout of structs that are passed by value, for those that are simple enough: no bases,
// templates, attributes, bit-fields or unions; fields of arithmetic types, pointers, arrays, CUDA's
// vector types and such structs again. The size must come out as the PTX signature has it, else
// nothing is said.

import "strings"

// A field is one scalar inside a struct.
type field struct {
	path   string // "n", "p.x"
	typ    string
	offset int // bytes
	scalar scalar
}

// vectors are the elements of CUDA's vector types, by these types' names (vector_types.h).
var vectors = map[string]string{"char": "signed char", "uchar": "unsigned char", "short": "short",
	"ushort": "unsigned short", "int": "int", "uint": "unsigned int", "longlong": "long long",
	"ulonglong": "unsigned long long", "float": "float", "double": "double"}

// vector reads the name of one of them: element, count, alignment in bytes.
func vector(name string) (text string, elem scalar, count, align int) {
	base := strings.TrimRight(name, "1234")
	text, ok := vectors[base]
	if ok = ok && len(name) == len(base)+1; name == "dim3" {
		text, base, ok = "unsigned int", "dim", true
	}
	if !ok {
		return "", elem, 0, 0
	}
	elem, _ = builtin(text)
	count, align = int(name[len(base)]-'0'), elem.bits/8
	if count%2 == 0 { // double4 and the like: 16 before 13.0, and where _32a says otherwise the size does not show it
		align = min(count*align, 16)
	}
	return text, elem, count, align
}

// layout returns the fields of the named struct with its size and alignment; not ok: not known.
func (u *Unit) layout(name string, depth int) (fields []field, size, align int, ok bool) {
	name = strings.TrimPrefix(strings.TrimSuffix(strings.TrimPrefix(name, "const "), " const"),
		"struct ")
	if depth > 6 {
		return nil, 0, 0, false
	}
	defs := u.classes[name]
	if len(defs) == 0 {
		if a, found := u.aliases[name]; found && !a.many {
			return u.layout(a.text, depth+1)
		}
		if text, elem, count, align := vector(name); text != "" {
			for i := range count {
				fields = append(fields, field{"xyzw"[i : i+1], text, i * elem.bits / 8, elem})
			}
			return fields, (count*elem.bits/8 + align - 1) / align * align, align, true
		}
		return nil, 0, 0, false
	}
	d := defs[0]
	if len(defs) > 1 || !d.layoutKnown || d.keyword == "union" || u.packed {
		return nil, 0, 0, false
	}
	t := u.tokens
	r := reader{u: u, t: t}
	align = 1
	public := d.keyword == "struct"
	stop := int(t[d.open].match)
	for i := d.open + 1; i < stop; {
		if t[i].kind == ';' {
			i++
			continue
		}
		if t[i].kind != ident {
			return nil, 0, 0, false
		}
		switch u.str(i) {
		case "public", "private", "protected":
			if t[i+1].kind != ':' {
				return nil, 0, 0, false
			}
			public = u.is(i, "public")
			i += 2
			continue
		case "using", "typedef", "static", "friend", "static_assert":
			i = r.resync(i, stop)
			continue
		case "virtual", "template", "operator", "mutable", "volatile", "alignas":
			return nil, 0, 0, false
		case "struct", "class", "union", "enum":
			if u.defines(i, stop) {
				return nil, 0, 0, false
			}
		}
		if next, is := r.memberFunction(i, stop); is {
			i = next
			continue
		}
		var good bool
		if i, good = u.fields(i, stop, public, depth, &fields, &size, &align); !good {
			return nil, 0, 0, false
		}
	}
	if len(fields) == 0 {
		return nil, 0, 0, false
	}
	return fields, (size + align - 1) / align * align, align, true
}

// memberFunction returns the index behind the member at i where that is a function. A pointer to a
// function is taken for one: then the struct's size comes out as another than it has.
func (r *reader) memberFunction(i, stop int) (next int, is bool) {
	for ; i < stop; i++ {
		switch k := r.t[i].kind; {
		case k == ident && r.u.is(i, "operator"):
			is = true
		case !is && (k == ';' || k == ',' || k == '=' || k == '{' || k == ':'):
			return 0, false
		case k == '(':
			is = is || !r.u.is(i-1, "__attribute__") && !r.u.is(i-1, "explicit")
			i = int(r.t[i].match)
		case k == ';':
			return i + 1, true
		case k == ':':
			if i = r.initialisers(i, stop); i < 0 {
				return stop, true
			}
			return int(r.t[i].match) + 1, true
		case k == '{':
			return int(r.t[i].match) + 1, true
		}
	}
	return stop, true
}

// fields reads one member declaration: type, then names with array sizes and perhaps initialisers.
func (u *Unit) fields(i, stop int, public bool, depth int, fields *[]field, size,
	align *int) (int, bool) {
	t, from := u.tokens, i
	// The type: words and :: up to the last word before * [ = , ;
	for i < stop && (t[i].kind == ident || t[i].kind == scope) {
		i++
	}
	last := i - 1 // the first declarator's name, unless a * comes
	if i < stop && t[i].kind == '*' {
		last = i
	}
	if last <= from || t[last-1].kind == scope {
		return 0, false
	}
	text := u.squeeze(from, last)
	base := u.fromText(text)
	var inner []field
	elemSize, elemAlign := base.bits/8, base.bits/8
	if base.class == Unknown && t[last].kind != '*' {
		var ok bool
		if inner, elemSize, elemAlign, ok = u.layout(text, depth+1); !ok {
			return 0, false
		}
	}
	for i = last; i < stop; {
		pointers := 0
		for ; i < stop && (t[i].kind == '*' || u.qualifies(i)); i++ {
			if t[i].kind == '*' {
				pointers++
			}
		}
		if i >= stop || t[i].kind != ident {
			return 0, false
		}
		name := u.str(i)
		i++
		array := i < stop && t[i].kind == '['
		count, behind := u.extent(i, stop)
		if i = u.behindValue(behind, stop); i < 0 {
			return 0, false
		}
		s, a := elemSize, elemAlign
		if pointers > 0 {
			s, a = 8, 8
		}
		if s == 0 || a == 0 {
			return 0, false
		}
		at := (*size + a - 1) / a * a
		*align = max(*align, a)
		*size = at + s*count
		switch {
		case !public || array:
		case pointers > 0:
			*fields = append(*fields, field{name, text + strings.Repeat("*", pointers), at,
				scalar{Pointer, 64, 0}})
		case base.class != Unknown:
			*fields = append(*fields, field{name, text, at, base})
		default:
			for _, f := range inner {
				*fields = append(*fields, field{name + "." + f.path, f.typ, at + f.offset, f.scalar})
			}
		}
		if i >= stop {
			return 0, false
		}
		switch t[i].kind {
		case ';':
			return i + 1, true
		case ',':
			i++
		default:
			return 0, false
		}
	}
	return 0, false
}

// qualifies tells of words that may stand behind a pointer's star.
func (u *Unit) qualifies(i int) bool {
	return u.is(i, "const") || u.is(i, "__restrict__") || u.is(i, "__restrict")
}

// extent reads an array's lengths: how many elements it has, and the index behind them, or -1.
func (u *Unit) extent(i, stop int) (count, behind int) {
	t := u.tokens
	count = 1
	for i < stop && t[i].kind == '[' {
		n, ok := literal(u.squeeze(i+1, int(t[i].match)))
		if !ok {
			return 0, -1
		}
		if count *= n; count > 1<<16 {
			return 0, -1
		}
		i = int(t[i].match) + 1
	}
	return count, i
}

// behindValue is the index behind the value that a field is given, if any; -1: not known, or i was.
func (u *Unit) behindValue(i, stop int) int {
	t := u.tokens
	if i < 0 || i >= stop || t[i].kind != '=' {
		return i
	}
	for i < stop && t[i].kind != ',' && t[i].kind != ';' {
		if k := t[i].kind; k == '(' || k == '[' || k == '{' {
			i = int(t[i].match)
		}
		if t[i].kind == '<' {
			return -1
		}
		i++
	}
	return i
}
