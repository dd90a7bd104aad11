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

// vector reads the name of one of CUDA's vector types: element, count, alignment in bytes
// (vector_types.h).
func vector(name string) (elem string, count, align int, ok bool) {
	if name == "dim3" {
		return "unsigned int", 3, 4, true
	}
	if name == "" {
		return "", 0, 0, false
	}
	size := 0
	switch name[:len(name)-1] {
	case "char":
		elem, size = "signed char", 1
	case "uchar":
		elem, size = "unsigned char", 1
	case "short":
		elem, size = "short", 2
	case "ushort":
		elem, size = "unsigned short", 2
	case "int":
		elem, size = "int", 4
	case "uint":
		elem, size = "unsigned int", 4
	case "longlong":
		elem, size = "long long", 8
	case "ulonglong":
		elem, size = "unsigned long long", 8
	case "float":
		elem, size = "float", 4
	case "double":
		elem, size = "double", 8
	default:
		return "", 0, 0, false
	}
	count, align = int(name[len(name)-1]-'0'), size
	switch {
	case count < 1 || count > 4:
		return "", 0, 0, false
	case count == 2:
		align = 2 * size
	case count == 4 && size < 8:
		align = 4 * size
	case count == 4:
		// double4 and the like: 16 before 13.0, and where _32a says otherwise the size does not show it
		align = 16
	}
	return elem, count, align, true
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
		if text, count, align, found := vector(name); found {
			elem, _ := builtin(text)
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
		next, isFunction := u.memberFunction(i, stop, d.name)
		if isFunction {
			if next < 0 {
				return nil, 0, 0, false
			}
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

// memberFunction reports whether the member at i is a function, and where it ends (-1: it isn't
// known, or is virtual). A parenthesis makes a function only behind a name that has a type in front
// of it, or behind the class' own name: `void (*f)(int)`, `T (x)` and `int n = f(3), m` declare
// fields.
func (u *Unit) memberFunction(i, stop int, class string) (int, bool) {
	t := u.tokens
	r := reader{u: u, t: t}
	function := false
	types := 0 // words so far that are no specifiers
	for ; i < stop; i++ {
		switch t[i].kind {
		case ';':
			return i + 1, function
		case ',', '=':
			if !function {
				return i, false
			}
		case '(':
			if u.is(i-1, "__attribute__") || u.is(i-1, "noexcept") || u.is(i-1, "explicit") {
				i = int(t[i].match)
				continue
			}
			if !function && !u.memberName(i-1, types, class) {
				return -1, true
			}
			function = true
			i = int(t[i].match)
		case '{':
			if !function {
				return -1, true // int x{3} and the like: not read
			}
			return int(t[i].match) + 1, true
		case ':':
			if function {
				body := r.initialisers(i, stop)
				if body < 0 {
					return -1, true
				}
				return int(t[body].match) + 1, true
			}
			return -1, true // a bit-field
		case '[':
			i = int(t[i].match)
		case ident:
			switch w := u.str(i); w {
			case "operator":
				function = true
			case "virtual", "override", "final":
				return -1, true
			case "const", "volatile", "inline", "constexpr", "consteval", "explicit", "static",
				"__attribute__", "struct", "class", "enum",
				"typename", "__inline__", "__inline", "__forceinline__", "mutable":
			default:
				types++
			}
		case skipped, pragma:
			return -1, true
		}
	}
	return -1, true
}

// memberName reports whether token i, the word before a parenthesis, is the name of a member
// function; words are the types and names up to it.
func (u *Unit) memberName(i, words int, class string) bool {
	t := u.tokens
	if t[i].kind != ident || noDeclarator(u.str(i)) || typeWord(u.str(i)) {
		return false
	}
	if k := t[i+2].kind; k == '*' || k == '&' || k == '(' { // the first token inside
		return false
	}
	return words > 1 || u.str(i) == class
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
	if base.class == Unknown && t[last].kind == '*' && !pointerFirst(u, last, stop) {
		return 0, false // struct S *p, q: not for us
	}
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

// pointerFirst reports whether the declaration whose first * stands at i declares one name only, so
// that nothing but pointers depends on a type that is not known.
func pointerFirst(u *Unit, i, stop int) bool {
	for ; i < stop; i++ {
		switch u.tokens[i].kind {
		case ';':
			return true
		case ',':
			return false
		}
	}
	return false
}
