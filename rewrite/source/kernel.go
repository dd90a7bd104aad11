package source

// Kernels: from an entry's name in the PTX to the definition in the source. Where two definitions
// could be meant, none is.

import (
	"cmp"
	"slices"
	"strconv"
	"strings"

	"github.com/ianlancetaylor/demangle"

	"gnvcc/rewrite/ptx"
)

// A Kernel is a kernel's definition in the user's files, perhaps seen as one of its instantiations
// (Unit.Kernel).
type Kernel struct {
	Name     string // qualified: outer::tk
	Entry    string // the PTX name that was asked for, "" from Unit.Kernels
	File     string
	Line     int
	Template bool
	Params   []Param
	// its own, then those of the user's device functions that it reaches, by first call
	Loops    []Loop
	NoUnroll string // why nothing is unrolled in it, "" if it may be
	NoSpec   string // why it is not specialised, "" if it may be

	u     *Unit
	f     *function
	reach []*function    // itself, and the user's device functions that it reaches
	args  []demangle.AST // the entry's arguments, packs expanded; nil if the name does not tell
	known bool           // args is what the name says
}

// A Loop is a loop that a recipe can name.
type Loop struct {
	// "2": the kernel's second loop; "f.1": the first one of a function f that it reaches; "": can't
	// be named
	Site     string
	Kind     string // "for", "while", "do"
	Function string // the function that it stands in
	File     string
	Line     int
	Inner    bool // holds no other loop
	Trip     int  // iterations, where literals in its head say so; 0 unknown
	Pragma   bool // the source has an unroll pragma for it

	l loop
}

// maxName bounds the names that are taken apart, bytes: that is recursive, and a stack that
// overflows ends the process. CUTLASS' longest have some 10,000.
const maxName = 1 << 15

// Kernel finds the definition that the PTX entry of that (mangled) name was compiled from.
func (u *Unit) Kernel(entry string) (*Kernel, error) {
	name := ptx.OwnName(entry)
	if !strings.HasPrefix(name, "_Z") {
		f, err := u.pick(entry, u.byName[name], func(f *function) bool {
			return !f.template && !f.explicit && !f.member && (f.linkageC || u.linkedC[name])
		})
		if err != nil {
			return nil, err
		}
		k := u.kernel(f, nil)
		k.Entry = entry
		return k, nil
	}
	if len(name) > maxName {
		return nil, refuse(entry[:64], "its name has %d bytes", len(entry))
	}
	ast, err := demangle.ToAST(name)
	if err != nil {
		return nil, refuse(entry, "its name could not be read: %v", err)
	}
	typed, ok := ast.(*demangle.Typed)
	if !ok {
		return nil, refuse(entry, "its name is not that of a function with parameters")
	}
	fn, ok := typed.Type.(*demangle.FunctionType)
	if !ok {
		return nil, refuse(entry, "its name is not that of a function with parameters")
	}
	path, targs, ok := qualified(typed.Name)
	if !ok {
		return nil, refuse(entry, "its name is of a form that is not read")
	}
	args := flatten(fn.Args)
	base := path[len(path)-1]
	path = path[:len(path)-1]
	f, err := u.pick(entry, u.byName[base], func(f *function) bool {
		return (f.template || f.explicit) == (targs != nil) && slices.Equal(f.path, path) &&
			u.fits(f, args)
	}, specialised(targs))
	if err != nil {
		return nil, err
	}
	if f.member {
		return nil, refuse(entry, "it is defined in a class")
	}
	var names []string // classes that the template arguments name: functors
	for _, a := range targs {
		a.Traverse(func(n demangle.AST) bool {
			if name, ok := n.(*demangle.Name); ok {
				names = append(names, name.Name)
			}
			return true
		})
	}
	k := u.kernel(f, args, names...)
	k.Entry, k.known = entry, true
	if k.args == nil {
		k.args = []demangle.AST{}
	}
	return k, nil
}

// pick narrows the definitions of one name down by filter after filter, and wants exactly one in
// the end.
func (u *Unit) pick(entry string, all []*function, keep func(*function) bool,
	more ...func([]*function) []*function) (*function, error) {
	var left []*function
	for _, f := range all {
		if keep(f) {
			left = append(left, f)
		}
	}
	for _, m := range more {
		left = m(left)
	}
	switch {
	case len(left) == 0 && len(all) == 0:
		return nil, refuse(entry,
			"no definition of it in the user's files (a header's kernel, or text that was not understood)")
	case len(left) == 0:
		return nil, refuse(entry, "no definition in the user's files has its namespaces and parameters")
	case len(left) > 1:
		return nil, refuse(entry, "several definitions could be meant (%s and %s)",
			u.place(int(u.tokens[left[0].open].off)), u.place(int(u.tokens[left[1].open].off)))
	case !left[0].kernel:
		return nil, refuse(entry, "its definition at %s does not say __global__",
			u.place(int(u.tokens[left[0].open].off)))
	}
	return left[0], nil
}

// qualified splits a name into its components, "" for an unnamed namespace, and gives the template
// arguments of the last one. Class templates on the way are not read: kernels are no members.
func qualified(a demangle.AST) (path []string, targs []demangle.AST, ok bool) {
	if t, is := a.(*demangle.Template); is {
		targs = t.Args
		if targs == nil {
			targs = []demangle.AST{}
		}
		a = t.Name
	}
	for {
		switch v := a.(type) {
		case *demangle.Name:
			path = append(path, component(v.Name)...)
			slices.Reverse(path)
			return path, targs, len(path) > 0
		case *demangle.Qualified:
			n, is := v.Name.(*demangle.Name)
			if !is || v.LocalName {
				return nil, nil, false
			}
			path = append(path, component(n.Name)...)
			a = v.Scope
		default:
			return nil, nil, false
		}
	}
}

func component(name string) []string {
	switch {
	case name == "(anonymous namespace)":
		return []string{""}
	case strings.HasPrefix(name, "_INTERNAL_"): // nvcc 11's wrapping of static names
		return nil
	}
	return []string{name}
}

func flatten(args []demangle.AST) []demangle.AST {
	var out []demangle.AST
	for _, a := range args {
		switch v := a.(type) {
		case *demangle.ExprList:
			out = append(out, v.Exprs...)
		case *demangle.ArgumentPack:
			out = append(out, v.Args...)
		case *demangle.PackExpansion:
			if v.Pack != nil {
				out = append(out, flatten(v.Pack.Args)...)
			}
		default:
			out = append(out, a)
		}
	}
	return out
}

// fits reports whether f's parameter list could be that of the arguments; only a clear
// contradiction says no.
func (u *Unit) fits(f *function, args []demangle.AST) bool {
	params, odd := u.parameters(f)
	if odd != "" {
		return true
	}
	pack := slices.IndexFunc(params, func(p Param) bool { return p.Pack })
	if pack < 0 && len(params) != len(args) || pack >= 0 && len(args) < len(params)-1 {
		return false
	}
	for i, p := range params {
		if pack >= 0 && i >= pack {
			break
		}
		text, mangled := u.fromText(p.Type), fromMangled(args[i])
		if p.Pointer {
			text = scalar{Pointer, 64, 0}
		}
		if text.class != Unknown && mangled.class != Unknown && (text.class != mangled.class ||
			text.bits != mangled.bits || contradict(text.sign, mangled.sign)) {
			return false
		}
		if text.class == Pointer && mangled.class == Pointer && !u.samePointer(p.Type, args[i]) {
			return false
		}
		if text.class != Unknown && mangled.class == Unknown && named(args[i]) {
			return false
		}
	}
	return true
}

func contradict(a, b byte) bool { return a != 0 && b != 0 && a != b }

// named reports whether a is a class or an enum by name.
func named(a demangle.AST) bool {
	for {
		switch v := a.(type) {
		case *demangle.TypeWithQualifiers:
			a = v.Base
		case *demangle.Name, *demangle.Qualified, *demangle.Template:
			return true
		default:
			return false
		}
	}
}

// samePointer compares what two pointers point to, where both are builtin types.
func (u *Unit) samePointer(text string, a demangle.AST) bool {
	i := strings.LastIndexByte(text, '*')
	for {
		if q, ok := a.(*demangle.TypeWithQualifiers); ok {
			a = q.Base
			continue
		}
		break
	}
	p, ok := a.(*demangle.PointerType)
	if !ok || i < 0 {
		return true
	}
	t, m := u.fromText(strings.TrimSpace(text[:i])), fromMangled(p.Base)
	if t.class == Unknown || m.class == Unknown {
		return true
	}
	return t.class == m.class && t.bits == m.bits && !contradict(t.sign, m.sign)
}

// specialised chooses between a template and its explicit specialisations, where the arguments are
// builtin types and integers; else it leaves them all.
func specialised(targs []demangle.AST) func([]*function) []*function {
	var list []string
	for _, a := range targs {
		list = append(list, plainArg(demangle.ASTToString(a)))
	}
	wanted := strings.Join(list, ",")
	return func(fs []*function) []*function {
		var exact, primary []*function
		sure := !slices.Contains(list, "")
		for _, f := range fs {
			args := strings.Split(strings.TrimSuffix(strings.TrimPrefix(f.args, "<"), ">"), ",")
			for i, a := range args {
				args[i] = plainArg(a)
			}
			plain := !slices.Contains(args, "")
			switch {
			case !f.explicit:
				primary = append(primary, f)
			case plain && strings.Join(args, ",") == wanted:
				exact = append(exact, f)
			default: // template <> void k(double *): arguments deduced, not by us
				sure = sure && plain
			}
		}
		switch {
		case len(fs) == 1:
			return append(exact, primary...)
		case !sure:
			return fs
		case len(exact) > 0:
			return exact
		}
		return primary
	}
}

// plainArg is a template argument that is a builtin type or an integer, in one spelling; "" for
// others.
func plainArg(text string) string {
	if _, is := builtin(text); !is {
		if _, err := strconv.Atoi(text); err != nil && text != "true" && text != "false" {
			return ""
		}
		return text
	}
	words := slices.DeleteFunc(strings.Fields(text), func(w string) bool { return w == "int" || w == "const" })
	slices.Sort(words)
	return cmp.Or(strings.Join(words, " "), "int")
}

// kernel puts together what is known about a definition.
func (u *Unit) kernel(f *function, args []demangle.AST, mentions ...string) *Kernel {
	p := u.at(int(u.tokens[f.open].off))
	path := slices.Clone(f.path)
	for i := range path {
		if path[i] == "" {
			path[i] = "(anonymous namespace)"
		}
	}
	k := &Kernel{Name: strings.Join(append(path, f.name), "::"), Line: p.line, Template: f.template ||
		f.explicit, u: u, f: f, args: args}
	if p.file >= 0 {
		k.File = u.files[p.file].name
	} else {
		k.NoUnroll = "the text has no line markers"
	}
	if f.odd != "" {
		k.NoUnroll = f.odd
	}
	var odd string
	k.Params, odd = u.parameters(f)
	k.NoSpec = cmp.Or(k.NoUnroll, odd, u.foreign(f))
	k.reach = u.reachedFunctions(f, mentions)
	k.Loops = u.loopsOf(k.reach)
	return k
}

// foreign says where header text stands in a body, "" where none does.
func (u *Unit) foreign(f *function) string {
	for i := f.open; i < int(u.tokens[f.open].match); i++ {
		if u.tokens[i].kind == skipped {
			return "header text inside the body at " + u.place(int(u.tokens[i].off))
		}
	}
	return ""
}

// Says tells whether a word (static, inline) stands in front of a kernel's parameters, where it is
// defined.
func (k *Kernel) Says(word string) bool {
	for i := k.f.head; i < k.f.params; i++ {
		if k.u.is(i, word) {
			return true
		}
	}
	return false
}
