package lowered

// Slicing: the declarations that a kernel reaches, by names, in the order of the text. A name that
// means something else in an inner scope brings too much, which changes no kernel.

import (
	"bytes"
	"fmt"
	"slices"
)

// A slice is what a kernel needs: declarations of the unit and of the header, ascending, and what
// neither has: enums, and functions that are the compiler's own.
type slice struct {
	own, header    []int32
	enums, builtin []string
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
		switch {
		case defined:
		case enum:
			s.enums = append(s.enums, word)
		case builtinFunctions()[word]:
			s.builtin = append(s.builtin, word)
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

func byOffset(e edit, off int32) int { return int(e.off - off) }

// print writes a slice as a complete input for cicc, with more declarations, and with edits, which
// are in order.
func (u *Unit) print(s slice, more string, edits []edit) []byte {
	var out bytes.Buffer
	out.WriteString(macros)
	for _, name := range s.builtin {
		fmt.Fprintf(&out, "#define %s(...) __builtin_%s(__VA_ARGS__)\n", name, name)
	}
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
