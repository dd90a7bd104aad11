package source

// Bodies: loops, shared arrays, and what forbids a second copy of a body. Found when a kernel is
// asked about, not for every function of the text.

import (
	"fmt"
	"strings"
)

// A loop is a loop in a function's body; fields are indices of tokens.
type loop struct {
	at      int    // for, while, do
	open    int    // ( of the head; -1 for do
	from    int    // first token of the body
	stop    int    // index behind the loop
	kind    string // "for", "while", "do"
	depth   int    // 0 for a loop in no other loop of its function
	pragma  int    // index of the unroll pragma before it, -1 none
	inner   bool   // holds no other loop
	trip    int    // iterations, if the head says so in literals; 0 unknown
	ranged  bool   // for (x : range)
	counter string // its variable where trip is known
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
			l.ranged = u.ranged(l.open)
			l.trip, l.counter = u.trip(l.open)
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
				found[i].depth = found[j].depth + 1
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

func (u *Unit) ranged(open int) bool {
	t := u.tokens
	for i := open + 1; i < int(t[open].match); i++ {
		switch t[i].kind {
		case ';', '?':
			return false
		case ':':
			return true
		case '(', '[', '{':
			i = int(t[i].match)
		}
	}
	return false
}

// trip is the number of iterations of for (int i = A; i < B; i += C) with literals, 0 if it is not
// that.
func (u *Unit) trip(open int) (int, string) {
	t := u.tokens
	part := [3][2]int{}
	n, from := 0, open+1
	for i := from; i <= int(t[open].match); i++ {
		if t[i].kind == ';' || i == int(t[open].match) {
			if n == 3 {
				return 0, ""
			}
			part[n] = [2]int{from, i}
			n, from = n+1, i+1
		} else if k := t[i].kind; k == '(' || k == '[' || k == '{' {
			i = int(t[i].match)
		}
	}
	if n != 3 {
		return 0, ""
	}
	a, b, c := part[0], part[1], part[2]
	if a[1]-a[0] < 3 || b[1]-b[0] != 3 || t[a[1]-3].kind != ident || t[a[1]-2].kind != '=' ||
		t[b[0]].kind != ident {
		return 0, ""
	}
	name := u.str(a[1] - 3)
	first, ok1 := literal(u.str(a[1] - 1))
	last, ok2 := literal(u.str(b[0] + 2))
	if !ok1 || !ok2 || u.str(b[0]) != name {
		return 0, ""
	}
	step := 0
	switch s := u.squeeze(c[0], c[1]); {
	case s == name+"++" || s == "++"+name:
		step = 1
	case strings.HasPrefix(s, name+"+="):
		if step, ok1 = literal(s[len(name)+2:]); !ok1 {
			return 0, ""
		}
	}
	if step <= 0 {
		return 0, ""
	}
	switch u.str(b[0] + 1) {
	case "<":
	case "<=":
		last++
	default:
		return 0, ""
	}
	if last <= first {
		return 0, ""
	}
	return (last - first + step - 1) / step, name
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

// A sharedVar is a __shared__ array or variable in a body.
type sharedVar struct {
	name    string
	dynamic bool // extern __shared__
}

// A survey is what a body says about copying it.
type survey struct {
	shared []sharedVar
	copy   string // why there may not be two copies of it, "" if there may
	ifs    bool   // has an if constexpr
}

// survey looks through f's body.
func (u *Unit) survey(f *function) survey {
	t := u.tokens
	open, stop := f.open, int(t[f.open].match)
	var s survey
	no := func(i int, format string, args ...any) {
		if s.copy == "" {
			s.copy = fmt.Sprintf(format, args...) + " at " + u.place(int(t[i].off))
		}
	}
	if f.try {
		no(open, "a function-try-block")
	}
	statement := open + 1 // where the current statement began
	for i := open + 1; i < stop; i++ {
		switch k := t[i].kind; k {
		case skipped:
			no(i, "header text inside the body")
		case pragma:
			if !copyablePragma(u.str(i)) {
				no(i, "a directive (%s)", u.str(i))
			}
			statement = i + 1
		case ';', '{', '}':
			statement = i + 1
		case ':':
			if i-1 == statement && t[i-1].kind == ident && !u.is(i-1, "default") {
				no(i, "a label (%s)", u.str(i-1))
			}
			if i-1 > open && u.is(statement, "case") || u.is(i-1, "default") {
				statement = i + 1
			}
		case shiftL:
			if t[i+1].kind == '<' {
				no(i, "a launch of another kernel")
			}
		case '[':
			if i+1 < stop && t[i+1].kind == '[' && t[i].match == t[i+1].match+1 {
				i = int(t[i].match)
				continue
			}
			if u.lambda(i) {
				no(i, "a lambda (its number must stay)")
			}
		case ident:
			switch word := u.str(i); word {
			case "goto":
				no(i, "goto")
			case "asm", "__asm__", "__asm":
				if u.labelled(i, stop) {
					no(i, "inline assembly with a label")
				}
			case "static":
				if why := u.staticLocal(i, stop); why != "" {
					no(i, "%s", why)
				}
			case "thread_local", "__thread":
				no(i, "a thread-local variable")
			case "class", "struct", "union", "enum":
				if u.defines(i, stop) {
					no(i, "a local %s", word)
				}
			case "try", "catch", "co_await", "co_yield", "co_return":
				no(i, "%s", word)
			case "if":
				s.ifs = s.ifs || i+1 < stop && u.is(i+1, "constexpr")
			case "__attribute__", "__attribute":
				if i+1 >= stop || t[i+1].kind != '(' {
					continue
				}
				for j := i + 2; j < int(t[i+1].match); j++ {
					if why := u.localAttribute(j, statement, stop, &s); why != "" {
						no(i, "%s", why)
					}
				}
				i = int(t[i+1].match)
			}
		}
	}
	return s
}

// labelled tells of inline assembly that has a label.
func (u *Unit) labelled(i, stop int) bool {
	for j := i + 1; j < stop && u.tokens[j].kind != ';'; j++ {
		if u.tokens[j].kind == str && asmLabel(u.str(j)) {
			return true
		}
	}
	return false
}

// localAttribute looks at a word among a local variable's attributes, and says why the body can't
// be copied for it. Shared variables are noted; their declaration begins at statement.
func (u *Unit) localAttribute(i, statement, stop int, s *survey) string {
	switch {
	case u.is(i, "constant"), u.is(i, "__constant__"), u.is(i, "device"), u.is(i, "__device__"),
		u.is(i, "managed"), u.is(i, "__managed__"), u.is(i, "used"), u.is(i, "alias"):
		return "a local variable with the attribute " + u.str(i)
	case u.is(i, "shared"), u.is(i, "__shared__"):
		vars, ok := u.sharedDeclarators(statement, stop)
		s.shared = append(s.shared, vars...)
		if !ok {
			return "a shared declaration that was not understood"
		}
	}
	return ""
}

// copyablePragma tells pragmas that mean the same in a second copy.
func copyablePragma(line string) bool {
	f := strings.Fields(strings.TrimPrefix(line, "#"))
	if len(f) < 2 || f[0] != "pragma" {
		return false
	}
	switch f[1] {
	case "unroll", "nounroll", "nv_diag_suppress", "nv_diag_default", "nv_diag_warning",
		"diag_suppress", "diag_default", "diag_warning",
		"nv_diagnostic", "omp", "GCC", "ivdep", "nv_abi":
		return f[1] != "nv_abi"
	}
	return strings.HasPrefix(f[1], "unroll(") || strings.HasPrefix(f[1], "unroll (")
}

// asmLabel reports whether inline assembly declares a label: a word followed by a colon that is not
// part of ::
func asmLabel(s string) bool {
	for i := 1; i < len(s)-1; i++ {
		if s[i] != ':' || s[i+1] == ':' || s[i-1] == ':' {
			continue
		}
		j := i - 1
		for j > 0 && s[j] == ' ' {
			j--
		}
		if c := class[s[j]]; c >= cLetter || s[j] == '=' || s[j] == '}' {
			return true
		}
	}
	return false
}

// lambda reports whether the [ at i begins a lambda. When in doubt, yes.
func (u *Unit) lambda(i int) bool {
	t := u.tokens
	switch p := t[i-1]; p.kind {
	case ')', ']', str, number, char, '>':
		return false
	case ident:
		switch u.str(i - 1) {
		case "return", "case", "co_return", "co_yield", "throw", "else", "do":
		case "auto", "const": // a structured binding, or a lambda's odd cousin
			return t[t[i].match+1].kind != '=' && t[t[i].match+1].kind != ':'
		default:
			return false
		}
	case '&', operator:
		if k := t[t[i].match+1].kind; k == '=' || k == ':' {
			return false // auto &[a, b] =
		}
	case '{', ',':
		if k := t[t[i].match+1].kind; k == '=' { // a designated initialiser
			return false
		}
	}
	return true
}

// staticLocal says why the static variable at i forbids a second copy, "" if it does not.
func (u *Unit) staticLocal(i, stop int) string {
	t := u.tokens
	shared, constant := false, false
	for j := i; j < stop && t[j].kind != ';' && t[j].kind != '='; j++ {
		shared = shared || u.is(j, "shared") || u.is(j, "__shared__")
		constant = constant || u.is(j, "constexpr")
	}
	if i > 0 && u.is(i-1, "constexpr") {
		constant = true
	}
	if i > 0 && t[i-1].kind == ')' { // __shared__ static float a[4]
		for j := int(t[i-1].match); j < i; j++ {
			shared = shared || u.is(j, "shared") || u.is(j, "__shared__")
		}
	}
	if shared || constant {
		return ""
	}
	return "a static local variable"
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

// sharedDeclarators reads the names of the declaration that begins at token i.
func (u *Unit) sharedDeclarators(i, stop int) ([]sharedVar, bool) {
	t := u.tokens
	r := reader{u: u, t: t}
	var vars []sharedVar
	dynamic, name, done := false, "", false
	for ; i < stop; i++ {
		switch t[i].kind {
		case ident:
			switch word := u.str(i); word {
			case "extern":
				dynamic = true
			case "__attribute__", "alignas", "__align__", "decltype":
				if i+1 < stop && t[i+1].kind == '(' {
					i = int(t[i+1].match)
				}
			default:
				if !done && !typeWord(word) {
					name = word
				}
			}
		case scope, '*', '&':
		case '<':
			behind := -1
			if t[i-1].kind == ident {
				behind = r.angles(i, stop)
			}
			if behind < 0 {
				return nil, false
			}
			i = behind - 1
		case '[':
			i = int(t[i].match)
			done = true
		case ',', ';':
			if name == "" {
				return nil, false
			}
			vars = append(vars, sharedVar{name, dynamic})
			name, done = "", false
			if t[i].kind == ';' {
				return vars, true
			}
		default: // an initialiser, a function pointer
			return nil, false
		}
	}
	return nil, false
}
