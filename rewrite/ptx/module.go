package ptx

import (
	"bytes"
	"sync"
)

// The values of a module. Offsets are 32 bits wide: a PTX text of 4 GiB is refused.

// A Module is one PTX text.
type Module struct {
	Version     string   // of the ISA: "9.0"
	Target      []string // "sm_90", "debug", ...
	AddressSize int      // 64; 0 where the text does not say
	Funcs       []*Func  // entries and functions in the order of the text, declarations too
	Globals     []*Global
	Aliases     []Alias

	src     []byte
	once    sync.Once // symbols are looked up from several goroutines
	symbols map[string]symbol
	memo    memo
}

// A Span is a piece of a text, from Start up to but not including End.
type Span struct{ Start, End uint32 }

// An Alias is `.alias Name, Of;`.
type Alias struct{ Name, Of string }

// A Func is an entry (a kernel) or a function. The spans in it count from the first byte of Text.
type Func struct {
	Name       string
	Entry      bool
	Linkage    string // "visible", "weak", "extern", "common" or ""
	Body       bool   // false: a declaration
	Returns    []Variable
	Params     []Variable
	Directives []Directive // performance directives, between parameters and body
	Stmts      []Stmt      // the body without its outer braces

	text     []byte
	at       Span // in the module's text, as parsed
	name     Span
	paramEnd uint32 // behind the parameters' ')', or the name where there are none
	open     uint32 // the body's '{'
	close    uint32 // and its '}'
	changed  bool   // text is no longer the module's
	edits    []edit
	version  int // how often it was edited
	memo     *memo
}

// Text is the function's own text: linkage to closing brace, or to the ';' of a declaration;
// committed edits included.
func (f *Func) Text() []byte { return f.text }

// At is where the function stands in the module's text as it was parsed; edits do not move it.
func (f *Func) At() Span { return f.at }

// A Directive is one performance directive of an entry, such as `.maxntid 256, 1, 1`.
type Directive struct {
	Name string // with its dot
	Args string // as written, outer white space removed
	Span Span
}

// A Variable is a declared name: parameter, register, or variable in some state space.
type Variable struct {
	Name   string
	Space  string // "reg", "param", "global", "const", "shared", "local"
	Type   string // "b8", "f32", "pred", "texref", ...
	Vector int    // 2, 4 or 8 for .v2, .v4, .v8; 0: a scalar
	Align  int    // bytes; 0: the type's own
	// registers of a range, %r<10>: 10 (%r0 .. %r9); 0: one register with exactly this name
	Count     int
	Dims      []int  // array sizes; -1: left open
	Pointer   bool   // a parameter marked .ptr
	Attribute string // what stands in .attribute(...): ".managed"
	Init      Span   // the initialiser, without '='; empty where there is none
	name      Span
}

// Size is the variable's size in bytes, 0 where it is left open or has none (registers of type
// pred, textures).
func (v *Variable) Size() int {
	n := typeSize(v.Type)
	if v.Vector > 0 {
		n *= v.Vector
	}
	for _, d := range v.Dims {
		if d < 0 {
			return 0
		}
		n *= d
	}
	return n
}

// Alignment is the variable's alignment in bytes.
func (v *Variable) Alignment() int {
	if v.Align > 0 {
		return v.Align
	}
	n := typeSize(v.Type)
	if v.Vector > 0 {
		n *= v.Vector
	}
	return max(n, 1)
}

func typeSize(t string) int {
	switch t {
	case "b8", "u8", "s8":
		return 1
	case "b16", "u16", "s16", "f16", "bf16":
		return 2
	case "b32", "u32", "s32", "f32", "f16x2", "bf16x2":
		return 4
	case "b64", "u64", "s64", "f64", "texref", "samplerref", "surfref":
		return 8
	case "b128":
		return 16
	}
	return 0
}

// A Global is one module-level variable. Its spans, those of Variable too, count from the first
// byte of the module.
type Global struct {
	Variable
	Linkage string
	Span    Span
}

// Kind says what a statement is.
type Kind uint8

const (
	Inst      Kind = iota + 1 // an instruction, with its guard
	Label                     // name and ':'
	Decl                      // .reg, .local, .shared, .param, .global, .const
	Open                      // '{' of an inner scope
	Close                     // its '}'
	Direction                 // .pragma, .branchtargets, .calltargets, .callprototype, ...
	Line                      // .loc or .file: debugging only
	Empty                     // a lone ';'
)

func (k Kind) String() string {
	return [...]string{"?", "instruction", "label", "declaration", "{", "}", "directive", "line",
		";"}[min(int(k), 8)]
}

// A Stmt is one statement of a body: a few offsets into the function's text. What is inside is read
// on demand (operand.go).
type Stmt struct {
	Start, End uint32 // all of it, with ';' or ':'
	Op, OpEnd  uint32 // opcode, directive (with its dot) or the label's name
	Kind       Kind
	Guarded    bool   // an instruction behind @p or @!p
	Depth      uint16 // scopes around it, 0 in the body itself; a scope's braces have the outer depth
}

// Entries returns the module's kernels that have a body.
func (m *Module) Entries() []*Func {
	var out []*Func
	for _, f := range m.Funcs {
		if f.Entry && f.Body {
			out = append(out, f)
		}
	}
	return out
}

// Entry returns the kernel of that name, or nil.
func (m *Module) Entry(name string) *Func {
	if s := m.lookup(name); s.fn != nil && s.fn.Entry {
		return s.fn
	}
	return nil
}

// Func returns the function or entry of that name (an alias' target for an alias), the definition
// before a declaration, or nil.
func (m *Module) Func(name string) *Func { return m.lookup(name).fn }

// Global returns the module-level variable of that name, or nil.
func (m *Module) Global(name string) *Global { return m.lookup(name).global }

// Bytes is the module's text. It is the parsed slice itself where nothing was edited.
func (m *Module) Bytes() []byte {
	size, changed := len(m.src), false
	for _, f := range m.Funcs {
		if f.changed && bytes.Equal(f.text, m.src[f.at.Start:f.at.End]) {
			f.changed = false // rewritten, and taken back
		}
		if f.changed {
			changed = true
			size += len(f.text) - int(f.at.End-f.at.Start)
		}
	}
	if !changed {
		return m.src
	}
	out := make([]byte, 0, size)
	last := uint32(0)
	for _, f := range m.Funcs {
		if f.changed {
			out = append(out, m.src[last:f.at.Start]...)
			out = append(out, f.text...)
			last = f.at.End
		}
	}
	return append(out, m.src[last:]...)
}

// Clone returns a module whose functions can be edited with this one as it is, as other goroutines
// may be reading it.
func (m *Module) Clone() *Module {
	c := &Module{
		Version: m.Version, Target: m.Target, AddressSize: m.AddressSize,
		Funcs: make([]*Func, len(m.Funcs)), Globals: m.Globals, Aliases: m.Aliases, src: m.src,
	}
	funcs := make([]Func, len(m.Funcs))
	for i, f := range m.Funcs {
		funcs[i] = *f
		funcs[i].edits, funcs[i].memo = nil, new(memo)
		c.Funcs[i] = &funcs[i]
	}
	return c
}

// GlobalText is a variable's declaration, which no edit touches.
func (m *Module) GlobalText(g *Global) []byte { return m.src[g.Span.Start:g.Span.End] }

// A symbol is what a module-level name stands for: one of the two is set.
type symbol struct {
	fn     *Func
	global *Global
}

func (m *Module) lookup(name string) symbol {
	m.once.Do(m.index)
	return m.symbols[name]
}

// index fills symbols: definitions go before declarations.
func (m *Module) index() {
	m.symbols = make(map[string]symbol, len(m.Funcs)+len(m.Globals))
	for _, g := range m.Globals {
		if old, ok := m.symbols[g.Name]; !ok || old.global != nil && old.global.Linkage == "extern" {
			m.symbols[g.Name] = symbol{global: g}
		}
	}
	for _, f := range m.Funcs {
		if old := m.symbols[f.Name]; old.fn == nil || f.Body && !old.fn.Body {
			m.symbols[f.Name] = symbol{fn: f}
		}
	}
	for _, a := range m.Aliases {
		if of, ok := m.symbols[a.Of]; ok {
			m.symbols[a.Name] = of
		}
	}
}

// Inside is the body's text between its braces.
func (f *Func) Inside() Span { return Span{f.open + 1, f.close} }
