package ir

import (
	"cmp"
	"fmt"
	"slices"
	"sort"
	"strings"
	"sync"
	"sync/atomic"

	"gnvcc/rewrite/ptx"
)

// A Reg is a register of a body: all that are declared, in all scopes, are numbered from 0. Inline
// assembly declares the same names over and over, and each of them is a register of its own.
type Reg int32

// None stands for what is no register.
const None Reg = -1

// A Func is a body as values. It is void once the function is edited.
type Func struct {
	*ptx.Func
	Blocks []ptx.Block
	Groups []Group // of registers, in the order of the text
	// names of operands that begin with a % and are no register of the body's: %tid.x
	Others map[string]bool

	text   string
	block  []int32                // by statement
	group  []int32                // by register
	insts  []atomic.Pointer[Inst] // by statement, read when they are asked for
	defs   [][]int                // by register
	access []Access
	first  []int32 // by statement: where its accesses begin; one more at the end
	life   *liveness
	graph  graphs
	from   func() []root // by register (value.go)
}

// An Access is one mention of a register by an instruction.
type Access struct {
	At          ptx.Span
	Stmt        int32
	Reg         Reg
	Read, Write bool
	Kept        bool // written under a guard: the old value may stay
}

// A Group is a declaration of registers: `.reg .b32 %r<10>;`.
type Group struct {
	Name, Type string
	Count      int  // 0: one register of exactly this name
	Base       Reg  // its first one
	Inner      bool // it stands in a scope
}

// Of reads a body, once as long as it is not edited. An error means that it has no control flow that
// can be followed.
func Of(f *ptx.Func) (*Func, error) {
	type body struct{}
	return ptx.Once(f, body{}, func() (*Func, error) { return read(f) })
}

func read(f *ptx.Func) (*Func, error) {
	blocks, err := f.Blocks()
	if err != nil {
		return nil, err
	}
	w := &Func{Func: f, Blocks: blocks, text: string(f.Text()), block: make([]int32, len(f.Stmts)),
		insts: make([]atomic.Pointer[Inst], len(f.Stmts)), Others: map[string]bool{}}
	for b := range blocks {
		for i := blocks[b].First; i < blocks[b].Last; i++ {
			w.block[i] = int32(b)
		}
	}
	if err := w.read(); err != nil {
		return nil, err
	}
	w.define()
	w.graph.plan(w)
	w.from = sync.OnceValue(w.origins)
	return w, w.number()
}

// read lists all accesses.
func (w *Func) read() error {
	w.first = make([]int32, len(w.Stmts)+1)
	w.access = make([]Access, 0, 3*len(w.Stmts))
	var sight ptx.Sight
	for i, s := range w.Stmts {
		w.first[i] = int32(len(w.access))
		switch s.Kind {
		case ptx.Open:
			sight.Open()
		case ptx.Close:
			sight.Close()
		case ptx.Decl:
			if string(w.Opcode(i)) != ".reg" {
				continue
			}
			vars, err := w.Declared(i)
			if err != nil {
				return err
			}
			for _, v := range vars {
				if sight.Twice(&v) {
					return fmt.Errorf("register %s is declared twice", v.Name)
				}
				if err := sight.Declare(&v, len(w.Groups)); err != nil {
					return err
				}
				w.Groups = append(w.Groups, Group{Name: v.Name, Type: kindOf(&v), Count: v.Count,
					Base: Reg(len(w.group)), Inner: s.Depth > 0})
				w.group = append(w.group, slices.Repeat([]int32{int32(len(w.Groups) - 1)}, max(v.Count, 1))...)
			}
		case ptx.Inst:
			w.Effects(i, func(at ptx.Span, read, write bool) {
				if g, n, ok := sight.Find(w.Bytes(at)); ok {
					w.access = append(w.access, Access{At: at, Stmt: int32(i), Reg: w.Groups[g].Base + Reg(n),
						Read: read, Write: write, Kept: write && s.Guarded})
				} else if name := w.Bytes(at); name[0] == '%' && !w.Others[string(name)] {
					w.Others[string(name)] = true
				}
			})
		}
	}
	w.first[len(w.Stmts)] = int32(len(w.access))
	return nil
}

// define lists the statements that write each register, in one piece of memory.
func (w *Func) define() {
	count, all := make([]int32, len(w.group)), 0
	for _, a := range w.access {
		if a.Write {
			count[a.Reg]++
			all++
		}
	}
	w.defs = make([][]int, len(w.group))
	list := make([]int, all)
	for _, a := range w.access {
		if !a.Write {
			continue
		}
		d := w.defs[a.Reg]
		if d == nil {
			d, list = list[:0:count[a.Reg]], list[count[a.Reg]:]
		}
		if len(d) == 0 || d[len(d)-1] != int(a.Stmt) {
			d = append(d, int(a.Stmt))
		}
		w.defs[a.Reg] = d
	}
}

// kindOf is a register's type, "v4.b32" of a vector.
func kindOf(v *ptx.Variable) string {
	if v.Vector > 0 {
		return fmt.Sprintf("v%d.%s", v.Vector, v.Type)
	}
	return v.Type
}

// Statement is a statement's text.
func (w *Func) Statement(i int) string { return w.text[w.Stmts[i].Start:w.Stmts[i].End] }

// Block is the block that a statement stands in.
func (w *Func) Block(stmt int) int { return int(w.block[stmt]) }

// Registers is the number of registers that the body declares, in all scopes.
func (w *Func) Registers() int { return len(w.group) }

// Accesses lists what a statement does to registers: its guard first, then its operands as they
// stand.
func (w *Func) Accesses(stmt int) []Access { return w.access[w.first[stmt]:w.first[stmt+1]] }

// Defs returns the statements that write a register, in order.
func (w *Func) Defs(r Reg) []int { return w.defs[r] }

// Reads and Writes report whether a statement does so to a register; a guard counts as read.
func (w *Func) Reads(stmt int, r Reg) bool {
	return slices.ContainsFunc(w.Accesses(stmt), func(a Access) bool { return a.Read && a.Reg == r })
}

func (w *Func) Writes(stmt int, r Reg) bool {
	return slices.ContainsFunc(w.Accesses(stmt), func(a Access) bool { return a.Write && a.Reg == r })
}

// IsRead reports whether any statement reads a register.
func (w *Func) IsRead(r Reg) bool {
	return slices.ContainsFunc(w.access, func(a Access) bool { return a.Read && a.Reg == r })
}

// Count is how often a register is mentioned.
func (w *Func) Count(r Reg) (n int) {
	for _, a := range w.access {
		if a.Reg == r {
			n++
		}
	}
	return n
}

// At is the access that a name in a statement is, nil where it is no register.
func (w *Func) At(stmt int, name ptx.Span) *Access {
	list := w.Accesses(stmt)
	n := sort.Search(len(list), func(n int) bool { return list[n].At.Start >= name.Start })
	if n < len(list) && list[n].At == name {
		return &list[n]
	}
	return nil
}

// Symbols calls yield for each name in an instruction's operands that is no register of the body's,
// until it returns false.
func (w *Func) Symbols(stmt int, yield func(ptx.Span) bool) {
	s := w.Stmts[stmt]
	w.Names(ptx.Span{Start: s.OpEnd, End: s.End}, func(n ptx.Span) bool {
		return w.At(stmt, n) != nil || yield(n)
	})
}

// Group is the number of a register's declaration.
func (w *Func) Group(r Reg) int { return int(w.group[r]) }

// Type is a register's type as declared: "b32", "f64", "pred".
func (w *Func) Type(r Reg) string { return w.Groups[w.group[r]].Type }

// Bits is a register's width, 1 for a predicate.
func (w *Func) Bits(r Reg) int { return bitsOf(w.Type(r)) }

func bitsOf(kind string) int {
	many := 1
	if rest, ok := strings.CutPrefix(kind, "v"); ok {
		many, kind = int(rest[0]-'0'), rest[2:]
	}
	if kind == "pred" {
		return many
	}
	v := ptx.Variable{Type: kind}
	return many * 8 * v.Size()
}

// Words is the number of 32-bit registers that a register takes on the machine: none for
// predicates, which have a file of their own, one for 16 bits.
func (w *Func) Words(r Reg) int {
	if w.Type(r) == "pred" {
		return 0
	}
	return (w.Bits(r) + 31) / 32
}

// Name is a register's name; registers that are declared in scopes get a number with it, since
// others may have the same one.
func (w *Func) Name(r Reg) string {
	g := &w.Groups[w.group[r]]
	name := g.Name
	if g.Count > 0 {
		name = fmt.Sprint(name, r-g.Base)
	}
	if g.Inner {
		name = fmt.Sprint(name, "'", r)
	}
	return name
}

// An Inst is an instruction taken apart: `@!%p1 ld.global.v2.f32 {%f1, %f2}, [%rd1+8];`.
type Inst struct {
	Op     string   // "ld"; "" where the statement is no instruction
	Words  []string // what follows it: "global", "v2", "f32"
	Guard  Reg      // %p1; None
	Unless bool     // it runs where its guard is false
	Args   []Operand
}

// An Operand is one of an instruction's. An address is that of its base.
type Operand struct {
	At      ptx.Span
	Text    string // "%f1", "12", "{%f1, %f2}", of an address its base: "%rd1"
	Reg     Reg    // the register that it is, or that is an address' base; None
	Address bool
	Offset  int // bytes, behind the base
}

// nothing stands for statements that are no instruction.
var nothing = &Inst{Guard: None}

// Inst takes a statement apart.
func (w *Func) Inst(i int) *Inst {
	if x := w.insts[i].Load(); x != nil {
		return x
	}
	s := w.Stmts[i]
	if s.Kind != ptx.Inst {
		return nothing
	}
	words := strings.Split(w.text[s.Op:s.OpEnd], ".")
	x := &Inst{Op: words[0], Words: words[1:], Guard: None}
	list := w.Accesses(i)
	if s.Guarded {
		_, x.Unless = w.Func.Guard(i)
		if len(list) > 0 && list[0].At.Start < s.Op {
			x.Guard = list[0].Reg
		}
	}
	for _, at := range w.Operands(i, nil) {
		o := Operand{At: at, Text: w.text[at.Start:at.End], Reg: None}
		inner := at
		if base, text, ok := w.Func.Address(at); ok {
			number := strings.ReplaceAll(strings.TrimPrefix(string(text), "+"), " ", "")
			offset, ok := Literal(cmp.Or(number, "0"))
			if !ok {
				x.Args = append(x.Args, o)
				continue
			}
			start := at.Start + uint32(strings.Index(o.Text, string(base)))
			o.Text, o.Offset, o.Address = string(base), int(offset), true
			inner = ptx.Span{Start: start, End: start + uint32(len(base))}
		}
		if a := w.At(i, inner); a != nil {
			o.Reg = a.Reg
		}
		x.Args = append(x.Args, o)
	}
	w.insts[i].Store(x)
	return x
}

// Has reports whether one of some words stands in the opcode.
func (x *Inst) Has(words ...string) bool {
	return slices.ContainsFunc(x.Words, func(w string) bool { return slices.Contains(words, w) })
}

// Type is the last word of the opcode.
func (x *Inst) Type() string {
	if len(x.Words) == 0 {
		return ""
	}
	return x.Words[len(x.Words)-1]
}

// Is reports whether it is this opcode: "add.s32".
func (x *Inst) Is(opcode string) bool {
	op, rest, _ := strings.Cut(opcode, ".")
	return x.Op == op && strings.Join(x.Words, ".") == rest
}

// Address is the operand that is an address, the first where there are several; nil: none is.
func (x *Inst) Address() *Operand {
	for n := range x.Args {
		if x.Args[n].Address {
			return &x.Args[n]
		}
	}
	return nil
}
