package lowered

// The text's declarations, one after the other, and the names that each one declares. The language
// is C with attributes: one declarator a declaration, no templates, no overloads, no scopes but
// blocks.

import "strings"

// A decl is a declaration at file scope: the tokens [from, to), the last of which is its ; or }.
type decl struct {
	from, to int32
	name     int32 // a function's, variable's or typedef's name, a tag; -1: none
	params   int32 // a function's (, 0: it is none
	body     int32 // the { of a body, 0: there is none
	value    int32 // the = of a variable, 0: there is none
	kernel   bool
	kind     declKind
}

type declKind uint8

const (
	other declKind = iota // asm("...")
	typeDef
	tagged // struct, union, enum; with body or without
	function
	variable
)

// attributes take an argument in parentheses, and declare nothing by it.
func attribute(word string) bool {
	switch word {
	case "__attribute__", "__attribute", "___device__", "__launch_bounds__", "__align__", "__declspec", "alignas",
		"__cluster_dims__", "__maxnreg__", "__block_size__", "__nv_register_params__", "_Alignas",
		"__local_maxnreg__", "__typeof__", "__decltype", "decltype", "_Pragma", "__builtin_align__":
		return true
	}
	return false
}

// split finds the declarations.
func (u *Unit) split() error {
	t := u.tokens
	for i := 0; i < len(t); {
		if t[i].kind == ';' || t[i].kind == pragma {
			i++
			continue
		}
		d := decl{from: int32(i), name: -1}
		end := u.declaration(&d)
		if end < 0 {
			return u.fault(int(t[i].off), "a declaration without an end")
		}
		d.to = int32(end)
		u.separate = u.separate || d.kind == function && d.body > 0 && !d.kernel && !u.says(&d, "static")
		n := int32(len(u.decls))
		u.decls = append(u.decls, d)
		if d.name >= 0 {
			u.by[d.name] = append(u.by[d.name], n)
		}
		if d.kind == tagged && d.body > 0 && u.is(i, "enum") {
			for j := d.body + 1; j < t[d.body].n; j++ {
				if t[j].kind == word && (t[j-1].kind == '{' || t[j-1].kind == ',') {
					u.by[t[j].n] = append(u.by[t[j].n], n)
				}
			}
		}
		i = end
	}
	return nil
}

// declaration reads the one at d.from and returns the token behind it, -1 if it has no end.
func (u *Unit) declaration(d *decl) int {
	t := u.tokens
	i := int(d.from)
	first := u.str(i)
	alias := first == "typedef"
	if alias {
		i++
		d.kind = typeDef
	}
	asm := strings.HasPrefix(strings.Trim(first, "_"), "asm")
	last := int32(-1) // the last word that can be a name
	for ; i < len(t); i++ {
		switch t[i].kind {
		case ';':
			if d.name < 0 && !asm {
				d.name = last
			}
			if d.kind == other && d.name >= 0 {
				d.kind = variable
			}
			return i + 1
		case word:
			w := u.str(i)
			switch {
			case attribute(w) && i+1 < len(t) && t[i+1].kind == '(':
				i = int(t[i+1].n)
			case w == "__global__":
				d.kernel = true
			case w == "struct" || w == "union" || w == "enum":
				if i = u.tag(d, i, alias); i < 0 {
					return -1
				}
				if d.kind == tagged {
					return u.end(i)
				}
			default:
				last = t[i].n
			}
		case '[':
			i = int(t[i].n)
		case '=':
			d.value = int32(i)
			if d.kind = variable; d.name < 0 {
				d.name = last
			}
			return u.end(i)
		case '(':
			if asm {
				i = int(t[i].n)
				continue
			}
			if d.name < 0 && i+1 < len(t) && (t[i+1].kind == '*' || last < 0) { // void (*f)(int)
				d.name = u.inner(d, i, alias)
				i = int(t[i].n)
				continue
			}
			if d.name < 0 {
				d.name = last
				if !alias {
					d.kind, d.params = function, int32(i)
				}
			}
			i = int(t[i].n)
		case '{':
			if d.kind != function {
				return -1
			}
			d.body = int32(i)
			return int(t[i].n) + 1
		}
	}
	return -1
}

// end is the token behind the ; that follows i, -1 if there is none.
func (u *Unit) end(i int) int {
	for i++; i < len(u.tokens); i++ {
		switch u.tokens[i].kind {
		case ';':
			return i + 1
		case '(', '[', '{':
			i = int(u.tokens[i].n)
		}
	}
	return -1
}

// tag reads struct, union or enum at i, and returns the last token that belongs to it: its name, or
// the } of its body. Where the declaration is about it alone, d.kind becomes tagged.
func (u *Unit) tag(d *decl, i int, alias bool) int {
	t := u.tokens
	for i++; i < len(t); i++ {
		if t[i].kind == word && attribute(u.str(i)) && i+1 < len(t) && t[i+1].kind == '(' {
			i = int(t[i+1].n)
			continue
		}
		break
	}
	if i >= len(t)-1 || t[i].kind != word {
		return -1
	}
	if alias {
		return i
	}
	switch t[i+1].kind {
	case '{':
		d.kind, d.name, d.body = tagged, t[i].n, int32(i+1)
		return int(t[i+1].n)
	case ';':
		d.kind, d.name = tagged, t[i].n
	}
	return i
}

// inner reads a declarator in parentheses: (*name), (*name[3]), (*name(int)).
func (u *Unit) inner(d *decl, open int, alias bool) int32 {
	t := u.tokens
	stop := int(t[open].n)
	for i := open + 1; i < stop; i++ {
		switch {
		case t[i].kind == word && !qualifier(u.str(i)):
			if i+1 < stop && t[i+1].kind == '(' && !alias {
				d.kind, d.params = function, int32(i+1)
			}
			return t[i].n
		case t[i].kind == '(':
			return u.inner(d, i, alias)
		}
	}
	return -1
}

func qualifier(word string) bool {
	switch word {
	case "const", "volatile", "__restrict__", "__restrict", "restrict":
		return true
	}
	return false
}
