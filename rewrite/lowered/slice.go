package lowered

// Slicing: the declarations that a kernel reaches, by names, in the order of the text. A name that
// means something else in an inner scope brings too much, which changes no kernel.

import (
	"bytes"
	"fmt"
	"slices"
	"strings"
)

// A slice is what a kernel needs: declarations of the unit and of the header, ascending, and enums
// that neither has.
type slice struct {
	own, header []int32
	enums       []string
}

// reached are the declarations that a kernel needs. Of other kernels only what is not their bodies.
func (u *Unit) reached(body int32, names ...string) slice {
	var s slice
	type place struct {
		u *Unit
		n int32
	}
	seen := map[place]bool{}
	var queue []place
	add := func(word string, enum bool) {
		defined := false
		if n, ok := u.numbers[word]; ok {
			for _, k := range u.by[n] {
				d := &u.decls[k]
				if d.kernel && d.body > 0 && k != body {
					continue
				}
				defined = defined || d.kind != tagged || d.body > 0
				if p := (place{u, k}); !seen[p] {
					seen[p] = true
					queue = append(queue, p)
				}
			}
		}
		h := header()
		if n, ok := h.numbers[word]; ok && !defined {
			for _, k := range h.by[n] {
				defined = true
				if p := (place{h, k}); !seen[p] {
					seen[p] = true
					queue = append(queue, p)
				}
			}
		}
		if enum && !defined {
			s.enums = append(s.enums, word)
		}
	}
	for _, name := range names {
		add(name, false)
	}
	asked := map[*Unit][]bool{u: make([]bool, len(u.words)), header(): make([]bool, len(header().words))}
	for len(queue) > 0 {
		p := queue[len(queue)-1]
		queue = queue[:len(queue)-1]
		if p.u == u {
			s.own = append(s.own, p.n)
		} else {
			s.header = append(s.header, p.n)
		}
		d := &p.u.decls[p.n]
		for i := d.from; i < d.to; i++ {
			t := p.u.tokens[i]
			if t.kind != word || asked[p.u][t.n] || p.u.member(int(i)) {
				continue
			}
			asked[p.u][t.n] = true
			add(p.u.words[t.n], p.u.is(int(i-1), "enum"))
		}
	}
	slices.Sort(s.own)
	slices.Sort(s.header)
	s.own = u.withoutTentative(s.own)
	return s
}

// member reports whether the word at i stands behind . or ->, and so is a field's name.
func (u *Unit) member(i int) bool {
	if i < 2 {
		return false
	}
	k := u.tokens[i-1].kind
	return k == '.' || k == '>' && u.tokens[i-2].kind == '-' && u.tokens[i-2].end == u.tokens[i-1].off
}

// withoutTentative leaves out what C allows and C++ does not: a variable's definition without a
// value, where another definition of it follows.
func (u *Unit) withoutTentative(list []int32) []int32 {
	last := map[int32]int32{} // by name
	for _, k := range list {
		d := &u.decls[k]
		if d.kind == variable && !u.says(d, "extern") {
			if was, ok := last[d.name]; !ok || d.value > 0 || u.decls[was].value == 0 {
				last[d.name] = k
			}
		}
	}
	return slices.DeleteFunc(list, func(k int32) bool {
		was, ok := last[u.decls[k].name]
		d := &u.decls[k]
		return d.kind == variable && ok && was != k && !u.says(d, "extern")
	})
}

// says reports whether a word stands in front of a declaration's name.
func (u *Unit) says(d *decl, w string) bool {
	for i := d.from; i < d.to; i++ {
		switch t := u.tokens[i]; {
		case t.kind == word && u.words[t.n] == w:
			return true
		case t.kind == word && t.n == d.name, t.kind == '=' || t.kind == '{':
			return false
		}
	}
	return false
}

// An edit puts text in at an offset, in the place of so many bytes.
type edit struct {
	off   int32
	blank int32
	text  string
}

// mended are the edits of one declaration, with those that make it the C++ that is meant.
func (u *Unit) mended(d *decl, edits []edit) []edit {
	t := u.tokens
	from, _ := slices.BinarySearchFunc(edits, t[d.from].off, byOffset)
	stop, _ := slices.BinarySearchFunc(edits, t[d.to-1].end, byOffset)
	edits = slices.Clone(edits[from:stop])
	gone := ""
	switch name := u.words[max(d.name, 0)]; {
	case d.kind == function:
		gone = "static" // its name would be mangled once more; without -rdc only kernels are visible anyway
	case d.kind == variable && u.separate && !u.says(d, "__shared__"):
		gone = "static" // the same, for variables
	case d.kind == variable && strings.HasPrefix(name, "_ZZ"):
		gone = "__var_used__" // a variable of a function is known nowhere else
	}
	for i := d.from; gone != "" && t[i].n != d.name && i < d.to; i++ {
		if u.is(int(i), gone) {
			edits = append(edits, edit{off: t[i].off, blank: t[i].end - t[i].off})
		}
	}
	for i := d.body; d.body > 0 && i < d.to; i++ {
		if t[i].kind != word {
			continue
		}
		j := -1
		switch w := u.words[t[i].n]; {
		case w == "char" && d.kind == tagged:
			j = u.emptyMember(int(i))
		case w == "memset":
			j = u.overwritten(int(i))
		case w == "__copy_param":
			j = u.copyOfItself(int(i))
		}
		if j > 0 {
			edits = append(edits, edit{off: t[i].off, blank: t[j].end - t[i].off})
		}
	}
	slices.SortStableFunc(edits, func(a, b edit) int { return int(a.off - b.off) })
	return edits
}

// literal is the text of the string literal that the front end put into a variable, "" if it is no
// such variable. LLVM knows literals as such only where they stand.
func (u *Unit) literal(d *decl) string {
	if d.kind != variable || d.value == 0 || !strings.HasPrefix(u.words[d.name], "__T") ||
		!u.says(d, "const") {
		return ""
	}
	var b strings.Builder
	for i := d.value + 1; i < d.to-1; i++ {
		if u.tokens[i].kind != literal {
			return ""
		}
		b.WriteString(u.str(int(i)))
	}
	return b.String()
}

// emptyMember returns the last token of the member at i if it is char __dummy_empty2[3]; which
// stands behind a member that has no size in C, being an empty struct. In C++ it has one. Else -1.
func (u *Unit) emptyMember(i int) int {
	if !strings.HasPrefix(u.str(i+1), "__dummy_empty") {
		return -1
	}
	return u.end(i) - 1
}

// overwritten returns the last token of memset((char *)&x, 0,sizeof(x)); at i if x = ...; follows,
// else -1. The front end writes it for values with constructors, and means nothing by it: LLVM, that
// has it from another source, does not see it.
func (u *Unit) overwritten(i int) int {
	t := u.tokens
	if t[i+1].kind != '(' {
		return -1
	}
	j := int(t[i+1].n)
	if t[j+1].kind != ';' || t[j-1].kind != ')' || t[j-2].kind != word || !u.is(j-4, "sizeof") ||
		t[j+2].kind != word || t[j+2].n != t[j-2].n || t[j+3].kind != '=' || t[j+4].kind == '=' {
		return -1
	}
	for k := j + 4; t[k].kind != ';'; k++ {
		if t[k].kind == '}' || t[k].kind == word && t[k].n == t[j-2].n {
			return -1
		}
	}
	return j + 1
}

// copyOfItself returns the last token of __copy_param(int n,n); at i, else -1: the parameter has no
// other name, being one of a pack.
func (u *Unit) copyOfItself(i int) int {
	t := u.tokens
	if t[i+1].kind != '(' {
		return -1
	}
	j := int(t[i+1].n)
	if t[j-1].kind != word || t[j-2].kind != ',' || t[j-3].kind != word || t[j-3].n != t[j-1].n ||
		t[j+1].kind != ';' {
		return -1
	}
	return j + 1
}

func byOffset(e edit, off int32) int { return int(e.off - off) }

// print writes a slice as a complete input for cicc, with more declarations, and with edits, which
// are in order.
func (u *Unit) print(s slice, more string, edits []edit) []byte {
	var out bytes.Buffer
	out.WriteString(macros)
	out.WriteString("extern \"C\" {\n")
	for _, k := range s.header {
		h := header()
		d := &h.decls[k]
		out.Write(h.text[h.tokens[d.from].off:h.tokens[d.to-1].end])
		out.WriteByte('\n')
	}
	for _, name := range s.enums {
		fmt.Fprintf(&out, "enum %s : unsigned int;\n", name)
	}
	out.WriteString(more)
	for _, k := range s.own {
		d := &u.decls[k]
		if text := u.literal(d); text != "" {
			fmt.Fprintf(&out, "#define %s %s\n", u.words[d.name], text)
			continue
		}
		edits := u.mended(d, edits)
		from, stop := u.tokens[d.from].off, u.tokens[d.to-1].end
		if p := u.at(from); p.off >= 0 {
			out.Write(u.text[p.off:lineEnd(u.text, int(p.off))])
			out.WriteByte('\n')
		}
		for len(edits) > 0 && edits[0].off < stop {
			if e := edits[0]; e.off >= from {
				out.Write(u.text[from:e.off])
				out.WriteString(e.text)
				from = e.off + e.blank
			}
			edits = edits[1:]
		}
		out.Write(u.text[from:stop])
		out.WriteByte('\n')
	}
	out.WriteString("}\n")
	return out.Bytes()
}
