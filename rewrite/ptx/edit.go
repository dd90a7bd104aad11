package ptx

import (
	"bytes"
	"cmp"
	"fmt"
	"slices"
)

// Edits: noted first, then committed together, so that a rewrite that gives up half-way leaves the
// function as it was.

// An edit replaces [start, end) of the function's text; an insertion has start == end.
type edit struct {
	start, end uint32
	text       string
	order      int
}

// ReplaceSpan notes that a piece of the text is to be replaced.
func (f *Func) ReplaceSpan(s Span, text string) {
	f.edits = append(f.edits, edit{s.Start, s.End, text, len(f.edits)})
}

// Replace notes new text for a statement.
func (f *Func) Replace(i int, text string) {
	f.ReplaceSpan(Span{f.Stmts[i].Start, f.Stmts[i].End}, text)
}

// Insert notes text to be put in front of a statement, or in front of the body's closing brace for
// i == len(Stmts). The text is one or more whole statements without indentation or line end;
// several insertions at one place stand in the order of the calls.
func (f *Func) Insert(i int, text string) {
	if i >= len(f.Stmts) {
		f.ReplaceSpan(Span{f.close, f.close}, "\t"+text+"\n")
		return
	}
	at := f.Stmts[i].Start
	from := at
	for from > 0 && (f.text[from-1] == ' ' || f.text[from-1] == '\t') {
		from--
	}
	if from == at && at > 0 && f.text[at-1] == '\n' { // a label at the line's beginning
		f.ReplaceSpan(Span{at, at}, "\t"+text+"\n")
		return
	}
	f.ReplaceSpan(Span{at, at}, text+"\n"+string(f.text[from:at]))
}

// Delete notes that a statement goes, with its line where it stands alone on it.
func (f *Func) Delete(i int) {
	s := Span{f.Stmts[i].Start, f.Stmts[i].End}
	from, to := s.Start, s.End
	for from > 0 && (f.text[from-1] == ' ' || f.text[from-1] == '\t') {
		from--
	}
	for int(to) < len(f.text) && (f.text[to] == ' ' || f.text[to] == '\t') {
		to++
	}
	if from > 0 && f.text[from-1] == '\n' && int(to) < len(f.text) && f.text[to] == '\n' {
		s = Span{from, to + 1}
	}
	f.ReplaceSpan(s, "")
}

// AddDirective notes a performance directive, such as ".maxnreg 56", behind those that are there.
func (f *Func) AddDirective(text string) {
	at := f.paramEnd
	for _, d := range f.Directives {
		at = d.Span.End
	}
	f.ReplaceSpan(Span{at, at}, "\n"+text)
}

// RemoveDirective notes that the performance directives of that name go.
func (f *Func) RemoveDirective(name string) {
	for _, d := range f.Directives {
		if d.Name == name {
			s := d.Span
			for class[f.text[s.Start-1]]&clSpace != 0 { // a name or ')' stands in front
				s.Start--
			}
			f.ReplaceSpan(s, "")
		}
	}
}

// First returns the index of the first statement that does something: behind the body's leading
// declarations, .loc lines and pragmas. What is inserted there runs once, before everything else,
// unless a label stands there that is jumped back to: a label counts as the first statement, so
// that the insertion is in front of it.
func (f *Func) First() int {
	for i, s := range f.Stmts {
		switch {
		case s.Kind == Decl || s.Kind == Line || s.Kind == Empty:
		case s.Kind == Direction && string(f.Opcode(i)) == ".pragma":
		default:
			return i
		}
	}
	return len(f.Stmts)
}

// Discard forgets the edits noted since the last Commit.
func (f *Func) Discard() { f.edits = f.edits[:0] }

// Commit carries out the noted edits and reads the function again: all indexes and spans from
// before are void. On an error (edits that overlap, a text that is no function) the function is as
// before and the edits are forgotten.
func (f *Func) Commit() error {
	if len(f.edits) == 0 {
		return nil
	}
	edits := f.edits
	f.edits = nil
	slices.SortFunc(edits, func(a, b edit) int {
		if a.start != b.start {
			return cmp.Compare(a.start, b.start)
		}
		// insertions stand in front of a replacement
		if ai, bi := a.start == a.end, b.start == b.end; ai != bi {
			if ai {
				return -1
			}
			return 1
		}
		return cmp.Compare(a.order, b.order)
	})
	size := len(f.text)
	for _, e := range edits {
		size += len(e.text)
	}
	out := make([]byte, 0, size)
	last := uint32(0)
	for _, e := range edits {
		if e.start < last || e.end < e.start || int(e.end) > len(f.text) {
			return fmt.Errorf("ptx: %s: edits overlap at %q", f.Name, e.text)
		}
		out = append(out, f.text[last:e.start]...)
		out = append(out, e.text...)
		last = e.end
	}
	out = append(out, f.text[last:]...)
	return f.SetText(out)
}

// SetText replaces all of the function by a text that must hold exactly one function of the
// same name and kind. The text must not change afterwards.
func (f *Func) SetText(text []byte) error {
	p := &parser{b: text, m: &Module{src: text}, stmts: make([]Stmt, 0, len(f.Stmts)+64)}
	if err := p.module(); err != nil {
		return fmt.Errorf("ptx: %s as rewritten: %w", f.Name, err)
	}
	if len(p.m.Funcs) != 1 || len(p.m.Globals) != 0 || len(p.m.Aliases) != 0 {
		return fmt.Errorf("ptx: %s as rewritten is not one function", f.Name)
	}
	g := p.m.Funcs[0]
	if g.Name != f.Name || g.Entry != f.Entry || g.Body != f.Body {
		return fmt.Errorf("ptx: %s as rewritten is another function, %s", f.Name, g.Name)
	}
	g.at, g.changed, g.version = f.at, f.changed || !bytes.Equal(g.text, f.text), f.version+1
	*f = *g
	return nil
}

// Clone returns an independent copy, for a rewrite that may be taken back by SetText(old.Text()).
func (f *Func) Clone() *Func {
	g := *f
	g.edits, g.memo = nil, new(memo)
	return &g
}
