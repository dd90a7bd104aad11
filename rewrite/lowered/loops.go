package lowered

// Loops of functions, in the order of the text, and the sites by which recipes name them.

import (
	"fmt"
	"path"
	"strconv"
	"strings"
)

// A Loop is a loop that a recipe can name.
type Loop struct {
	// "2": the kernel's second loop; "f.1": the first one of a function f that it reaches
	Site     string
	Kind     string // "for", "while", "do"
	Function string // the function that it stands in
	File     string
	Line     int
	Inner    bool // holds no other loop
	Trip     int  // iterations, where literals in its head say so; 0 unknown
	Pragma   bool // the source has an unroll pragma for it

	at, stop int // tokens: for, while or do, and what follows the loop
}

// maxNesting bounds how deep statements are read.
const maxNesting = 1000

// A body is a reader of one function's statements.
type body struct {
	u     *Unit
	stop  int
	found []Loop
	deep  bool // deeper than is read
}

// loops finds the loops of a function with a body. not ok: its statements could not be read.
func (u *Unit) loops(d *decl) ([]Loop, bool) {
	b := body{u: u, stop: int(u.tokens[d.body].n)}
	for i := int(d.body) + 1; i < b.stop; {
		i = b.statement(i, 0)
	}
	for i := range b.found {
		l := &b.found[i]
		l.Inner = i+1 == len(b.found) || b.found[i+1].at >= l.stop
	}
	return b.found, !b.deep
}

// statement reads the statement at i and returns what follows it.
func (b *body) statement(i, depth int) int {
	u, t := b.u, b.u.tokens
	if depth > maxNesting {
		b.deep = true
		return b.stop
	}
	i, unrolled := b.labels(i)
	if i >= b.stop {
		return b.stop
	}
	if t[i].kind == '{' {
		stop := int(t[i].n)
		for i++; i < stop; {
			i = b.statement(i, depth+1)
		}
		return stop + 1
	}
	kind := ""
	if t[i].kind == word {
		kind = u.str(i)
	}
	headed := i+1 < b.stop && t[i+1].kind == '('
	switch {
	case kind == "if" && headed:
		i = b.statement(int(t[i+1].n)+1, depth+1)
		if u.is(i, "else") {
			i = b.statement(i+1, depth+1)
		}
		return i
	case kind == "switch" && headed:
		return b.statement(int(t[i+1].n)+1, depth+1)
	case (kind == "for" || kind == "while") && headed, kind == "do":
		n := len(b.found)
		p := u.at(t[i].off)
		l := Loop{Kind: kind, File: p.file, Line: p.line, Pragma: unrolled, at: i}
		if kind == "for" {
			l.Trip = u.trip(i)
		}
		b.found = append(b.found, l)
		if kind == "do" {
			i = b.statement(i+1, depth+1)
			if u.is(i, "while") && i+1 < b.stop && t[i+1].kind == '(' {
				i = min(int(t[i+1].n)+2, b.stop)
			}
		} else {
			i = b.statement(int(t[i+1].n)+1, depth+1)
		}
		b.found[n].stop = i
		return i
	}
	for ; i < b.stop && t[i].kind != ';'; i++ {
		switch {
		case t[i].kind == '{': // of ({ ... }), or a value's
			stop := int(t[i].n)
			for i++; i < stop; {
				i = b.statement(i, depth+1)
			}
			i = stop
		case t[i].kind == '}': // foreign text
			return i + 1
		}
	}
	return i + 1
}

// labels skips what stands before a statement: labels, cases, pragmas; unrolled: one of these is
// about unrolling.
func (b *body) labels(i int) (at int, unrolled bool) {
	u, t := b.u, b.u.tokens
	for ; i < b.stop; i++ {
		switch {
		case t[i].kind == pragma:
			unrolled = unrolled || strings.Contains(u.str(i), "unroll")
		case t[i].kind == word && i+1 < b.stop && t[i+1].kind == ':': // a label, default
			i++
		case u.is(i, "case"):
			for i < b.stop && t[i].kind != ':' {
				if t[i].kind == '(' {
					i = int(t[i].n)
				}
				i++
			}
		default:
			return i, unrolled
		}
	}
	return i, unrolled
}

// trip is the number of iterations of i = A; for (; i < B; i += C) with literals, 0 if it is not
// that. at is the for.
func (u *Unit) trip(at int) int {
	t := u.tokens
	i := at - 1
	for i > 0 && t[i].kind == pragma {
		i--
	}
	if i < 4 || t[i].kind != ';' || t[i-1].kind != number || t[i-2].kind != '=' || t[i-3].kind != word {
		return 0
	}
	name := t[i-3].n
	first, ok := integer(u.str(i - 1))
	open, stop := at+1, int(t[at+1].n)
	if !ok || t[open+1].kind != ';' || t[open+2].kind != word || t[open+2].n != name ||
		t[open+3].kind != '<' {
		return 0
	}
	j, more := open+4, 0
	if t[j].kind == '=' {
		j, more = j+1, 1
	}
	last, ok := integer(u.str(j))
	if !ok || t[j+1].kind != ';' {
		return 0
	}
	var b strings.Builder
	for k := j + 2; k < stop; k++ {
		b.WriteString(u.str(k))
	}
	step, s, n := 0, b.String(), u.words[name]
	switch {
	case s == n+"++" || s == "++"+n:
		step = 1
	case strings.HasPrefix(s, n+"+="):
		step, _ = integer(s[len(n)+2:])
	}
	if last += more; step <= 0 || last <= first {
		return 0
	}
	return (last - first + step - 1) / step
}

// integer reads a decimal literal, with a suffix, below a million.
func integer(s string) (int, bool) {
	s = strings.TrimRight(s, "uUlL")
	if len(s) > 6 || len(s) > 1 && s[0] == '0' {
		return 0, false
	}
	v, err := strconv.Atoi(s)
	return v, err == nil && v >= 0
}

// calls lists a function and the functions of the user's files that it reaches, by first mention.
func (u *Unit) calls(def int32) []int32 {
	list := []int32{def}
	known := map[int32]bool{def: true}
	for n := 0; n < len(list); n++ {
		d := &u.decls[list[n]]
		for i := int(d.body); i < int(d.to); i++ {
			if u.tokens[i].kind != word || u.member(i) {
				continue
			}
			for _, k := range u.by[u.tokens[i].n] {
				g := &u.decls[k]
				if g.kind == function && g.body > 0 && !g.kernel && !known[k] {
					known[k] = true
					list = append(list, k)
				}
			}
		}
	}
	return list
}

// loopsOf lists the loops of functions, of which the first one is the kernel, and gives each its
// site: the number of a loop in its function, from 1 in the order of the text, behind the
// function's name where that is not the kernel's. Of functions of one name the second one that is
// reached is called NAME:2. Neither lines nor what else is in the file count, as they do not for a
// kernel's identity. The text says why there is nothing to be said about them.
func (u *Unit) loopsOf(functions []int32) (out []Loop, why string) {
	seen := map[string]int{}
	for i, k := range functions {
		d := &u.decls[k]
		if i > 0 && u.systems(u.at(u.tokens[d.params].off).file) {
			continue
		}
		loops, ok := u.loops(d)
		if !ok {
			if i == 0 {
				return nil, "its statements are nested too deep"
			}
			continue
		}
		if len(loops) == 0 {
			continue
		}
		name := simpleName(u.words[d.name])
		prefix := ""
		if i > 0 {
			prefix = strings.Map(func(r rune) rune {
				if strings.ContainsRune(" {}=,@.|\n\t", r) {
					return '_'
				}
				return r
			}, name)
			if seen[prefix]++; seen[prefix] > 1 {
				prefix = fmt.Sprintf("%s:%d", prefix, seen[prefix])
			}
			prefix += "."
		}
		for n, l := range loops {
			l.Function, l.Site = name, fmt.Sprintf("%s%d", prefix, n+1)
			out = append(out, l)
		}
	}
	return out, ""
}

// simpleName is a function's name without namespaces, classes and parameters.
func simpleName(mangled string) string {
	name, _ := readable(mangled)
	if i := strings.LastIndex(name, "::"); i >= 0 {
		name = name[i+2:]
	}
	return name
}

// systems reports whether a file is a system's header or the toolkit's: not the user's.
func (u *Unit) systems(file string) bool {
	return strings.HasPrefix(file, "/usr/include/") || strings.HasPrefix(file, "/usr/lib") ||
		u.toolkit != "" && strings.HasPrefix(path.Clean(file), u.toolkit)
}
