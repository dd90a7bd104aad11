package lowered

// Where the text is C, and the same words are another C++; and where the front end writes down what
// LLVM is given in another way when cicc compiles the whole file.

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
)

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
	case d.kind == variable && (u.separate || strings.HasPrefix(name, "__nv_static_")) &&
		!u.says(d, "__shared__"):
		gone = "static" // the same, for variables
	case d.kind == variable && strings.HasPrefix(name, "_ZZ"):
		gone = "__var_used__" // a variable of a function is known nowhere else
	}
	for i := d.from; gone != "" && t[i].n != d.name && i < d.to; i++ {
		if u.is(int(i), gone) {
			edits = append(edits, edit{off: t[i].off, blank: t[i].end - t[i].off})
		}
		if d.kind == function && u.is(int(i), "__noinline__") && t[i-1].kind != '(' { // up to 12.9
			edits = append(edits, edit{off: t[i].off, blank: t[i].end - t[i].off,
				text: "__attribute__((__noinline__))"})
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
			edits = append(edits, u.initialised(d, int(i))...)
		case w == "__copy_param":
			j = u.copyOfItself(int(i))
		case w == "__nv_tex_surf_handler":
			edits = append(edits, u.bareName(int(i))...)
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

// bareName are the edits that take casts and parentheses from the name of a texture's function, the
// first argument of what is called at i.
func (u *Unit) bareName(i int) []edit {
	t := u.tokens
	if t[i+1].kind != '(' {
		return nil
	}
	for j := i + 2; j < int(t[i+1].n) && t[j].kind != ','; j++ {
		if t[j].kind != literal {
			continue
		}
		comma := j
		for comma++; t[comma].kind == ')' && int(t[comma].n) > i+1; {
			comma++
		}
		return []edit{{off: t[i+2].off, blank: t[j].off - t[i+2].off},
			{off: t[j].end, blank: t[comma].off - t[j].end}}
	}
	return nil
}

// initialised reads the statements by which the front end writes what had a value where it was
// declared, and gives the edits that make it the declaration that it was:
//
//	int x[3]; ... memset((char *)&x, 0,sizeof(x)); x[0] = 1; x[1] = n;      ... int x[3] = {1, n};
//
// i is the memset. No edits: it is something else.
func (u *Unit) initialised(d *decl, i int) []edit {
	t := u.tokens
	if t[i+1].kind != '(' {
		return nil
	}
	j := int(t[i+1].n)
	if t[j+1].kind != ';' || t[j-1].kind != ')' || t[j-2].kind != word || !u.is(j-4, "sizeof") {
		return nil
	}
	name := t[j-2].n
	if t[j+2].kind == word && t[j+2].n == name && t[j+3].kind == '=' { // all of it is given a value next
		return []edit{{off: t[i].off, blank: t[j+1].end - t[i].off}}
	}
	from, stop := u.declared(d, i, name)
	if from < 0 {
		return nil
	}
	root := &element{}
	k := j + 2
	for {
		behind := u.assigned(root, k, name)
		if behind < 0 {
			break
		}
		k = behind
	}
	text := string(u.text[t[from].off:t[stop].off]) + " = " + root.text()
	edits := []edit{{off: t[from].off, blank: t[stop].end - t[from].off}}
	// What is declared behind it stays behind it: LLVM lays local arrays out in that order.
	for open := u.block(i); u.block(stop) == open; {
		from = stop + 1
		at := from
		for at < k && (t[at].kind == word && t[at+1].kind != ';' && t[at+1].kind != '[' || t[at].kind == '*') {
			at++
		}
		f, s := u.declared(d, k, t[at].n)
		if t[at].kind != word || f != from || !u.unused(t[at].n, s+1, k) || u.clears(t[at].n, k, int(t[open].n)) {
			break
		}
		stop = s
		edits = append(edits, edit{off: t[from].off, blank: t[stop].end - t[from].off})
		text += "; " + string(u.text[t[from].off:t[stop].off])
	}
	return append(edits, edit{off: t[i].off, blank: t[k-1].off - t[i].off, text: text})
}

// unused reports whether the tokens [i, stop) do not mention a word.
func (u *Unit) unused(n int32, i, stop int) bool {
	return !slices.ContainsFunc(u.tokens[i:stop], func(t token) bool { return t.kind == word && t.n == n })
}

// clears reports whether the first mention of a word in [i, stop) is in the parentheses of a memset.
func (u *Unit) clears(n int32, i, stop int) bool {
	for ; i < stop; i++ {
		if u.is(i, "memset") && u.tokens[i+1].kind == '(' {
			if !u.unused(n, i, int(u.tokens[i+1].n)) {
				return true
			}
		} else if t := u.tokens[i]; t.kind == word && t.n == n {
			return false
		}
	}
	return false
}

// block is the { of the block that token i stands in.
func (u *Unit) block(i int) int {
	for i--; i > 0 && u.tokens[i].kind != '{'; i-- {
		if u.tokens[i].kind == '}' {
			i = int(u.tokens[i].n)
		}
	}
	return i
}

// declared finds the declaration of a local variable, whose first mention it is: its first token and
// its ;. -1 where it could not stand at i as well.
func (u *Unit) declared(d *decl, i int, name int32) (from, stop int) {
	t := u.tokens
	at := int(d.body)
	for t[at].kind != word || t[at].n != name {
		if at++; at >= i {
			return -1, -1
		}
	}
	for stop = at + 1; t[stop].kind == '['; {
		stop = int(t[stop].n) + 1
	}
	for from = at; t[from-1].kind == word || t[from-1].kind == '*'; {
		from--
	}
	if k := t[from-1].kind; t[stop].kind != ';' || from == at || k != ';' && k != '{' && k != '}' ||
		u.is(from, "static") || u.is(from, "return") || u.is(from, "goto") {
		return -1, -1
	}
	open := u.block(i)
	for n := stop + 1; n < int(d.to); n++ {
		if t[n].kind == word && t[n].n == name && (n < i || n > int(t[open].n)) {
			return -1, -1
		}
	}
	return from, stop
}

// An element is a part of a variable that is given a value where it is declared.
type element struct {
	value string
	parts map[string]*element // of a struct by name, of an array by number
	names []string            // the former, in order
	size  int                 // of the latter, as far as known
}

// assigned reads x[0].y = value; at i into the element, and returns what follows it; -1: it is
// something else.
func (u *Unit) assigned(e *element, i int, name int32) int {
	t := u.tokens
	if t[i].kind != word || t[i].n != name {
		return -1
	}
	for i++; t[i].kind != '='; {
		key := ""
		switch {
		case t[i].kind == '[' && int(t[i].n) == i+2 && t[i+1].kind == number:
			key = strings.TrimRight(u.str(i+1), "uUlL")
			i += 3
		case t[i].kind == '.' && t[i+1].kind == word:
			key = u.str(i + 1)
			i += 2
		default:
			return -1
		}
		e = e.part(key)
	}
	start := i + 1
	for i++; t[i].kind != ';'; i++ {
		switch k := t[i].kind; {
		case k == '(' || k == '[' || k == '{':
			i = int(t[i].n)
		case k == ',' || k == '}' || k == '=':
			return -1
		}
	}
	e.value = string(u.text[t[start].off:t[i-1].end])
	return i + 1
}

func (e *element) part(key string) *element {
	if p := e.parts[key]; p != nil {
		return p
	}
	if e.parts == nil {
		e.parts = map[string]*element{}
	}
	p := &element{}
	e.parts[key] = p
	if n, err := strconv.Atoi(key); err == nil {
		e.size = max(e.size, min(n, 1<<16)+1)
	} else {
		e.names = append(e.names, key)
	}
	return p
}

// text is the element's initialiser.
func (e *element) text() string {
	if e.value != "" {
		return e.value
	}
	var list []string
	for n := range e.size {
		text := "{}"
		if p := e.parts[strconv.Itoa(n)]; p != nil {
			text = p.text()
		}
		list = append(list, text)
	}
	for _, name := range e.names {
		list = append(list, fmt.Sprintf(".%s = %s", name, e.parts[name].text()))
	}
	return "{" + strings.Join(list, ", ") + "}"
}
