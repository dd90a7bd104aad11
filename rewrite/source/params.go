package source

// Parameter lists: names, types as text, positions. A parameter whose declaration is not plainly a
// type and a name is kept in its place, with the reason why it cannot be used.

import "strings"

// A Param is a kernel's parameter as the source has it.
type Param struct {
	Name    string // "" if it has none
	Type    string // tokens, squeezed; "const float*__restrict__"
	Pack    bool   // Ts... ts
	Pointer bool   // a pointer, array or function
	Grid    bool   // __grid_constant__
	Odd     string // why nothing may be said about it, "" if it is understood
}

// typeWord tells of words that cannot be a parameter's name.
func typeWord(word string) bool {
	switch word {
	case "void", "bool", "char", "short", "int", "long", "float", "double", "signed", "unsigned",
		"wchar_t", "char8_t", "char16_t", "char32_t", "__int128", "const", "volatile", "restrict",
		"__restrict", "__restrict__", "struct", "class", "union", "enum", "typename", "auto",
		"register", "__int8", "__int16", "__int32", "__int64", "__const", "__volatile__",
		"__signed__", "decltype":
		return true
	}
	return false
}

// parameters reads the list of f. The string is why the whole list cannot be used, "" if it can.
func (u *Unit) parameters(f *function) ([]Param, string) {
	t := u.tokens
	from, stop := f.params+1, int(t[f.params].match)
	if from == stop || from+1 == stop && u.is(from, "void") {
		return nil, ""
	}
	r := reader{u: u, t: t}
	var list []Param
	for i := from; i <= stop; {
		p := Param{}
		start := i
		assign := -1
	scan:
		for ; i < stop; i++ {
			switch t[i].kind {
			case ',':
				break scan
			case '(', '[', '{':
				i = int(t[i].match)
			case '<':
				behind := -1
				if t[i-1].kind == ident {
					behind = r.angles(i, stop)
				}
				if behind < 0 || assign >= 0 { // f(int n = a < b, int m = c > d) has two readings
					return nil, "a < in its parameter list that has two readings"
				}
				i = behind - 1
			case '=':
				if assign < 0 {
					assign = i
				}
			case skipped, pragma:
				return nil, "header text or a pragma in its parameter list"
			}
		}
		stopParam := i
		if assign >= 0 {
			stopParam = assign
		}
		if start == stopParam {
			return nil, "an empty place in its parameter list"
		}
		u.parameter(&p, start, stopParam)
		list = append(list, p)
		i++ // the comma, or past the end
	}
	return list, ""
}

// parameter fills p from tokens [i, stop), which hold no default argument.
func (u *Unit) parameter(p *Param, i, stop int) {
	t := u.tokens
	r := reader{u: u, t: t}
	var kept []int // tokens of type and name, groups by their first token
	for ; i < stop; i++ {
		switch {
		case t[i].kind == ident && (u.is(i, "__attribute__") || u.is(i, "alignas") ||
			u.is(i, "__declspec")) && i+1 < stop && t[i+1].kind == '(':
			for j := i + 2; j < int(t[i+1].match); j++ {
				p.Grid = p.Grid || u.is(j, "grid_constant") || u.is(j, "__grid_constant__")
			}
			i = int(t[i+1].match)
		case u.is(i, "__grid_constant__"):
			p.Grid = true
		case t[i].kind == '[' && i+1 < stop && t[i+1].kind == '[': // [[maybe_unused]]
			i = int(t[i].match)
		case t[i].kind == '[':
			p.Pointer = true // float a[] is float *a
			i = int(t[i].match)
		case t[i].kind == ellipsis:
			p.Pack = true
			kept = append(kept, i)
		case t[i].kind == operator, t[i].kind == '&': // && and &
			p.Odd = "a reference"
			kept = append(kept, i)
		case t[i].kind == '*':
			p.Pointer = true
			kept = append(kept, i)
		case t[i].kind == '(':
			if i > 0 && (u.is(i-1, "decltype") || u.is(i-1, "__typeof__") || u.is(i-1, "__decltype")) {
				kept = append(kept, i)
				i = int(t[i].match)
				continue
			}
			p.Pointer = true // void (*f)(int)
			p.Odd = "a pointer to a function or an array"
			i = int(t[i].match)
		case t[i].kind == '<':
			behind := r.angles(i, stop)
			if behind < 0 {
				p.Odd = "a type that was not understood"
				return
			}
			kept = append(kept, i)
			i = behind - 1
		case t[i].kind == ident, t[i].kind == scope:
			kept = append(kept, i)
		default:
			p.Odd = "a type that was not understood"
			return
		}
	}
	if len(kept) == 0 {
		p.Odd = "a type that was not understood"
		return
	}
	// The name is the last word, if a type remains without it.
	if n := len(kept) - 1; p.Odd == "" && n > 0 && t[kept[n]].kind == ident &&
		!typeWord(u.str(kept[n])) &&
		t[kept[n-1]].kind != scope && u.hasType(kept[:n]) {
		p.Name = u.str(kept[n])
		kept = kept[:n]
	}
	p.Type = r.spelled(kept, stop)
	for _, k := range kept {
		if u.is(k, "volatile") || u.is(k, "__volatile__") {
			p.Odd = "volatile"
		}
	}
	if p.Pack {
		p.Odd = "a parameter pack"
	}
}

// spelled is the text of a type, of which kept are the tokens, groups by their first one.
func (r *reader) spelled(kept []int, stop int) string {
	u, t := r.u, r.t
	var b strings.Builder
	for n, k := range kept {
		text := u.str(k)
		switch t[k].kind {
		case '<':
			text = u.squeeze(k, r.angles(k, stop))
		case '(':
			text = u.squeeze(k, int(t[k].match)+1)
		}
		if s := b.String(); n > 0 && class[s[len(s)-1]] >= cLetter && class[text[0]] >= cLetter {
			b.WriteByte(' ')
		}
		b.WriteString(text)
	}
	return b.String()
}

// hasType reports whether these tokens name a type by themselves: more than cv-qualifiers and class
// keywords.
func (u *Unit) hasType(kept []int) bool {
	for _, k := range kept {
		if u.tokens[k].kind != ident {
			continue
		}
		switch u.str(k) {
		case "const", "volatile", "struct", "class", "union", "enum", "typename", "register", "__const",
			"__volatile__":
		default:
			return true
		}
	}
	return false
}
