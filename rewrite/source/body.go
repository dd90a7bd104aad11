package source

// Loops of a body. Found when a kernel is asked about, not for every function of the text.

import "strings"

// A loop is a loop in a function's body; fields are indices of tokens.
type loop struct {
	at     int    // for, while, do
	open   int    // ( of the head; -1 for do
	from   int    // first token of the body
	stop   int    // index behind the loop
	kind   string // "for", "while", "do"
	pragma int    // index of the unroll pragma before it, -1 none
	inner  bool   // holds no other loop
	trip   int    // iterations, if the head says so in literals; 0 unknown
}

// loops finds the loops in f's body, in the order of the text.
func (u *Unit) loops(f *function) []loop {
	t := u.tokens
	open, stop := f.open, int(t[f.open].match)
	var found []loop
	tails := map[int]bool{} // whiles that end a do
	for i := open + 1; i < stop; i++ {
		if t[i].kind != ident {
			continue
		}
		l := loop{at: i, open: -1, pragma: -1, inner: true}
		switch u.str(i) {
		case "for", "while":
			if i+1 >= stop || t[i+1].kind != '(' || tails[i] {
				continue
			}
			l.kind, l.open = u.str(i), i+1
			l.from = int(t[i+1].match) + 1
			l.stop = u.statement(l.from, stop, 0)
		case "do":
			l.kind = "do"
			l.from = i + 1
			w := u.statement(l.from, stop, 0)
			if w >= stop || !u.is(w, "while") {
				continue
			}
			tails[w] = true
			l.stop = min(w+2, stop)
			if w+1 < stop && t[w+1].kind == '(' {
				l.stop = int(t[w+1].match) + 2
			}
		default:
			continue
		}
		l.pragma = u.pragmaBefore(i, open)
		if l.kind == "for" {
			l.trip = u.trip(l.open)
		}
		found = append(found, l)
	}
	var around []int // the loops that have not ended, innermost last
	for i := range found {
		for len(around) > 0 && found[around[len(around)-1]].stop <= found[i].at {
			around = around[:len(around)-1]
		}
		for n := len(around) - 1; n >= 0; n-- {
			if j := around[n]; found[j].stop >= found[i].stop && found[j].from <= found[i].at {
				found[j].inner = false
				break
			}
		}
		around = append(around, i)
	}
	return found
}

// statement returns the index after the statement at i.
func (u *Unit) statement(i, stop, depth int) int {
	t := u.tokens
	if depth > maxNesting {
		return stop
	}
	for i < stop {
		switch t[i].kind {
		case '{':
			return int(t[i].match) + 1
		case pragma, skipped:
			i++
			continue
		case '[':
			if i+1 < stop && t[i+1].kind == '[' {
				i = int(t[i].match) + 1
				continue
			}
		case ident:
			switch u.str(i) {
			case "for", "while", "switch", "if":
				j := i + 1
				if j < stop && u.is(j, "constexpr") {
					j++
				}
				if j >= stop || t[j].kind != '(' {
					break
				}
				isIf := u.is(i, "if")
				i = u.statement(int(t[j].match)+1, stop, depth+1)
				if isIf && i < stop && u.is(i, "else") {
					return u.statement(i+1, stop, depth+1)
				}
				return i
			case "do":
				i = u.statement(i+1, stop, depth+1)
				if i < stop && u.is(i, "while") && i+1 < stop && t[i+1].kind == '(' {
					return min(int(t[i+1].match)+2, stop)
				}
				return i
			}
		}
		for i < stop { // an expression or a declaration
			switch t[i].kind {
			case ';':
				return i + 1
			case '(', '[', '{':
				i = int(t[i].match)
			}
			i++
		}
	}
	return stop
}

// pragmaBefore returns the index of the unroll pragma that belongs to the loop at i, -1 if there is
// none.
func (u *Unit) pragmaBefore(i, open int) int {
	t := u.tokens
	for j := i - 1; j > open; j-- {
		switch {
		case t[j].kind == pragma:
			if strings.Contains(u.str(j), "unroll") {
				return j
			}
		case t[j].kind == ')' && t[j].match > 0 && u.is(int(t[j].match)-1, "_Pragma"):
			if strings.Contains(u.squeeze(int(t[j].match), j), "unroll") {
				return int(t[j].match) - 1
			}
			j = int(t[j].match) - 1
		case t[j].kind == ']' && t[j].match > 0 && t[t[j].match+1].kind == '[':
			if strings.Contains(u.squeeze(int(t[j].match), j), "unroll") {
				return int(t[j].match)
			}
			j = int(t[j].match)
		default:
			return -1
		}
	}
	return -1
}

// trip is the number of iterations of for (int i = A; i < B; i += C) with literals, 0 if it is not
// that.
func (u *Unit) trip(open int) int {
	t := u.tokens
	part := [3][2]int{}
	n, from := 0, open+1
	for i := from; i <= int(t[open].match); i++ {
		if t[i].kind == ';' || i == int(t[open].match) {
			if n == 3 {
				return 0
			}
			part[n] = [2]int{from, i}
			n, from = n+1, i+1
		} else if k := t[i].kind; k == '(' || k == '[' || k == '{' {
			i = int(t[i].match)
		}
	}
	if n != 3 {
		return 0
	}
	a, b, c := part[0], part[1], part[2]
	if a[1]-a[0] < 3 || b[1]-b[0] != 3 || t[a[1]-3].kind != ident || t[a[1]-2].kind != '=' ||
		t[b[0]].kind != ident {
		return 0
	}
	name := u.str(a[1] - 3)
	first, ok1 := literal(u.str(a[1] - 1))
	last, ok2 := literal(u.str(b[0] + 2))
	if !ok1 || !ok2 || u.str(b[0]) != name {
		return 0
	}
	step := 0
	switch s := u.squeeze(c[0], c[1]); {
	case s == name+"++" || s == "++"+name:
		step = 1
	case strings.HasPrefix(s, name+"+="):
		if step, ok1 = literal(s[len(name)+2:]); !ok1 {
			return 0
		}
	}
	if step <= 0 {
		return 0
	}
	switch u.str(b[0] + 1) {
	case "<":
	case "<=":
		last++
	default:
		return 0
	}
	if last <= first {
		return 0
	}
	return (last - first + step - 1) / step
}

// literal reads a decimal literal, with a suffix, below a million.
func literal(s string) (int, bool) {
	s = strings.TrimRight(s, "uUlL")
	if s == "" || len(s) > 6 || s[0] == '0' && len(s) > 1 {
		return 0, false
	}
	v := 0
	for _, c := range []byte(s) {
		if c < '0' || c > '9' {
			return 0, false
		}
		v = v*10 + int(c-'0')
	}
	return v, true
}

// defines reports whether the class keyword at i begins a definition.
func (u *Unit) defines(i, stop int) bool {
	r := reader{u: u, t: u.tokens}
	for j := i + 1; j < stop; j++ {
		switch u.tokens[j].kind {
		case '{', ':':
			return true
		case ident, scope:
			if j+1 < stop && u.tokens[j+1].kind == '(' && u.is(j, "__attribute__") {
				j = int(u.tokens[j+1].match)
			}
		case '<':
			behind := r.angles(j, stop)
			if behind < 0 {
				return false
			}
			j = behind - 1
		default:
			return false
		}
	}
	return false
}
