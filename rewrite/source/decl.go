package source

// The reader of declarations: walks namespaces and classes and finds function definitions. Bodies
// are jumped over by their matched braces. What it cannot make out is marked odd (with the reason)
// or, where not even a name is known, stepped over: a kernel in there is then not found, and left
// alone.

// A function is a definition with a body in the user's files. Fields are indices of tokens.
type function struct {
	name string
	// enclosing namespaces and classes and the declarator's own qualification; "" is an unnamed
	// namespace
	path   []string
	args   string // explicit template arguments of a specialisation, as text without blanks
	head   int    // first token of the declaration, template heads included
	params int    // ( of the parameter list
	open   int    // { of the body
	odd    string // why the reader is not sure of this one, "" if it is

	kernel   bool // __global__
	device   bool // __device__
	linkageC bool
	template bool // has a template head; template <> counts as a specialisation instead
	explicit bool // template <>: a specialisation
	member   bool // stands in a class
	constant bool // constexpr or consteval
}

// A space is a namespace or class that declarations stand in.
type space struct {
	path     []string
	linkageC bool
	class    bool
}

func (s *space) inside(name string) *space {
	p := make([]string, 0, len(s.path)+1)
	return &space{path: append(append(p, s.path...), name), linkageC: s.linkageC, class: s.class}
}

type reader struct {
	u *Unit
	t []token
}

// Namespaces and classes nest no deeper than this in anything that people write; fuzzers do better.
const maxNesting = 100

// scope reads the declarations in tokens [i, stop).
func (r *reader) scope(i, stop int, s *space, depth int) {
	if depth > maxNesting {
		return
	}
	for i < stop {
		next := r.declaration(i, stop, s, depth)
		if next <= i { // never stand still
			next = i + 1
		}
		i = next
	}
}

// declaration reads one declaration that begins at token i and returns the index after it.
func (r *reader) declaration(i, stop int, s *space, depth int) int {
	u := r.u
	switch r.t[i].kind {
	case ident:
	case '{', '(', '[':
		return int(r.t[i].match) + 1
	default:
		return i + 1
	}
	head := i
	f := function{head: head, linkageC: s.linkageC, member: s.class}
	for i < stop && r.t[i].kind == ident {
		switch u.str(i) {
		case "inline":
			i++
			continue
		case "namespace":
			return r.namespace(i, stop, s, depth)
		case "extern":
			if i+1 < stop && r.t[i+1].kind == str {
				c := u.str(i+1) == `"C"`
				if i+2 < stop && r.t[i+2].kind == '{' {
					inner := *s
					inner.linkageC = c
					close := int(r.t[i+2].match)
					r.scope(i+3, close, &inner, depth+1)
					return close + 1
				}
				f.linkageC = c
				i += 2
				continue
			}
			i++
			continue
		case "template":
			if i+1 >= stop || r.t[i+1].kind != '<' {
				return r.semicolon(i, stop) // an explicit instantiation
			}
			behind := r.angles(i+1, stop)
			if behind < 0 {
				return r.resync(i, stop)
			}
			if behind == i+3 {
				f.explicit = true
			} else {
				f.template = true
			}
			i = behind
			if i < stop && u.is(i, "requires") {
				f.odd = "a requires clause"
			}
			continue
		case "public", "private", "protected":
			if i+1 < stop && r.t[i+1].kind == ':' {
				return i + 2
			}
		case "typedef":
			return r.typedef(i, stop)
		case "using":
			return r.using(i, stop)
		case "static_assert", "_Static_assert", "asm", "__asm__", "__asm":
			return r.semicolon(i, stop)
		}
		break
	}
	return r.declarator(i, stop, s, depth, &f)
}

// semicolon returns the index after the next ; outside all brackets.
func (r *reader) semicolon(i, stop int) int {
	for i < stop {
		switch r.t[i].kind {
		case ';':
			return i + 1
		case '(', '[', '{':
			i = int(r.t[i].match)
		}
		i++
	}
	return stop
}

// resync returns the index after the next ; or braces, whichever comes first: where a declaration
// was not understood.
func (r *reader) resync(i, stop int) int {
	for i < stop {
		switch r.t[i].kind {
		case ';':
			return i + 1
		case '{':
			return int(r.t[i].match) + 1
		case '(', '[':
			i = int(r.t[i].match)
		}
		i++
	}
	return stop
}

func (r *reader) namespace(i, stop int, s *space, depth int) int {
	inner := s
	named := false
	for i++; i < stop; i++ {
		switch r.t[i].kind {
		case ident:
			switch name := r.u.str(i); name {
			case "inline":
			case "__attribute__":
				if i+1 < stop && r.t[i+1].kind == '(' {
					i = int(r.t[i+1].match)
				}
			default:
				inner, named = inner.inside(name), true
			}
		case scope:
		case '[':
			i = int(r.t[i].match)
		case '{':
			if !named {
				inner = inner.inside("")
			}
			close := int(r.t[i].match)
			r.scope(i+1, close, inner, depth+1)
			return close + 1
		default: // an alias, or something else without a body
			return r.semicolon(i, stop)
		}
	}
	return stop
}

// angles returns the index after the > that closes the < at i, or -1 if that < opens no template
// arguments.
func (r *reader) angles(i, stop int) int {
	depth := 0
	for n := 0; i < stop; i++ {
		switch r.t[i].kind {
		case '<':
			if depth++; depth > maxNesting {
				return -1
			}
		case '>':
			if depth--; depth == 0 {
				return i + 1
			}
		case '(', '[', '{':
			i = int(r.t[i].match)
		case ')', ']', '}', ';', end, pragma, skipped:
			return -1
		}
		if n++; n > 4096 { // no list of template arguments is that long; a quadratic walk would be
			return -1
		}
	}
	return -1
}

// noDeclarator tells of words after which a parenthesis opens no parameter list.
func noDeclarator(word string) bool {
	switch word {
	case "__attribute__", "__attribute", "__declspec", "alignas", "_Alignas", "decltype",
		"__decltype", "typeof", "__typeof__", "__typeof", "noexcept", "throw", "explicit",
		"requires", "asm", "__asm__", "__align__", "__nv_pure__", "void", "int", "char", "bool",
		"float", "double", "short", "long", "signed", "unsigned", "auto", "const", "volatile",
		"return", "if", "while", "for", "switch", "sizeof", "static_assert", "class", "struct",
		"union", "enum", "typename":
		return true
	}
	return false
}

// A declaring is how far a declarator was read; -1: not yet.
type declaring struct {
	angled, angledName int // behind the last template argument list, and the name before it
	nameAt             int // the declarator's name; its function's params are set with it
	close              int // ) of the parameter list
}

// parenthesised reads a list in parentheses, which may be the parameters, and returns what is
// behind it.
func (r *reader) parenthesised(i int, f *function, d *declaring) int {
	u, match := r.u, int(r.t[i].match)
	named := i > f.head && r.t[i-1].kind == ident && !noDeclarator(u.str(i-1))
	switch {
	case d.close >= 0 && named:
		f.odd = "two parenthesised lists in its declaration"
	case d.close >= 0 || i <= f.head:
	case named:
		d.nameAt, f.params, d.close = i-1, i, match
	case r.t[i-1].kind == '>' && d.angled == i:
		d.nameAt, f.params, d.close = d.angledName, i, match
		f.args = u.squeeze(d.angledName+1, i)
	}
	return match + 1
}

// declarator reads the rest of a declaration: specifiers, a name, perhaps a parameter list and a
// body.
func (r *reader) declarator(i, stop int, s *space, depth int, f *function) int {
	u := r.u
	d := declaring{angled: -1, angledName: -1, nameAt: -1, close: -1}
	for i < stop {
		switch t := r.t[i]; t.kind {
		case ';':
			// The definition may leave extern "C" out.
			if d.close >= 0 && f.linkageC && d.nameAt > 0 {
				u.linkedC[u.str(d.nameAt)] = true
			}
			return i + 1
		case '}', ')', ']': // out of step
			return i + 1
		case skipped, pragma:
			if d.close < 0 && d.nameAt < 0 && i == f.head {
				return i + 1
			}
			f.odd = "header text or a pragma in the middle of its declaration"
			i++
		case '[':
			i = int(t.match) + 1
		case '<':
			if i > 0 && r.t[i-1].kind == ident && d.close < 0 {
				if behind := r.angles(i, stop); behind > 0 {
					d.angled, d.angledName = behind, i-1
					i = behind
					continue
				}
			}
			i++
		case '=':
			return r.semicolon(i, stop)
		case ':':
			if d.close < 0 {
				return r.semicolon(i, stop) // a bit-field
			}
			body := r.initialisers(i, stop)
			if body < 0 {
				return r.resync(i, stop)
			}
			i = body
		case '{':
			if d.close < 0 {
				return r.braced(i, stop, f)
			}
			f.open = i
			r.define(f, d.nameAt, s)
			return int(t.match) + 1
		case '(':
			i = r.parenthesised(i, f, &d)
		case ident:
			switch word := u.str(i); word {
			case "class", "struct", "union", "enum":
				if d.close < 0 {
					if next := r.class(i, stop, s, depth, f); next > 0 {
						return next
					}
				}
			case "operator":
				if d.close < 0 {
					at := r.operatorName(i, stop)
					if at < 0 {
						return r.resync(i, stop)
					}
					d.nameAt, f.params, d.close = i, at, int(r.t[at].match)
					i = d.close
				}
			default:
				i = r.specifier(i, stop, f)
			}
			i++
		default:
			i++
		}
	}
	return stop
}

// specifier notes what a word in front of a declaration says, and gives the last index that it
// takes.
func (r *reader) specifier(i, stop int, f *function) int {
	switch r.u.str(i) {
	case "__attribute__", "__attribute":
		if i+1 < stop && r.t[i+1].kind == '(' {
			r.attributes(i+1, f)
			return int(r.t[i+1].match)
		}
	case "__global__":
		f.kernel = true
	case "__device__":
		f.device = true
	case "constexpr", "consteval":
		f.constant = true
	case "requires":
		f.odd = "a requires clause"
	}
	return i
}

// braced is the index behind a declaration with a brace that begins no body: int x{5}; goes on to
// its ; and anything else ends with its brace.
func (r *reader) braced(i, stop int, f *function) int {
	match := int(r.t[i].match)
	if i > f.head && r.t[i-1].kind == ident && (i+1 >= stop || match+1 < stop) {
		if k := r.t[match+1].kind; k == ';' || k == ',' {
			return r.semicolon(i, stop)
		}
	}
	return match + 1
}

// attributes notes what an __attribute__ at its ( says about a function.
func (r *reader) attributes(i int, f *function) {
	for j := i + 1; j < int(r.t[i].match); j++ {
		if r.t[j].kind != ident {
			continue
		}
		switch r.u.str(j) {
		case "global", "__global__":
			f.kernel = true
		case "device", "__device__":
			f.device = true
		}
	}
}

// operatorName returns the ( of the parameter list of the operator function whose keyword stands at
// i, or -1.
func (r *reader) operatorName(i, stop int) int {
	j := i + 1
	if j < stop && r.t[j].kind == '(' { // operator()
		j = int(r.t[j].match) + 1
	}
	// operator T*, operator new[], operator""_x, operator unsigned long long
	for ; j < stop && j < i+24; j++ {
		switch r.t[j].kind {
		case '(':
			return j
		case '[':
			j = int(r.t[j].match)
		case ';', '{', '}':
			return -1
		}
	}
	return -1
}

// initialisers returns the { of the body behind a constructor's list whose : stands at i, or -1.
func (r *reader) initialisers(i, stop int) int {
	for i++; i < stop; i++ {
		switch r.t[i].kind {
		case ident, scope, ',', ellipsis, '>':
		case '<':
			behind := r.angles(i, stop)
			if behind < 0 {
				return -1
			}
			i = behind - 1
		case '(':
			i = int(r.t[i].match)
		case '{':
			if k := r.t[i-1].kind; k == ident || k == '>' {
				i = int(r.t[i].match)
				continue
			}
			return i
		default:
			return -1
		}
	}
	return -1
}

// define notes a function whose body was found.
func (r *reader) define(f *function, nameAt int, s *space) {
	u := r.u
	f.name = u.str(nameAt)
	switch {
	case f.name == "operator" && r.t[nameAt+1].kind == '(' && int(r.t[nameAt+1].match)+1 == f.params:
		f.name = "operator()"
	case nameAt > 0 && r.t[nameAt-1].kind == '~':
		f.name = "~" + f.name
	}
	f.path = s.path
	// The declarator's own qualification: A::B::name.
	var qualified []string
	for j := nameAt - 1; j > f.head && r.t[j].kind == scope; j -= 2 {
		switch {
		case r.t[j-1].kind == ident && !noDeclarator(u.str(j-1)):
			qualified = append([]string{u.str(j - 1)}, qualified...)
		case r.t[j-1].kind == '>': // a member of a class template
			f.member = true
			j = f.head
		default: // ::name
			j = f.head
		}
	}
	if len(qualified) > 0 {
		f.path = append(append([]string{}, s.path...), qualified...)
	}
	if n := int(r.t[f.open].match) - f.open; n > 0 {
		g := *f
		u.functions = append(u.functions, &g)
	}
}

// squeeze is the text of tokens [i, j) without blanks, but for one between words.
func (u *Unit) squeeze(i, j int) string {
	var b []byte
	for ; i < j; i++ {
		t := u.tokens[i]
		if len(b) > 0 && class[b[len(b)-1]] >= cLetter && class[u.text[t.off]] >= cLetter {
			b = append(b, ' ')
		}
		b = append(b, u.text[t.off:t.end]...)
	}
	return string(b)
}
