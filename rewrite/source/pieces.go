package source

// The declarations of a whole text, headers included, for Slice: where each begins and ends, and
// which names decide whether it is needed. Nothing is understood of bodies.

import "fmt"

// namespace splits tokens [i, stop) of a namespace into pieces.
func (s *slicer) namespace(i, stop, depth int) error {
	if depth > maxNesting {
		return fmt.Errorf("slice: namespaces nest more than %d deep", maxNesting)
	}
	for i < stop {
		next, err := s.declaration(i, stop, depth)
		if err != nil {
			return err
		}
		if next <= i {
			return s.u.fault(int(s.t[i].off), "a declaration that is not understood")
		}
		i = next
	}
	return nil
}

// declaration reads one declaration and returns the index after it. What is no piece stays.
func (s *slicer) declaration(i, stop, depth int) (int, error) {
	u, t := s.u, s.t
	head := i
	for i < stop && t[i].kind == pragma {
		if !u.forNext(i) {
			return i + 1, nil
		}
		i++ // it goes with the declaration
	}
	switch {
	case i >= stop:
		return stop, nil
	case t[i].kind == ';':
		return i + 1, nil
	case u.is(i, "namespace"), u.is(i, "inline") && i+1 < stop && u.is(i+1, "namespace"):
		for j := i; j < stop; j++ {
			switch t[j].kind {
			case '{':
				end := int(t[j].match)
				return end + 1, s.namespace(j+1, end, depth+1)
			case ';':
				return j + 1, nil // an alias
			case '(', '[':
				j = int(t[j].match)
			}
		}
		return stop, nil
	case u.is(i, "using") && i+1 < stop && u.is(i+1, "namespace"):
		return s.r.semicolon(i, stop), nil
	case u.is(i, "extern") && i+2 < stop && t[i+1].kind == str && t[i+2].kind == '{':
		end := int(t[i+2].match)
		return end + 1, s.namespace(i+3, end, depth+1)
	}
	p := piece{from: head}
	known := s.piece(i, stop, &p)
	if known {
		s.pieces = append(s.pieces, p)
	}
	if p.to <= i {
		return 0, u.fault(int(t[i].off), "a declaration without an end")
	}
	if !known {
		s.pieces = append(s.pieces, piece{from: head, to: p.to})
	}
	return p.to, nil
}

// forNext tells of a pragma that speaks of the declaration behind it.
func (u *Unit) forNext(i int) bool {
	text := u.text[u.tokens[i].off:u.tokens[i].end]
	for _, word := range []string{"nv_exec_check_disable", "hd_warning_disable"} {
		if containsWord(text, word) {
			return true
		}
	}
	return false
}

func containsWord(text []byte, word string) bool {
	for i := 0; i+len(word) <= len(text); i++ {
		if string(text[i:i+len(word)]) == word {
			return true
		}
	}
	return false
}

// A shape is what is seen of a declaration on the way to its end.
type shape struct {
	first    int // behind the template heads
	heads    map[int32]bool
	template bool // has parameters of its own
	instance bool // template without <
	alias    bool // typedef
	using    bool
	class    int // the keyword of a class or enumeration, 0: none
	body     int // { of its body
	name     int // of a function, 0: none
	open     int // ( of the function's parameters
	unclear  bool
}

// piece finds a declaration's end and its names. False: its names are not known, it stays.
func (s *slicer) piece(i, stop int, p *piece) bool {
	u, t := s.u, s.t
	var d shape
	for i < stop && u.is(i, "template") {
		if i+1 >= stop || t[i+1].kind != '<' {
			d.instance = true
			i++
			break
		}
		behind := s.r.angles(i+1, stop)
		if behind < 0 {
			p.to = s.r.resync(i, stop)
			return false
		}
		d.template = d.template || behind > i+3
		d.head(s, i+2, behind)
		i = behind
	}
	d.first = i
	if i < stop && u.is(i, "extern") && i+1 < stop && u.is(i+1, "template") {
		d.instance = true
		i += 2
	}
	if i < stop && t[i].kind == ident {
		switch u.str(i) {
		case "static_assert", "_Static_assert":
			p.to = s.r.semicolon(i, stop)
			p.names = []int32{0} // goes
			return true
		case "using":
			d.using = true
		}
	}
	for j := i; j < min(i+3, stop); j++ {
		d.alias = d.alias || u.is(j, "typedef")
	}
	p.to = s.walk(i, stop, &d)
	p.instance = d.instance && d.name != 0
	return !d.unclear && s.names(p, &d)
}

// head notes the names of a template's parameters.
func (d *shape) head(s *slicer, from, to int) {
	if d.heads == nil {
		d.heads = map[int32]bool{}
	}
	for j := from; j < to; j++ {
		if n := s.symbol[j]; n != 0 && j+1 < len(s.t) {
			if k := s.t[j+1].kind; k == ',' || k == '>' || k == '=' {
				d.heads[n] = true
			}
		}
	}
}

// walk goes to a declaration's end, and returns the index behind it.
func (s *slicer) walk(i, stop int, d *shape) int {
	u, t := s.u, s.t
	value := false // behind a =
	for i < stop {
		switch tok := t[i]; tok.kind {
		case ';':
			return i + 1
		case '[':
			i = int(tok.match)
		case '(':
			if !value {
				s.paren(i, d)
			}
			i = int(tok.match)
		case '{':
			end := int(tok.match)
			if value || d.using || d.alias || d.class > 0 && d.name == 0 || d.name == 0 && !d.unclear {
				if d.body == 0 {
					d.body = i
				}
				i = end
				break
			}
			if s.inside(i) {
				i = end
				break
			}
			if end+1 < stop && u.is(end+1, "catch") {
				i = end
				break
			}
			if end+1 < stop && t[end+1].kind == ';' && d.unclear {
				return end + 2
			}
			return end + 1
		case '=':
			value = true
		case '<':
			if d.name == 0 && !value && i > 0 && t[i-1].kind == ident {
				if behind := s.r.angles(i, stop); behind > 0 {
					i = behind - 1
				}
			}
		case '}', ')', ']':
			d.unclear = true
			return i + 1
		case pragma:
			d.unclear = true
		case ident:
			if d.name != 0 || value {
				break
			}
			switch u.str(i) {
			case "class", "struct", "union", "enum":
				if d.class == 0 {
					d.class = i
				}
			case "operator":
				if at := s.r.operatorName(i, stop); at >= 0 {
					d.name, d.open = i, at
					i = int(t[at].match)
				} else {
					d.unclear = true
				}
			}
		}
		i++
	}
	d.unclear = true
	return stop
}

// paren looks at a parenthesis that may open the parameters of a function.
func (s *slicer) paren(i int, d *shape) {
	u, t := s.u, s.t
	if d.name != 0 || i == 0 {
		return
	}
	switch p := t[i-1]; {
	case p.kind == ident && !noDeclarator(u.str(i-1)):
		if k := t[i+1].kind; k == '*' || k == '&' {
			d.unclear = d.unclear || !d.alias // T (*f)(...)
			return
		}
		d.name, d.open = i-1, i
	case p.kind == ident:
		if k := t[i+1].kind; builtinWord(u.str(i-1)) && !d.alias && (k == '*' || k == '&') {
			d.unclear = true
		}
	case p.kind == '>':
		// f<int>( : the name stands before the arguments
		depth := 0
		for j := i - 1; j > d.first; j-- {
			switch t[j].kind {
			case '>':
				depth++
			case '<':
				if depth--; depth == 0 {
					if t[j-1].kind == ident {
						d.name, d.open = j-1, i
					}
					return
				}
			}
		}
	case p.kind == ')' || p.kind == '*' || p.kind == '&':
		d.unclear = d.unclear || !d.alias && (t[i+1].kind == '*' || t[i+1].kind == '&')
	}
}

// builtinWord tells of words of noDeclarator that are types.
func builtinWord(w string) bool { _, ok := builtin(w); return ok || w == "void" || w == "auto" }

// inside tells of braces behind a parameter list that are no body: of a constructor's initialisers,
// or of a requires expression.
func (s *slicer) inside(i int) bool {
	t := s.t
	before, behind := t[i-1], t[t[i].match+1]
	if before.kind == ident && s.u.is(i-1, "requires") {
		return true
	}
	if before.kind == ')' {
		if o := int(before.match); o > 0 && s.u.is(o-1, "requires") {
			return true
		}
	}
	return (before.kind == ident || before.kind == '>') && (behind.kind == ',' || behind.kind == '{')
}

// names fills in what decides on a piece.
func (s *slicer) names(p *piece, d *shape) bool {
	switch {
	case d.using:
		s.usingNames(p, d)
	case d.alias:
		s.declared(p, d.first, true)
		s.class(p, d)
	case d.name != 0:
		s.function(p, d)
	case d.class > 0:
		s.class(p, d)
		if d.body > 0 {
			s.declared(p, int(s.t[d.body].match), false)
		} else if !s.elaborated(d, p) {
			s.declared(p, d.class, false)
		}
	default:
		s.declared(p, d.first, false)
	}
	return len(p.names)+len(p.with) > 0
}

// elaborated tells of class X; and its specialisations, where X is all that is declared.
func (s *slicer) elaborated(d *shape, p *piece) bool {
	for j := d.class; j < p.to; j++ {
		if k := s.t[j].kind; k == '=' || k == '[' {
			return false
		}
	}
	return s.t[p.to-2].kind == '>' || s.t[p.to-2].kind == ident && (p.to-2 == d.class+1 ||
		s.t[p.to-3].kind == scope || s.t[p.to-3].kind == ')')
}

// usingNames: using X = ..., using A::B.
func (s *slicer) usingNames(p *piece, d *shape) {
	for j := d.first + 1; j+1 < p.to; j++ {
		n := s.symbol[j]
		if n == 0 {
			continue
		}
		switch k := s.t[j+1].kind; {
		case k == '=' || k == '[' || s.u.is(j+1, "__attribute__"):
			s.types[n] = true
			p.names = append(p.names, n)
			return
		case k == ';' || k == ',' || k == ellipsis:
			p.names = append(p.names, n)
		}
	}
}

// declared adds the names of variables and aliases from token j on: what stands before the end of a
// declarator.
func (s *slicer) declared(p *piece, j int, deep bool) {
	value := false // behind a =: only what follows a comma may be a name
	for ; j+1 < p.to; j++ {
		switch s.t[j].kind {
		case '(':
			if !deep {
				j = int(s.t[j].match)
			}
		case '[', '{':
			j = int(s.t[j].match)
		case '=':
			value = !deep
		case ident:
			if before := s.t[max(j-1, 0)].kind; value && before != ',' && before != '*' && before != '&' ||
				noDeclarator(s.u.str(j)) {
				continue
			}
			k := s.t[j+1].kind
			if behind := -1; k == '<' && !value {
				if behind = s.r.angles(j+1, p.to); behind > 0 && behind < p.to {
					if k = s.t[behind].kind; k != '=' && k != ';' { // else a specialisation of a variable
						j = behind - 1
						continue
					}
				}
			}
			if k == ';' || k == ',' || k == '[' || k == '=' || k == '{' || deep && (k == '(' || k == ')') ||
				s.u.is(j+1, "__attribute__") || s.u.is(j+1, "__asm__") {
				n := s.symbol[j]
				s.types[n] = s.types[n] || deep
				p.names = append(p.names, n)
				s.qualifier(p, j)
			}
		}
	}
}

// qualifier notes the class of a member that is defined outside of it.
func (s *slicer) qualifier(p *piece, j int) {
	if j < 2 || s.t[j-1].kind != scope {
		return
	}
	at := j - 2
	if s.t[at].kind == '>' {
		depth := 0
		for ; at > p.from; at-- {
			if s.t[at].kind == '>' {
				depth++
			} else if s.t[at].kind == '<' {
				if depth--; depth == 0 {
					at--
					break
				}
			}
		}
	}
	if n := s.symbol[at]; n != 0 && at > p.from {
		p.with = append(p.with, n)
		p.member = true
	}
}

// class adds a class' or an enumeration's name, and the enumerators.
func (s *slicer) class(p *piece, d *shape) {
	if d.class == 0 {
		return
	}
	u, t := s.u, s.t
	last, args := 0, 0
	for j := d.class + 1; j < p.to; j++ {
		k := t[j].kind
		if k == '[' || k == '(' {
			j = int(t[j].match)
			continue
		}
		if k == '<' && last != 0 {
			args = j
			break
		}
		if k != ident && k != scope {
			break
		}
		if k == ident && !noDeclarator(u.str(j)) && !u.is(j, "final") {
			if last != 0 && t[j-1].kind != scope {
				break // struct X y
			}
			last = j
		}
	}
	if last != 0 {
		n := s.symbol[last]
		s.types[n] = true
		p.names = append(p.names, n)
		s.qualifier(p, last)
		if args != 0 && !d.alias && !d.template { // template <> struct X<Y>: where there is a Y
			if behind := s.r.angles(args, p.to); behind > 0 {
				s.mentioned(p, d, args, behind, false)
			}
		}
	}
	if d.body == 0 {
		return
	}
	if u.is(d.class, "enum") || last == 0 && !d.alias && u.is(d.class, "union") {
		for j := d.body; j < int(t[d.body].match); j++ {
			if n := s.symbol[j]; n != 0 {
				p.names = append(p.names, n)
			}
		}
	}
}

// mentioned adds identifiers of [from, to) to what must be there too; templates: only those with
// arguments.
func (s *slicer) mentioned(p *piece, d *shape, from, to int, templates bool) {
	for j := from; j < to; j++ {
		if n := s.symbol[j]; n != 0 && !d.heads[n] && (!templates || s.t[j+1].kind == '<') {
			p.with = append(p.with, n)
		}
	}
}

// function adds a function's name.
func (s *slicer) function(p *piece, d *shape) {
	t := s.t
	close := int(t[d.open].match)
	at := d.name
	if at > 0 && t[at-1].kind == '~' {
		at--
	}
	name := s.symbol[d.name]
	if s.u.is(d.name, "operator") {
		s.qualifier(p, at)
		if !p.member {
			if t[d.name+1].kind == str && s.symbol[d.name+2] != 0 { // "x"_suffix
				p.names = append(p.names, s.symbol[d.name+2])
				return
			}
			p.generic = d.name
			s.mentioned(p, d, d.open, close, false)
			if s.u.is(d.name+1, "new") || s.u.is(d.name+1, "delete") {
				p.names = append(p.names, s.symbol[d.name+1])
			}
		}
		return
	}
	s.qualifier(p, at)
	p.names = append(p.names, name)
	if at != d.name {
		p.names = nil // a destructor: with its class
	}
	if d.template && !p.member {
		s.mentioned(p, d, d.open, close, true)
	}
}
