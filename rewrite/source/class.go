package source

// Classes, typedefs and aliases: read for the member functions that kernels call, and for the
// layout of structs that are passed by value.

// A classDef is a class definition in the user's files.
type classDef struct {
	name        string
	open        int  // its {
	layoutKnown bool // no base, no template head, no attribute, not a union: its layout is known
	keyword     string
	template    bool
}

// class reads a class or enum definition whose keyword stands at i. It returns the index after the
// whole declaration, or -1 if there is no definition (struct S x;).
func (r *reader) class(i, stop int, s *space, depth int, f *function) int {
	u := r.u
	def := classDef{keyword: u.str(i), layoutKnown: !f.template && !f.explicit, template: f.template ||
		f.explicit}
	j := i + 1
loop:
	for ; j < stop; j++ {
		switch r.t[j].kind {
		case ident:
			switch word := u.str(j); word {
			case "class", "struct": // enum class
			case "final":
			case "__attribute__", "__attribute", "alignas", "_Alignas", "__align__", "__declspec":
				def.layoutKnown = false
				if j+1 < stop && r.t[j+1].kind == '(' {
					j = int(r.t[j+1].match)
				}
			default:
				def.name = word
			}
		case scope:
			def.layoutKnown = false
		case '[':
			def.layoutKnown = false
			j = int(r.t[j].match)
		case '<':
			behind := r.angles(j, stop)
			if behind < 0 {
				return -1
			}
			def.layoutKnown = false
			j = behind - 1
		case ':', '{':
			break loop
		default:
			return -1
		}
	}
	if j >= stop {
		return -1
	}
	if r.t[j].kind == ':' { // bases, or an enum's type
		def.layoutKnown = false
		for j++; j < stop && r.t[j].kind != '{'; j++ {
			switch r.t[j].kind {
			case ';', '}', end:
				return -1
			case '(', '[':
				j = int(r.t[j].match)
			case '<':
				if behind := r.angles(j, stop); behind > 0 {
					j = behind - 1
				}
			}
		}
		if j >= stop {
			return -1
		}
	}
	def.open = j
	close := int(r.t[j].match)
	if def.keyword != "enum" {
		inner := s.inside(def.name)
		inner.class = true
		r.scope(j+1, close, inner, depth+1)
	}
	next := r.semicolon(close+1, stop)
	for j := close + 1; j < next-1; j++ { // struct S { ... } __attribute__((packed));
		if k := r.t[j].kind; k == '(' || k == '[' {
			def.layoutKnown = false
		}
	}
	if def.name != "" && def.keyword != "enum" {
		d := def
		u.classes[def.name] = append(u.classes[def.name], &d)
	}
	return next
}

// An alias is what a typedef or using says, where that is a simple type.
type alias struct {
	text string // the type's tokens, squeezed
	at   int    // index of the type's first token, for a struct that the typedef itself defines: its {
	many bool   // declared again with another meaning: not to be trusted
}

// typedef reads `typedef unsigned int word;` and `typedef struct { ... } S;`; others are stepped
// over.
func (r *reader) typedef(i, stop int) int {
	u := r.u
	next := r.semicolon(i, stop)
	last := next - 2 // the token before ;
	if last <= i+1 || r.t[last].kind != ident {
		return next
	}
	name := u.str(last)
	first := i + 1
	switch u.str(first) {
	case "struct", "class", "union":
		for j := first + 1; j < last; j++ {
			switch r.t[j].kind {
			case ident:
				continue
			case '{':
				// The first name behind it, if more than *p are: `} S, *SP;`.
				behind := int(r.t[j].match) + 1
				if k := r.t[behind+1].kind; r.t[behind].kind != ident || k != ',' && k != ';' {
					return next
				}
				name = u.str(behind)
				def := &classDef{name: name, open: j, layoutKnown: j <= first+2, keyword: u.str(first)}
				u.classes[name] = append(u.classes[name], def)
				if j == first+2 && u.str(first+1) != name {
					tagged := *def
					tagged.name = u.str(first + 1)
					u.classes[tagged.name] = append(u.classes[tagged.name], &tagged)
				}
			default:
				return next
			}
			break
		}
		return next
	case "enum":
		return next
	}
	for j := first; j < last; j++ {
		if k := r.t[j].kind; k != ident && k != scope && k != '*' {
			return next
		}
	}
	u.alias(name, first, last)
	return next
}

// using reads `using word = unsigned int;`; others are stepped over.
func (r *reader) using(i, stop int) int {
	next := r.semicolon(i, stop)
	if i+3 >= next || r.t[i+1].kind != ident || r.t[i+2].kind != '=' {
		return next
	}
	for j := i + 3; j < next-1; j++ {
		if k := r.t[j].kind; k != ident && k != scope && k != '*' {
			return next
		}
	}
	r.u.alias(r.u.str(i+1), i+3, next-1)
	return next
}

func (u *Unit) alias(name string, first, behind int) {
	a := alias{text: u.squeeze(first, behind), at: first}
	if old, ok := u.aliases[name]; ok && (old.many || old.text != a.text) {
		a.many = true
	}
	u.aliases[name] = a
}
