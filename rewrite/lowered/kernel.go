package lowered

// Kernels: from an entry's name in the PTX to its definition, which has that name here, too.

import (
	"strings"

	"github.com/ianlancetaylor/demangle"

	"gnvcc/rewrite/ptx"
)

// A Kernel is a kernel's definition.
type Kernel struct {
	Name     string // qualified, without template arguments: outer::tk
	Entry    string // the PTX name
	File     string
	Line     int
	Template bool
	Params   []Param
	// its own, then those of the user's device functions that it reaches, by first call
	Loops    []Loop
	NoUnroll string // why nothing is unrolled in it, "" if it may be
	NoSpec   string // why it is not specialised, "" if it may be

	u     *Unit
	def   int32 // its decl
	slice slice
}

// maxName bounds the names that are taken apart, bytes: that is recursive, and a stack that
// overflows ends the process. CUTLASS' longest have some 10,000.
const maxName = 1 << 15

// Kernel finds the kernel that the PTX has under that (mangled) name.
func (u *Unit) Kernel(entry string) (*Kernel, error) {
	def := u.definition(entry)
	if def < 0 {
		def = u.definition(ptx.OwnName(entry))
	}
	if def < 0 {
		return nil, refuse(entry, "no kernel of that name in the device code that was compiled")
	}
	d := &u.decls[def]
	if !d.kernel {
		return nil, refuse(entry, "its definition does not say __global__")
	}
	k := &Kernel{Entry: entry, u: u, def: def}
	name := u.words[d.name]
	k.Name, k.Template = readable(name)
	p := u.at(u.tokens[d.params].off)
	k.File, k.Line = p.file, p.line
	k.Params = u.parameters(d)
	k.slice = u.reached(def, name)
	var why string
	k.Loops, why = u.loopsOf(u.calls(def))
	k.NoUnroll, k.NoSpec = why, why
	return k, nil
}

// definition is the function with a body of that name, -1 if there is none.
func (u *Unit) definition(name string) int32 {
	n, ok := u.numbers[name]
	if !ok {
		return -1
	}
	for _, k := range u.by[n] {
		if d := &u.decls[k]; d.kind == function && d.body > 0 {
			return k
		}
	}
	return -1
}

// readable is a mangled name's qualified form without parameters and template arguments, and
// whether it has such arguments.
func readable(mangled string) (name string, template bool) {
	if len(mangled) > maxName || !strings.HasPrefix(mangled, "_Z") {
		return mangled, false
	}
	ast, err := demangle.ToAST(mangled)
	if err != nil {
		return mangled, false
	}
	if t, ok := ast.(*demangle.Typed); ok {
		_, template = t.Name.(*demangle.Template)
		ast = t.Name
	}
	return demangle.ASTToString(ast, demangle.NoTemplateParams, demangle.NoParams), template
}

// Slice is the kernel and all that it reaches, untouched, as a complete input for cicc.
func (k *Kernel) Slice() ([]byte, error) {
	return k.u.print(k.slice, "", nil), nil
}

// Says reports whether a word (static, inline) stands in front of the kernel's name where it is
// defined or declared.
func (k *Kernel) Says(w string) bool {
	for _, n := range k.u.by[k.u.decls[k.def].name] {
		d := &k.u.decls[n]
		if d.kernel && (k.u.says(d, w) || k.u.says(d, "__"+w+"__")) {
			return true
		}
	}
	return false
}

// A Param is a kernel's parameter.
type Param struct {
	Name    string // "" if it has none
	Type    string // "const float*__restrict__"
	Pointer bool
	Grid    bool   // __grid_constant__
	Odd     string // why nothing may be said about it, "" if it is understood

	words   []string // its type's words and stars
	text    string   // the type as the text has it
	changed bool     // the kernel changes it: the argument has another name in the text
}

// parameters reads a function's list.
func (u *Unit) parameters(d *decl) (out []Param) {
	t := u.tokens
	from, stop := int(d.params)+1, int(t[d.params].n)
	if from == stop || from+1 == stop && u.is(from, "void") {
		return nil
	}
	for i := from; i <= stop; i++ {
		start := i
		for ; i < stop && t[i].kind != ','; i++ {
			if k := t[i].kind; k == '(' || k == '[' || k == '{' {
				i = int(t[i].n)
			}
		}
		out = append(out, u.parameter(start, i))
	}
	return out
}

// inParentheses is the name in a declarator that begins with the ( at i.
func (u *Unit) inParentheses(p *Param, i int) string {
	for j := i + 1; j < int(u.tokens[i].n); j++ {
		switch {
		case u.tokens[j].kind != word || qualifier(u.str(j)):
		case u.is(j, "__val_param"):
			p.changed = true
		default:
			return u.str(j)
		}
	}
	return ""
}

// parameter reads one, of the tokens [i, stop).
func (u *Unit) parameter(i, stop int) (p Param) {
	t := u.tokens
	var kept []int
	for ; i < stop; i++ {
		switch {
		case t[i].kind == word && u.is(i, "__val_param") && i+2 < stop:
			kept = append(kept, i+2)
			p.changed = true
			i = int(t[i+1].n)
		case t[i].kind == word && u.is(i, "__grid_constant__"):
			p.Grid = true
		case t[i].kind == word && attribute(u.str(i)) && i+1 < stop && t[i+1].kind == '(':
			for j := i; j < int(t[i+1].n); j++ {
				p.Grid = p.Grid || u.is(j, "grid_constant") || u.is(j, "__grid_constant__")
			}
			i = int(t[i+1].n)
		case t[i].kind == word || t[i].kind == '*':
			kept = append(kept, i)
			p.Pointer = p.Pointer || t[i].kind == '*'
		case t[i].kind == '[':
			p.Pointer = true
			i = int(t[i].n)
		case t[i].kind == '(' && p.Name == "": // (*rows)[256]: of rows of numbers, a pointer to numbers
			p.Name, p.Pointer = u.inParentheses(&p, i), true
			kept = append(kept, i+1)
			if i = int(t[i].n); i+1 < stop && t[i+1].kind == '(' {
				p.Odd = "a pointer to a function"
				i = int(t[i+1].n)
			}
		default:
			p.Odd = "a type that was not understood"
			i = max(i, int(t[i].n))
		}
	}
	if n := len(kept) - 1; n > 0 && t[kept[n]].kind == word && p.Odd == "" && p.Name == "" {
		p.Name = u.str(kept[n])
		kept = kept[:n]
	}
	var b, typ strings.Builder
	space := func(b *strings.Builder, next string) {
		if s := b.String(); s != "" && class[s[len(s)-1]] == 'a' && class[next[0]] == 'a' {
			b.WriteByte(' ')
		}
		b.WriteString(next)
	}
	for _, j := range kept {
		w := u.str(j)
		space(&b, w)
		p.words = append(p.words, w)
		switch w {
		case "volatile":
			p.Odd = "volatile"
		case "struct", "union", "enum":
			continue
		case "__nv_bool":
			w = "bool"
		}
		if strings.HasPrefix(w, "_Z") {
			w, _ = readable(w)
		}
		space(&typ, w)
	}
	p.text, p.Type = b.String(), typ.String()
	return p
}
