package merge

import (
	"bytes"
	"crypto/sha256"
	"fmt"
	"slices"
	"sort"
	"strings"

	"gnvcc/rewrite/ptx"
)

// A Variant is one kernel from another compile of the same translation unit.
type Variant struct {
	Entry  string      // its name
	Second string      // the name that it gets beside the default kernel; "" to take that one's place
	Module *ptx.Module // that it comes from; its functions may have been edited
}

// key names the variant in the map of refusals.
func (v Variant) key() string {
	if v.Second != "" {
		return v.Second
	}
	return v.Entry
}

// Into puts the variants into the default module, as it was read from its text. A variant that does
// not fit is left out and its reason given under the name that it would have had. With nothing put
// in, base itself is returned.
func Into(base *ptx.Module, variants []Variant) (out *ptx.Module, refused map[string]error,
	err error) {
	refused = map[string]error{}
	src := base.Bytes()
	b := &builder{src: src, base: base, lines: readLines(src), taken: map[string]bool{}}
	for i, v := range variants {
		if err := b.add(v, i); err != nil {
			refused[v.key()] = err
		}
	}
	if len(b.splices) == 0 {
		return base, refused, nil
	}
	if out, err = ptx.Parse(b.bytes()); err != nil {
		return nil, nil, fmt.Errorf("the merged PTX: %w", err)
	}
	return out, refused, nil
}

type builder struct {
	src     []byte
	base    *ptx.Module
	lines   *lines
	splices []splice
	taken   map[string]bool // names that variants brought
}

// A splice replaces [from, to) of the default module.
type splice struct {
	from, to uint32
	text     []byte
}

func (b *builder) bytes() []byte {
	sort.SliceStable(b.splices, func(i, j int) bool { return b.splices[i].from < b.splices[j].from })
	var out []byte
	last := uint32(0)
	for _, s := range b.splices {
		out = append(out, b.src[last:s.from]...)
		out = append(out, s.text...)
		last = s.to
	}
	return append(out, b.src[last:]...)
}

// add puts one variant in; number is its place among them all.
func (b *builder) add(v Variant, number int) error {
	def, entry, err := b.pair(v)
	if err != nil {
		return err
	}
	n, err := b.brought(v)
	if err != nil {
		return err
	}
	if err := b.name(n, v.Module, number); err != nil {
		return err
	}
	text, err := b.text(v, n, entry)
	if err != nil {
		return err
	}
	at := def.At()
	if v.Second == "" {
		b.splices = append(b.splices, splice{at.Start, at.End, text})
	} else {
		place := b.early(text, at.Start)
		b.splices = append(b.splices, splice{place, place, append(text, '\n')})
		b.taken[v.Second] = true
	}
	for _, name := range n.names {
		b.taken[name] = true
	}
	return nil
}

// early is the first place, before stop, where all that a text mentions is declared. ptxas takes functions
// from the last to the first, and gives each address that one needs the next place in a table: so those of
// a second entry come behind nvcc's own, and the code of other kernels stays what it is.
func (b *builder) early(text []byte, stop uint32) uint32 {
	known := map[string]uint32{}
	for _, f := range b.base.Funcs {
		if at, ok := known[f.Name]; !ok || f.At().End < at {
			known[f.Name] = f.At().End
		}
	}
	for _, g := range b.base.Globals {
		known[g.Name] = g.Span.End
	}
	from := uint32(0)
	ptx.Names(text, ptx.Span{End: uint32(len(text))}, func(n ptx.Span) bool {
		from = max(from, known[string(text[n.Start:n.End])])
		return true
	})
	for _, f := range b.base.Funcs {
		if at := f.At().Start; f.Body && at >= from && at < stop {
			stop = at
		}
	}
	return stop
}

// pair finds the kernel in both modules, and says why one can't stand for the other.
func (b *builder) pair(v Variant) (def, entry *ptx.Func, err error) {
	m := v.Module
	if def = b.base.Entry(v.Entry); def == nil || !def.Body {
		return nil, nil, fmt.Errorf("no kernel %s in the default PTX", v.Entry)
	}
	if v.Second != "" && b.isTaken(v.Second) {
		return nil, nil, fmt.Errorf("the name %s is taken", v.Second)
	}
	if m.Version != b.base.Version || !slices.Equal(m.Target, b.base.Target) ||
		m.AddressSize != b.base.AddressSize {
		return nil, nil, fmt.Errorf("the variant's PTX is for version %s %v, the default one for %s %v",
			m.Version, m.Target, b.base.Version, b.base.Target)
	}
	if entry = m.Entry(v.Entry); entry == nil || !entry.Body {
		return nil, nil, fmt.Errorf("no kernel %s in the variant's PTX", v.Entry)
	}
	if err := sameParams(def, entry); err != nil {
		return nil, nil, err
	}
	if err := sameDirectives(def, entry); err != nil {
		return nil, nil, err
	}
	if slices.Contains(m.Target, "debug") {
		return nil, nil, fmt.Errorf("%s is built for debugging", v.Entry)
	}
	return def, entry, nil
}

// isTaken reports whether a name of the merged module stands for something already.
func (b *builder) isTaken(name string) bool {
	return b.base.Func(name) != nil || b.base.Global(name) != nil || b.taken[name]
}

// news is what a variant brings besides its kernel.
type news struct {
	globals []*ptx.Global
	funcs   []*ptx.Func
	names   map[string]string // of those that are to be renamed, with the new name, or the default module's
}

// brought finds what the variant's kernel reaches and the default module has not, or has as
// something else.
func (b *builder) brought(v Variant) (*news, error) {
	reach, err := v.Module.Reach(v.Entry)
	if err != nil {
		return nil, err
	}
	n := &news{names: map[string]string{}}
	for _, g := range reach.Globals {
		old := b.base.Global(g.Name)
		switch {
		case old != nil && sameText(b.base.GlobalText(old), v.Module.GlobalText(g)):
		case b.literal(v.Module, g) != "":
			n.names[g.Name] = b.literal(v.Module, g)
		case constant(g):
			n.names[g.Name] = ""
			n.globals = append(n.globals, g)
		case g.Space == "shared" && old == nil && g.Linkage == "":
			// a block's own: which kernel of the module uses it makes no difference
			n.globals = append(n.globals, g)
			n.names[g.Name] = ""
		case old == nil:
			return nil, fmt.Errorf("the variant has a variable %s that the default module has not", g.Name)
		default:
			return nil, fmt.Errorf("variable %s is another one in the variant", g.Name)
		}
	}
	return n, b.functions(n, reach)
}

// literal is the name that the default module has for a string literal of the variant, "" for none. A further
// one would be a further address in the table that all kernels of the module read theirs from.
func (b *builder) literal(m *ptx.Module, g *ptx.Global) string {
	if !constant(g) || g.Space == "const" {
		return ""
	}
	for _, o := range b.base.Globals {
		if constant(o) && o.Space == g.Space &&
			sameText(b.base.GlobalText(o), rename(m.GlobalText(g), map[string]string{g.Name: o.Name})) {
			return o.Name
		}
	}
	return ""
}

// functions finds the functions among what a variant brings. A function is the default module's if
// its text is and if nothing that it reaches is renamed; so the ones that differ spread to their
// callers.
func (b *builder) functions(n *news, reach *ptx.Reach) error {
	different := map[*ptx.Func]bool{}
	for changed := true; changed; {
		changed = false
		for _, f := range reach.Funcs[1:] {
			if different[f] {
				continue
			}
			old := b.base.Func(f.Name)
			differs := old == nil || f.Body && (!old.Body || !sameText(old.Text(), f.Text())) ||
				mentions(f, n.names)
			if !differs {
				continue
			}
			switch {
			case f.Entry:
				return fmt.Errorf("the variant launches the kernel %s, which differs from the default one",
					f.Name)
			case !f.Body && old == nil:
				n.funcs = append(n.funcs, f) // a declaration of something from outside
			case f.Body && addressTaken(reach.Funcs, f.Name):
				return fmt.Errorf(
					"the address of %s is taken, and the variant has another one: pointers would differ", f.Name)
			case f.Body:
				n.names[f.Name] = ""
				n.funcs = append(n.funcs, f)
			}
			different[f] = true
			changed = true
		}
	}
	return nil
}

// name gives what a variant brings names that nothing else has.
func (b *builder) name(n *news, m *ptx.Module, number int) error {
	suffix := suffixOf(m, n.globals, n.funcs, number)
	for old, name := range n.names {
		if name != "" { // the default module's own
			continue
		}
		name = old + suffix
		if n.names[old] = name; b.isTaken(name) {
			return fmt.Errorf("the name %s is taken", name)
		}
	}
	return nil
}

// text is what stands in the merged module for a variant.
func (b *builder) text(v Variant, n *news, entry *ptx.Func) ([]byte, error) {
	from := b.lines
	if v.Module != b.base {
		from = readLines(v.Module.Bytes())
	}
	var text bytes.Buffer
	for _, g := range n.globals {
		text.Write(rename(v.Module.GlobalText(g), n.names))
		text.WriteString("\n")
	}
	for _, f := range n.funcs { // they may call each other: declare all first
		if f.Body {
			text.Write(bytes.TrimRight(rename(local(f, header(f)), n.names), " \t\r\n"))
			text.WriteString(";\n")
		} else {
			text.Write(f.Text())
			text.WriteString("\n")
		}
	}
	for _, f := range n.funcs {
		if f.Body {
			body, err := b.lines.translate(f, from)
			if err != nil {
				return nil, err
			}
			text.Write(rename(local(f, body), n.names))
			text.WriteString("\n")
		}
	}
	body, err := b.lines.translate(entry, from)
	if err != nil {
		return nil, err
	}
	if v.Second != "" {
		n.names[v.Entry] = v.Second
	}
	text.Write(rename(body, n.names))
	return text.Bytes(), nil
}

// sameParams refuses a variant that would read its arguments from other places.
func sameParams(a, b *ptx.Func) error {
	if len(a.Params) != len(b.Params) {
		return fmt.Errorf("%s has %d parameters in the variant, %d in the default PTX", a.Name,
			len(b.Params), len(a.Params))
	}
	for i := range a.Params {
		x, y := &a.Params[i], &b.Params[i]
		if x.Size() != y.Size() || x.Alignment() != y.Alignment() {
			return fmt.Errorf("parameter %d of %s has another size in the variant", i, a.Name)
		}
	}
	return nil
}

// sameDirectives refuses a variant whose launch bounds are others: the source stage changes none.
func sameDirectives(a, b *ptx.Func) error {
	list := func(f *ptx.Func) string {
		var words []string
		for _, d := range f.Directives {
			words = append(words, d.Name+" "+strings.Join(strings.Fields(d.Args), ""))
		}
		sort.Strings(words)
		return strings.Join(words, "; ")
	}
	if x, y := list(a), list(b); x != y {
		return fmt.Errorf("%s has the directives %q in the variant, %q in the default PTX", a.Name, y, x)
	}
	return nil
}

// addressTaken reports whether any of the functions mentions a name other than as the target of a
// direct call.
func addressTaken(funcs []*ptx.Func, name string) bool {
	for _, f := range funcs {
		text := f.Text()
		for i, s := range f.Stmts {
			if s.Kind != ptx.Inst || string(f.Base(i)) == "call" {
				continue
			}
			found := false
			f.Names(ptx.Span{Start: s.Start, End: s.End}, func(n ptx.Span) bool {
				found = string(text[n.Start:n.End]) == name
				return !found
			})
			if found {
				return true
			}
		}
	}
	return false
}

// constant reports whether a variable may stand twice in the module: no code can write it, and none
// outside knows it. String literals are such (nvcc calls them $str, and numbers them anew in every
// compile).
func constant(g *ptx.Global) bool {
	return g.Init.End > g.Init.Start && g.Linkage == "" && (g.Space == "const" ||
		strings.HasPrefix(g.Name, "$str") || strings.HasPrefix(g.Name, "__unnamed"))
}

// suffixOf ends the new names of what a variant brings. The number keeps the variants of one module
// apart; the hash of the content keeps objects apart that a device link (-rdc=true) puts together,
// should a name get out in spite of local.
func suffixOf(m *ptx.Module, globals []*ptx.Global, funcs []*ptx.Func, number int) string {
	h := sha256.New()
	for _, g := range globals {
		h.Write(m.GlobalText(g))
	}
	for _, f := range funcs {
		h.Write(f.Text())
	}
	return fmt.Sprintf("__v%d_%x", number, h.Sum(nil)[:6])
}

// local is a function's text without its linkage. nvcc makes instances of templates and inline
// functions .weak: of all objects' functions of one name the device linker keeps one. A renamed one
// is this object's own.
func local(f *ptx.Func, text []byte) []byte {
	if rest, ok := bytes.CutPrefix(text, []byte("."+f.Linkage)); ok && f.Linkage != "" {
		return bytes.TrimLeft(rest, " \t\r\n")
	}
	return text
}

// header is a function's text up to its body.
func header(f *ptx.Func) []byte {
	text := f.Text()
	if i := bytes.IndexByte(text, '{'); i >= 0 {
		return text[:i]
	}
	return text
}

func mentions(f *ptx.Func, names map[string]string) bool {
	found := false
	text := f.Text()
	ptx.Names(text, ptx.Span{End: uint32(len(text))}, func(n ptx.Span) bool {
		_, found = names[string(text[n.Start:n.End])]
		return !found
	})
	return found
}

// rename replaces whole names; names of parameters, registers and labels are other words and stay.
func rename(text []byte, names map[string]string) []byte {
	if len(names) == 0 {
		return text
	}
	var out []byte
	last := uint32(0)
	ptx.Names(text, ptx.Span{End: uint32(len(text))}, func(n ptx.Span) bool {
		if name, ok := names[string(text[n.Start:n.End])]; ok {
			out = append(append(out, text[last:n.Start]...), name...)
			last = n.End
		}
		return true
	})
	if last == 0 {
		return text
	}
	return append(out, text[last:]...)
}

// sameText compares but for white space and comments.
func sameText(a, b []byte) bool {
	return bytes.Equal(a, b) || bytes.Equal(squeeze(a), squeeze(b))
}

func squeeze(text []byte) []byte {
	var out []byte
	for _, line := range bytes.Split(text, []byte("\n")) {
		if i := bytes.Index(line, []byte("//")); i >= 0 && bytes.IndexByte(line[:i], '"') < 0 {
			line = line[:i]
		}
		if bytes.HasPrefix(bytes.TrimSpace(line), []byte(".loc")) {
			continue
		}
		out = append(out, bytes.Join(bytes.Fields(line), []byte(" "))...)
		out = append(out, ' ')
	}
	return bytes.TrimSpace(bytes.Join(bytes.Fields(out), []byte(" ")))
}
