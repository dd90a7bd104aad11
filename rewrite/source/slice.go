package source

// A slice: the text of one kernel and of what it is made of, without the rest of the translation
// unit. Nine tenths of a run of cicc on a small kernel are the headers of the toolkit and of the
// host's C++ library, the program's host code and its other kernels (bench/candidates).
//
// A declaration of a namespace stays if its name is mentioned by one that stays; the kernel's own
// is the first. That is by names alone, whatever they are looked up to: mostly too much stays,
// which costs time. Too little could stay, too: an implicit conversion may need a class that nobody
// mentions. Then cicc refuses the text, or, in theory, makes something else of it. So a slice is
// for candidates, its untouched text is compared with the default PTX first, and what is adopted is
// compiled from the whole text (driver/compile).
//
// What stays keeps its line and column.

import (
	"bytes"
	"fmt"
	"slices"
	"strings"

	"github.com/ianlancetaylor/demangle"
)

// Slice cuts all from a preprocessed text that a kernel does not need. An error says why it is not
// to be done.
func Slice(text []byte, entry string) ([]byte, error) {
	root, use, err := rootOf(entry)
	if err != nil {
		return nil, err
	}
	u := newUnit(text)
	u.headers = true
	if err := u.lex(); err != nil {
		return nil, err
	}
	s := &slicer{u: u, t: u.tokens, root: root, instance: use != ""}
	s.r = reader{u: u, t: u.tokens}
	s.intern()
	if err := s.namespace(0, len(s.t)-1, 0); err != nil {
		return nil, err
	}
	s.link()
	names := strings.FieldsFunc(use, func(r rune) bool {
		return r < 0x80 && class[byte(r)] < cLetter
	})
	for _, name := range append(append(names, root), implied...) {
		s.mention(name)
	}
	for s.close(); s.missing(); s.close() {
	}
	if !s.found {
		return nil, fmt.Errorf("slice: no function %s at the level of a namespace", root)
	}
	out := s.text()
	if use != "" {
		fmt.Fprintf(out, "\nvoid *__gnvcc_instance = (void *)&%s;\n", use)
	}
	return out.Bytes(), nil
}

// implied are names that the compiler itself looks up.
var implied = []string{"size_t", "align_val_t", "initializer_list", "type_info"}

// rootOf gives the simple name of an entry's function, and for an instance of a template the
// expression that names it.
func rootOf(entry string) (root, use string, err error) {
	name := stripStatic(entry)
	if !strings.HasPrefix(name, "_Z") {
		return name, "", nil
	}
	if len(name) > maxName {
		return "", "", fmt.Errorf("slice: the kernel's name has %d bytes", len(name))
	}
	ast, err := demangle.ToAST(name)
	if err != nil {
		return "", "", fmt.Errorf("slice: read the kernel's name: %w", err)
	}
	typed, ok := ast.(*demangle.Typed)
	if !ok {
		return "", "", fmt.Errorf("slice: %s is not the name of a function with parameters", name)
	}
	path, targs, ok := qualified(typed.Name)
	if !ok {
		return "", "", fmt.Errorf("slice: the name %s is of a form that is not read", name)
	}
	root = path[len(path)-1]
	if targs == nil {
		return root, "", nil
	}
	use = demangle.ASTToString(typed.Name, demangle.NoClones)
	use = strings.ReplaceAll(use, "(anonymous namespace)::", "")
	if strings.ContainsAny(use, "{}'\"#\\") {
		return "", "", fmt.Errorf("slice: %s can't be written as C++", use)
	}
	return root, "::" + use, nil
}

// A piece is a declaration at the level of a namespace: tokens [from, to).
type piece struct {
	from, to int
	names    []int32 // it is needed where one of these is mentioned
	with     []int32 // and all of these that are types
	member   bool    // names are a class' members: x.name mentions them too
	instance bool    // explicit instantiation of a function
	generic  int     // operator, of an operator function at the level of a namespace; 0: is none
	keep     bool
}

// A slicer works on one text.
type slicer struct {
	u        *Unit
	t        []token
	r        reader
	root     string
	instance bool // the kernel is an instance of a template
	found    bool // the kernel's function is there

	symbols map[string]int32
	symbol  []int32 // by token; 0: no identifier
	pieces  []piece
	types   []bool // by symbol: a class, an enumeration or an alias has that name
	of      [][]int32
	free    []bool // by symbol: mentioned, not as a member alone
	any     []bool
	work    []int32 // symbols that are newly mentioned
}

// intern numbers the identifiers.
func (s *slicer) intern() {
	s.symbols = make(map[string]int32, 1<<14)
	s.symbol = make([]int32, len(s.t))
	for i, t := range s.t {
		if t.kind != ident {
			continue
		}
		text := s.u.text[t.off:t.end]
		if i > 0 && s.suffix(i) {
			text = append([]byte(`""`), text...)
		}
		n, ok := s.symbols[string(text)]
		if !ok {
			n = int32(len(s.symbols) + 1)
			s.symbols[string(text)] = n
		}
		s.symbol[i] = n
	}
	n := len(s.symbols) + 1
	s.types, s.free, s.any, s.of = make([]bool, n), make([]bool, n), make([]bool, n),
		make([][]int32, n)
}

// suffix tells of the suffix of a literal, which has nothing to do with other things of that name.
func (s *slicer) suffix(i int) bool {
	p := s.t[i-1]
	return (p.kind == str || p.kind == char) && (p.end == s.t[i].off || i > 1 && s.u.is(i-2, "operator"))
}

// link lists the pieces by the symbols that decide on them.
func (s *slicer) link() {
	root := s.symbols[s.root]
	for i := range s.pieces {
		p := &s.pieces[i]
		if p.instance && s.instance && len(p.names) == 1 && p.names[0] == root {
			p.names = nil // of the kernel's instances only the one in question
			continue
		}
		with := p.with[:0]
		for _, n := range p.with {
			if s.types[n] {
				with = append(with, n)
			}
		}
		if p.with = with; p.generic > 0 && len(with) == 0 {
			s.returned(p)
		}
		for _, n := range p.names {
			s.of[n] = append(s.of[n], int32(i))
			s.found = s.found || n == root
		}
		for _, n := range p.with {
			s.of[n] = append(s.of[n], int32(i))
		}
		if len(p.names)+len(p.with) == 0 {
			s.need(p)
		}
	}
}

// returned is for an operator that takes any types (ostream's << for rvalues). In a header it is
// there for what it returns: it would bring all of ostream into every slice.
func (s *slicer) returned(p *piece) {
	if f := s.u.at(int(s.t[p.from].off)).file; f < 0 || !s.u.files[f].header {
		return
	}
	for i := p.from; i < p.generic; i++ {
		if n := s.symbol[i]; n != 0 && s.types[n] {
			p.with = append(p.with, n)
		}
	}
}

func (s *slicer) mention(name string) {
	if n := s.symbols[name]; n != 0 {
		s.note(n, true)
	}
}

// note notes that a symbol is mentioned.
func (s *slicer) note(n int32, free bool) {
	if !s.any[n] || free && !s.free[n] {
		s.any[n] = true
		s.free[n] = s.free[n] || free
		s.work = append(s.work, n)
	}
}

// close finds all that is needed.
func (s *slicer) close() {
	for len(s.work) > 0 {
		n := s.work[len(s.work)-1]
		s.work = s.work[:len(s.work)-1]
		for _, i := range s.of[n] {
			if p := &s.pieces[i]; !p.keep && s.needed(p) {
				s.need(p)
			}
		}
	}
}

// missing keeps pieces for names that are mentioned, and of which there would be none otherwise.
func (s *slicer) missing() bool {
	some := false
	for n, list := range s.of {
		if !s.free[n] || slices.ContainsFunc(list, func(i int32) bool { return s.pieces[i].keep }) {
			continue
		}
		for _, i := range list {
			if p := &s.pieces[i]; !p.keep && slices.Contains(p.names, int32(n)) && !p.member {
				s.need(p)
				some = true
			}
		}
	}
	return some
}

func (s *slicer) needed(p *piece) bool {
	for _, n := range p.with {
		if !s.any[n] {
			return false
		}
	}
	for _, n := range p.names {
		if s.free[n] || p.member && s.any[n] {
			return true
		}
	}
	return len(p.names) == 0
}

// need keeps a piece, and notes what it mentions.
func (s *slicer) need(p *piece) {
	p.keep = true
	for i := p.from; i < p.to; i++ {
		if n := s.symbol[i]; n != 0 {
			s.note(n, !s.member(i))
		}
	}
}

// member tells of an identifier behind . or -> that names a member, not a type.
func (s *slicer) member(i int) bool {
	if i < 2 || s.t[i-1].kind != '.' && s.t[i-1].kind != arrow {
		return false
	}
	if s.t[i-1].kind == '.' {
		return true
	}
	switch s.t[i-2].kind { // or what follows is a function's type, or a concept
	case ')', '}':
		return false
	case ident:
		w := s.u.str(i - 2)
		return w != "const" && w != "volatile" && w != "noexcept" && w != "mutable"
	}
	return true
}

// text puts together what stays.
func (s *slicer) text() *bytes.Buffer {
	var out bytes.Buffer
	from := 0
	for i := range s.pieces {
		p := &s.pieces[i]
		if p.keep || p.to <= p.from {
			continue
		}
		s.write(&out, from, int(s.t[p.from].off))
		from = int(s.t[p.to-1].end)
	}
	s.write(&out, from, len(s.u.text))
	return &out
}

// write writes what stands between two pieces that go, from its first byte on that is not a blank
// or a line marker.
func (s *slicer) write(out *bytes.Buffer, from, to int) {
	text := s.u.text
	for from < to {
		switch c := text[from]; {
		case blank(c):
			from++
		case c == '#' && (from == 0 || text[from-1] == '\n') && !isPragma(text[from:to]):
			from = min(lineEnd(text, from), to)
		default:
			if s.u.at(from).file >= 0 {
				s.u.restore(out, from)
			}
			out.Write(text[from:to])
			return
		}
	}
}

func isPragma(line []byte) bool {
	return bytes.HasPrefix(bytes.TrimLeft(line[1:], " \t"), []byte("pragma"))
}
