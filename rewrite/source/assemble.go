package source

// Putting kernels together: each kernel's entry out of the PTX of its own variant, in the place of the default's entry; all
// else is the default PTX, byte for byte. What an entry mentions is looked up in the default module:
//
//   - string literals ($str$3, __unnamed_1: numbered over the file) by what they hold;
//   - variables by name, and they must be the same there;
//   - device functions by name; where the variant's is another one (a loop in it is unrolled), a copy under a new name goes in
//     front of the entry. Not if its address is taken: a function has one address.
//
// What the default has not at all (a table that LLVM made, a function that is no longer inlined) is added. Line information
// is brought to the default's file numbers and strings (lineinfo.go).

import (
	"bytes"
	"fmt"
	"regexp"
	"slices"
	"sort"
	"strings"

	"gnvcc/rewrite/ptx"
)

// Assemble returns the default PTX with the entries of variants (by name, each the PTX of a whole module) put in. A
// Refusal names the kernel that cannot be taken over; the others are then to be assembled without it.
func Assemble(defaultPTX []byte, variants map[string][]byte) ([]byte, error) {
	if len(variants) == 0 {
		return defaultPTX, nil
	}
	a, err := newAssembly(defaultPTX)
	if err != nil {
		return nil, err
	}
	names := make([]string, 0, len(variants))
	for name := range variants {
		names = append(names, name)
	}
	sort.Strings(names)
	parsed := map[*byte]*ptx.Module{} // variants of one text are read once
	for _, name := range names {
		text := variants[name]
		if len(text) == 0 {
			return nil, refuse(name, "its variant is empty")
		}
		vm := parsed[&text[0]]
		if vm == nil {
			if vm, err = ptx.Parse(text); err != nil {
				return nil, refuse(name, "its variant's PTX: %v", err)
			}
			parsed[&text[0]] = vm
		}
		if err := a.take(name, vm, text); err != nil {
			return nil, err
		}
	}
	return a.bytes()
}

// An assembly is the default module and what has been changed in it so far.
type assembly struct {
	text    []byte
	m       *ptx.Module
	lines   *lineTable
	entries map[string]string // new text of an entry, functions that it needs in front
	globals []string          // declarations to add in front of the first body
	added   map[string]string // name: text of what was added, so that two variants may share it
	fresh   int
}

func newAssembly(text []byte) (*assembly, error) {
	m, err := ptx.Parse(text)
	if err != nil {
		return nil, fmt.Errorf("source: reading the default PTX: %w", err)
	}
	lines, err := readLines(text)
	if err != nil {
		return nil, err
	}
	return &assembly{text: text, m: m, lines: lines, entries: map[string]string{}, added: map[string]string{}}, nil
}

// A joiner takes one entry over.
type joiner struct {
	*assembly
	entry  string
	vm     *ptx.Module
	vtext  []byte
	vlines *lineTable
	names  map[string]string // of the variant: of the result
	open   map[string]bool   // functions being compared, against recursion
	front  []string          // declarations and functions for in front of the entry
}

func (a *assembly) take(name string, vm *ptx.Module, vtext []byte) error {
	de, ve := a.m.Entry(name), vm.Entry(name)
	switch {
	case de == nil || !de.Body:
		return refuse(name, "the default PTX has no such entry")
	case ve == nil || !ve.Body:
		return refuse(name, "its variant's PTX has no such entry")
	case vm.Version != a.m.Version || !slices.Equal(vm.Target, a.m.Target) || vm.AddressSize != a.m.AddressSize:
		return refuse(name, "its variant is for PTX %s %v, the default for %s %v", vm.Version, vm.Target, a.m.Version, a.m.Target)
	case slices.Contains(vm.Target, "debug"):
		return refuse(name, "full debug information (-G) is not taken apart")
	}
	vlines, err := readLines(vtext)
	if err != nil {
		return refuse(name, "its variant's PTX: %v", err)
	}
	if head(de) != head(ve) {
		return refuse(name, "its parameters or directives differ in the variant")
	}
	j := &joiner{assembly: a, entry: name, vm: vm, vtext: vtext, vlines: vlines, names: map[string]string{}, open: map[string]bool{}}
	text, err := j.render(ve, ve.Name)
	if err != nil {
		return err
	}
	a.entries[name] = strings.Join(append(j.front, text), "\n")
	return nil
}

// head is a function up to its body, without what white space does.
func head(f *ptx.Func) string {
	text := f.Text()
	if i := bytes.IndexByte(text, '{'); i >= 0 {
		text = text[:i]
	}
	return squash(string(text))
}

var comment = regexp.MustCompile(`(?s)//[^\n]*|/\*.*?\*/`)

func squash(s string) string {
	return strings.Join(strings.Fields(comment.ReplaceAllString(s, "")), " ")
}

// render writes a function of the variant in the result's names, under the given name.
func (j *joiner) render(f *ptx.Func, as string) (string, error) {
	c := f.Clone()
	var fail error
	moduleNames(c, func(i int, n ptx.Span) {
		if fail != nil {
			return
		}
		old := string(c.Bytes(n))
		to, err := j.resolve(old, c, i)
		if err != nil {
			fail = err
			return
		}
		if to != old {
			c.ReplaceSpan(n, to)
		}
	})
	if fail != nil {
		return "", fail
	}
	for i, s := range c.Stmts {
		if s.Kind == ptx.Line {
			line, err := j.lines.translate(string(c.Bytes(ptx.Span{Start: s.Start, End: s.End})), j.vlines)
			if err != nil {
				return "", refuse(j.entry, "%v", err)
			}
			c.Replace(i, line)
		}
	}
	if err := c.Commit(); err != nil {
		return "", refuse(j.entry, "%v", err)
	}
	text := string(c.Text())
	if as == f.Name {
		return text, nil
	}
	// A function under a new name: no longer visible, since nobody else asks for it.
	i := strings.IndexByte(text, '{')
	if i < 0 {
		i = len(text)
	}
	renamed := regexp.MustCompile(`(^|[^\w$])`+regexp.QuoteMeta(f.Name)+`(\s*\()`).ReplaceAllString(text[:i], "${1}"+strings.ReplaceAll(as, "$", "$$")+"${2}")
	if renamed == text[:i] {
		return "", refuse(j.entry, "the head of function %s was not understood", f.Name)
	}
	for _, linkage := range []string{".visible", ".weak"} {
		renamed = strings.TrimPrefix(strings.TrimSpace(renamed), linkage)
	}
	return strings.TrimSpace(renamed) + "\n" + text[i:], nil
}

// moduleNames calls yield for each mention of what may be the module's, with its statement.
func moduleNames(f *ptx.Func, yield func(stmt int, n ptx.Span)) {
	local := map[string]bool{}
	for i, s := range f.Stmts {
		switch s.Kind {
		case ptx.Label:
			local[string(f.Opcode(i))] = true
		case ptx.Decl:
			f.Names(ptx.Span{Start: s.OpEnd, End: s.End}, func(n ptx.Span) bool {
				local[string(f.Bytes(n))] = true
				return true
			})
		}
	}
	for _, vars := range [][]ptx.Variable{f.Returns, f.Params} {
		for _, v := range vars {
			local[v.Name] = true
		}
	}
	for i, s := range f.Stmts {
		if s.Kind != ptx.Inst && s.Kind != ptx.Direction {
			continue
		}
		f.Names(ptx.Span{Start: s.OpEnd, End: s.End}, func(n ptx.Span) bool {
			if w := f.Bytes(n); w[0] != '%' && !local[string(w)] {
				yield(i, n)
			}
			return true
		})
	}
}

// resolve finds what a name of the variant is called in the result. f and i are the function and statement that mention it.
func (j *joiner) resolve(name string, f *ptx.Func, i int) (string, error) {
	for _, al := range j.vm.Aliases {
		if al.Name == name {
			return "", refuse(j.entry, "it mentions %s, an alias", name)
		}
	}
	if fn := j.vm.Func(name); fn != nil {
		direct := f != nil && string(f.Base(i)) == "call"
		return j.function(fn, direct)
	}
	if g := j.vm.Global(name); g != nil {
		return j.global(g)
	}
	return name, nil // a modifier, a prototype, a number's like
}

// global finds or adds a variable.
func (j *joiner) global(g *ptx.Global) (string, error) {
	if to, ok := j.names[g.Name]; ok {
		return to, nil
	}
	init, err := j.initialiser(j.vtext, g, true)
	if err != nil {
		return "", err
	}
	if stringLiteral(g) {
		for _, d := range j.m.Globals {
			if stringLiteral(d) && slices.Equal(d.Dims, g.Dims) && squash(string(j.text[d.Init.Start:d.Init.End])) == init {
				j.names[g.Name] = d.Name
				return d.Name, nil
			}
		}
		return j.addGlobal(g, init, true)
	}
	d := j.m.Global(g.Name)
	if d == nil {
		if g.Linkage != "" && g.Linkage != "extern" {
			return "", refuse(j.entry, "its variant has a variable %s that the default has not", g.Name)
		}
		return j.addGlobal(g, init, false)
	}
	own, err := j.initialiser(j.text, d, false)
	if err != nil {
		return "", err
	}
	if describe(g) != describe(d) || init != own {
		return "", refuse(j.entry, "variable %s is another one in its variant", g.Name)
	}
	j.names[g.Name] = g.Name
	return g.Name, nil
}

// describe says what a variable is, initialiser aside.
func describe(g *ptx.Global) string {
	return fmt.Sprint(g.Linkage, g.Space, g.Type, g.Vector, g.Alignment(), g.Dims, g.Attribute)
}

// stringLiteral tells what cicc names by number: constant bytes that nobody can tell apart.
func stringLiteral(g *ptx.Global) bool {
	return g.Linkage == "" && g.Space == "global" && g.Type == "b8" && g.Alignment() == 1 && len(g.Dims) == 1 && g.Init.End > g.Init.Start &&
		(strings.HasPrefix(g.Name, "$str") || strings.HasPrefix(g.Name, "__unnamed_"))
}

var initName = regexp.MustCompile(`[A-Za-z_$][\w$]*`)

// initialiser is a variable's initialiser with names as in the result.
func (j *joiner) initialiser(text []byte, g *ptx.Global, translate bool) (string, error) {
	init := string(text[g.Init.Start:g.Init.End])
	if !translate || !strings.ContainsAny(init, "_$gG") && !initName.MatchString(init) {
		return squash(init), nil
	}
	if j.open["var "+g.Name] {
		return "", refuse(j.entry, "variable %s refers to itself", g.Name)
	}
	j.open["var "+g.Name] = true
	defer delete(j.open, "var "+g.Name)
	var fail error
	out := initName.ReplaceAllStringFunc(init, func(w string) string {
		if fail != nil || j.vm.Global(w) == nil && j.vm.Func(w) == nil {
			return w
		}
		to, err := j.resolve(w, nil, 0)
		fail = err
		return to
	})
	return squash(out), fail
}

// addGlobal adds a variable's declaration to the result; strings under a new name.
func (j *joiner) addGlobal(g *ptx.Global, init string, literal bool) (string, error) {
	name := g.Name
	if literal {
		name = fmt.Sprintf("$str$gnvcc%d", len(j.added))
		for old, text := range j.added { // the same string of another variant
			if strings.HasPrefix(old, "$str$gnvcc") && strings.HasSuffix(text, init+";") && strings.Contains(text, fmt.Sprintf("[%d]", g.Dims[0])) {
				j.names[g.Name] = old
				return old, nil
			}
		}
	}
	decl := squash(string(j.vtext[g.Span.Start:g.Span.End]))
	if g.Init.End > g.Init.Start {
		left := squash(string(j.vtext[g.Span.Start:g.Init.Start]))
		decl = left + " " + init + ";"
	}
	if !strings.HasSuffix(decl, ";") {
		decl += ";"
	}
	if name != g.Name {
		decl = strings.Replace(decl, g.Name, name, 1)
	}
	if old, ok := j.added[name]; ok && old != decl {
		return "", refuse(j.entry, "two variants need different variables %s", g.Name)
	} else if !ok {
		if j.m.Func(name) != nil || j.m.Global(name) != nil {
			return "", refuse(j.entry, "the name %s is taken", name)
		}
		j.added[name] = decl
		j.globals = append(j.globals, decl)
	}
	j.names[g.Name] = name
	return name, nil
}

// function finds or adds a device function. direct: it is called by name, not taken the address of.
func (j *joiner) function(fn *ptx.Func, direct bool) (string, error) {
	if fn.Entry {
		if d := j.m.Entry(fn.Name); d == nil {
			return "", refuse(j.entry, "it mentions kernel %s, which the default has not", fn.Name)
		}
		return fn.Name, nil
	}
	if to, ok := j.names["fn "+fn.Name]; ok {
		if to != fn.Name && !direct {
			return "", refuse(j.entry, "the address of %s is taken, and its variant has another %s", fn.Name, fn.Name)
		}
		return to, nil
	}
	if j.open[fn.Name] {
		return "", refuse(j.entry, "%s is recursive", fn.Name)
	}
	j.open[fn.Name] = true
	defer delete(j.open, fn.Name)
	d := j.m.Func(fn.Name)
	if !fn.Body {
		if d == nil {
			decl := string(fn.Text())
			if old, ok := j.added[fn.Name]; !ok {
				j.added[fn.Name] = decl
				j.globals = append(j.globals, decl)
			} else if squash(old) != squash(decl) {
				return "", refuse(j.entry, "two variants need different functions %s", fn.Name)
			}
		} else if !d.Body && head(d) != head(fn) {
			return "", refuse(j.entry, "function %s is declared otherwise in its variant", fn.Name)
		}
		j.names["fn "+fn.Name] = fn.Name
		return fn.Name, nil
	}
	if d != nil && d.Body {
		same, err := j.sameFunction(fn, d)
		if err != nil {
			return "", err
		}
		if same {
			// The default may define it behind our entry: a declaration in front does no harm.
			if d.At().Start > j.m.Entry(j.entry).At().Start {
				j.front = append(j.front, declaration(d))
			}
			j.names["fn "+fn.Name] = fn.Name
			return fn.Name, nil
		}
	}
	if !direct {
		return "", refuse(j.entry, "the address of %s is taken, and its variant has another %s", fn.Name, fn.Name)
	}
	j.fresh++
	as := fmt.Sprintf("%s$gnvcc%d", fn.Name, j.fresh)
	if j.m.Func(as) != nil || j.m.Global(as) != nil {
		return "", refuse(j.entry, "the name %s is taken", as)
	}
	text, err := j.render(fn, as)
	if err != nil {
		return "", err
	}
	j.front = append(j.front, text)
	j.names["fn "+fn.Name] = as
	return as, nil
}

// declaration is a function's head as a declaration of its own.
func declaration(f *ptx.Func) string {
	text := string(f.Text())
	if i := strings.IndexByte(text, '{'); i >= 0 {
		text = strings.TrimSpace(text[:i])
	}
	return text + "\n;"
}

// Numbers in names that count over the module's functions.
var counted = regexp.MustCompile(`\$L__BB\d+_|__local_depot\d+|\bprototype_\d+|\$L__tmp\d+|\$L__func_(begin|end)\d+`)

// sameFunction tells whether a function of the variant is the default's, once names are the result's.
func (j *joiner) sameFunction(v, d *ptx.Func) (bool, error) {
	if head(v) != head(d) || len(v.Stmts) == 0 {
		return false, nil
	}
	vs, err := j.normal(v, true)
	if err != nil {
		return false, err
	}
	ds, err := j.normal(d, false)
	return vs == ds, err
}

func (j *joiner) normal(f *ptx.Func, translate bool) (string, error) {
	c := f.Clone()
	if translate {
		var fail error
		moduleNames(c, func(i int, n ptx.Span) {
			if fail != nil {
				return
			}
			to, err := j.resolve(string(c.Bytes(n)), c, i)
			fail = err
			c.ReplaceSpan(n, to)
		})
		if fail != nil {
			return "", fail
		}
		if err := c.Commit(); err != nil {
			return "", refuse(j.entry, "%v", err)
		}
	}
	var b strings.Builder
	for i, s := range c.Stmts {
		if s.Kind == ptx.Line || s.Kind == ptx.Empty || s.Kind == ptx.Label && strings.HasPrefix(string(c.Opcode(i)), "$L__tmp") {
			continue
		}
		line := squash(string(c.Bytes(ptx.Span{Start: s.Start, End: s.End})))
		b.WriteString(counted.ReplaceAllStringFunc(line, func(w string) string { return strings.TrimRight(w, "0123456789_") }))
		b.WriteByte('\n')
	}
	return b.String(), nil
}

// bytes puts the result together.
func (a *assembly) bytes() ([]byte, error) {
	type piece struct {
		from, to uint32
		text     string
	}
	var pieces []piece
	first := uint32(len(a.text))
	for _, f := range a.m.Funcs {
		if f.Body {
			first = min(first, f.At().Start)
		}
		if text, ok := a.entries[f.Name]; ok && f.Entry && f.Body {
			pieces = append(pieces, piece{f.At().Start, f.At().End, text})
		}
	}
	for _, g := range a.m.Globals {
		if g.Span.Start > first && len(a.globals) > 0 {
			return nil, fmt.Errorf("source: the default PTX has variable %s behind its first function", g.Name)
		}
	}
	if len(a.globals) > 0 {
		pieces = append(pieces, piece{first, first, strings.Join(a.globals, "\n") + "\n"})
	}
	pieces = append(pieces, piece{uint32(len(a.text)), uint32(len(a.text)), a.lines.files()})
	if from, text, ok := a.lines.strings(); ok {
		pieces = append(pieces, piece{from, from, text})
	}
	sort.SliceStable(pieces, func(i, k int) bool {
		if pieces[i].from != pieces[k].from {
			return pieces[i].from < pieces[k].from
		}
		return pieces[i].to < pieces[k].to
	})
	var out bytes.Buffer
	at := uint32(0)
	for _, p := range pieces {
		out.Write(a.text[at:p.from])
		out.WriteString(p.text)
		at = p.to
	}
	out.Write(a.text[at:])
	if _, err := ptx.Parse(out.Bytes()); err != nil {
		return nil, fmt.Errorf("source: the assembled PTX is not read: %w", err)
	}
	return out.Bytes(), nil
}
