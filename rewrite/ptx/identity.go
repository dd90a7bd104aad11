package ptx

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"strconv"
)

// Identity: what a kernel is, whatever stands around it in the file.
//
// The normal form holds the entry and, behind it, every function and variable that it reaches, in
// the order of first mention: module-level names stand as @0, @1, ..., a function's own labels,
// parameters and variables as $0, $1, ... All that changes when an unrelated kernel is added, moved
// or removed, when the file moves, or with -lineinfo, is gone:
//
//   - comments, white space, .loc, .file, .section, labels for debugging
//   - numbers that count over the file: $L__BB3_2, __local_depot3, $str$1, __unnamed_2,
//     prototype_6, asm's %=
//   - hashes and paths in compiler-made names (name.go); the text of string literals; the line that
//     assert reports
//   - where a __shared__ variable stands: in the function, or in front of it because another kernel
//     uses it too
//
// Register names stay: they count per function. The names of functions stay, the kernel's own too,
// since ptxas' heuristics read names; the names of variables go. Version and target lines are not
// in it: the caller adds the real target, ptxas' version and the flags.

// A Hash is the SHA-256 of a normal form.
type Hash [sha256.Size]byte

// String is the hash in lower-case hexadecimal digits.
func (h Hash) String() string { return hex.EncodeToString(h[:]) }

// Identity returns the hash of an entry's normal form.
func (m *Module) Identity(entry string) (Hash, error) {
	text, err := m.Normal(entry)
	if err != nil {
		return Hash{}, err
	}
	return sha256.Sum256(text), nil
}

// Normal returns an entry's normal form, for people who ask why two kernels are not the same.
func (m *Module) Normal(entry string) ([]byte, error) {
	f := m.Entry(entry)
	if f == nil || !f.Body {
		return nil, fmt.Errorf("ptx: no kernel %s in this module", entry)
	}
	n := normal{m: m, index: make(map[any]int), out: make([]byte, 0, len(f.text))}
	n.mention(f)
	for i := 0; i < len(n.queue); i++ { // the queue grows while it is worked off
		n.raw("@" + strconv.Itoa(i) + " ")
		switch s := n.queue[i].(type) {
		case *Func:
			if i > 0 && s.Entry { // a kernel that is launched from this one: another kernel
				n.raw("kernel " + StableName(s.Name))
			} else if err := n.function(s); err != nil {
				return nil, err
			}
		case *Global:
			n.global(s)
		}
		n.raw("\n")
	}
	return n.out, nil
}

type normal struct {
	m     *Module
	out   []byte
	queue []any       // *Func or *Global, in the order of first mention
	index map[any]int // position in queue

	// of the function at hand
	local   map[string]int     // its own names; -1: not mentioned yet
	next    int                // the next free local number
	demoted map[string]*Global // its own __shared__ variables
	lines   map[uint32]bool    // offsets of numbers that are source lines
	word    bool               // out ends with a word
}

func (n *normal) raw(s string) {
	n.out = append(n.out, s...)
	n.word = false
}

func (n *normal) mention(s any) int {
	k, ok := n.index[s]
	if !ok {
		k = len(n.queue)
		n.index[s] = k
		n.queue = append(n.queue, s)
	}
	return k
}

func (n *normal) function(f *Func) error {
	n.local, n.next, n.demoted, n.lines = make(map[string]int), 0, nil, f.assertLines()
	for _, vars := range [][]Variable{f.Returns, f.Params} {
		for _, v := range vars {
			n.local[v.Name] = -1
		}
	}
	for i, s := range f.Stmts {
		switch s.Kind {
		case Label:
			n.local[string(f.Opcode(i))] = -1
		case Decl:
			if string(f.Opcode(i)) == ".shared" {
				vars, err := f.Declared(i)
				if err != nil {
					return err
				}
				for _, v := range vars {
					if n.demoted == nil {
						n.demoted = make(map[string]*Global)
					}
					n.demoted[v.Name] = &Global{Variable: v}
				}
				break
			}
			f.Names(Span{s.OpEnd, s.End}, func(name Span) bool {
				if f.text[name.Start] != '%' {
					n.local[string(f.Bytes(name))] = -1
				}
				return true
			})
		}
	}
	kind := "func "
	if f.Entry {
		kind = "entry "
	}
	n.raw(kind + f.Linkage + " " + StableName(f.Name) + " (")
	// parameters; a function's returns are known from its callers and st.param
	n.tokens(f.text, int(f.name.End), int(f.paramEnd))
	n.raw(")")
	for _, v := range f.Returns {
		n.raw(" returns " + describe(&v))
	}
	for _, d := range f.Directives {
		n.raw(" ")
		n.tokens(f.text, int(d.Span.Start), int(d.Span.End))
	}
	if !f.Body {
		return nil
	}
	n.raw("{\n")
	for i, s := range f.Stmts {
		switch {
		case s.Kind == Line, s.Kind == Empty:
			continue
		case s.Kind == Label && isDebugLabel(f.Opcode(i)):
			continue
		case s.Kind == Decl && string(f.Opcode(i)) == ".shared":
			continue
		case s.Kind == Inst:
			n.tokens(f.text, int(s.Start), int(s.Op))
			n.copy(f.Opcode(i))
			n.tokens(f.text, int(s.OpEnd), int(s.End))
		default:
			n.tokens(f.text, int(s.Start), int(s.End))
		}
		n.raw("\n")
	}
	n.raw("}")
	return nil
}

// copy appends a word, behind a blank where a word is in front of it.
func (n *normal) copy(w []byte) {
	if n.word {
		n.out = append(n.out, ' ')
	}
	n.out = append(n.out, w...)
	n.word = true
}

// tokens appends a piece of text with its names replaced.
func (n *normal) tokens(b []byte, i, end int) {
	for {
		i = skip(b, i)
		if i >= end {
			return
		}
		c := b[i]
		switch {
		case class[c]&clFirst != 0:
			stop := name(b, i)
			if c == '%' {
				stop = word(b, stop)
				n.copy(b[i:stop])
			} else {
				n.symbol(b[i:stop])
			}
			i = stop
		case class[c]&clDigit != 0 || c == '.':
			stop := max(word(b, i), i+1)
			if n.lines[uint32(i)] {
				n.copy([]byte("line"))
			} else {
				n.copy(b[i:stop])
			}
			i = stop
		case c == '"':
			stop := quoted(b, i)
			if stop < 0 || stop > end {
				stop = end
			}
			n.out = append(n.out, b[i:stop]...)
			n.word = false
			i = stop
		default:
			n.out = append(n.out, c)
			n.word = false
			i++
		}
	}
}

func (n *normal) symbol(w []byte) {
	sign, k := byte('@'), 0
	if local, ok := n.local[string(w)]; ok {
		if local < 0 {
			local = n.next
			n.next++
			n.local[string(w)] = local
		}
		sign, k = '$', local
	} else if g := n.demoted[string(w)]; g != nil {
		k = n.mention(g)
	} else if s := n.m.lookup(string(w)); s.fn != nil {
		k = n.mention(s.fn)
	} else if s.global != nil {
		k = n.mention(s.global)
	} else {
		n.copy(w)
		return
	}
	if n.word {
		n.out = append(n.out, ' ')
	}
	n.out = strconv.AppendInt(append(n.out, sign), int64(k), 10)
	n.word = true
}

func (n *normal) global(g *Global) {
	if isText(g) {
		n.raw("text")
		return
	}
	if g.Space == "shared" && g.Linkage != "extern" {
		n.raw(describe(&g.Variable)) // the same here and inside a function
		return
	}
	n.raw(g.Linkage + " " + describe(&g.Variable))
	if g.Init.End > g.Init.Start {
		n.raw(" = ")
		n.local, n.demoted, n.lines = nil, nil, nil
		n.tokens(n.m.src, int(g.Init.Start), int(g.Init.End))
	}
}

// describe says what a variable is without its name.
func describe(v *Variable) string {
	return fmt.Sprint(v.Space, " ", v.Type, " v", v.Vector, " align ", v.Alignment(), " ", v.Dims,
		v.Attribute)
}

// assertLines finds the line numbers that a function hands to __assertfail: they change with every
// line that is added above. They are the third argument, directly or through a register that serves
// nothing else.
func (f *Func) assertLines() map[uint32]bool {
	var lines map[uint32]bool
	for i, s := range f.Stmts {
		if s.Kind != Inst || string(f.Base(i)) != "call" || !contains(f, i, "__assertfail") {
			continue
		}
		ops := f.Operands(i, nil)
		var args []string
		if len(ops) > 0 {
			f.Names(ops[len(ops)-1], func(name Span) bool {
				args = append(args, string(f.Bytes(name)))
				return true
			})
		}
		if len(args) < 3 {
			continue
		}
		for k := i - 1; k >= 0 && f.Stmts[k].Kind != Open; k-- {
			if f.Stmts[k].Kind != Inst || string(f.Base(k)) != "st" {
				continue
			}
			st := f.Operands(k, nil)
			if len(st) != 2 {
				continue
			}
			if base, _, ok := f.Address(st[0]); !ok || string(base) != args[2] {
				continue
			}
			if at, ok := f.lineOperand(st[1]); ok {
				if lines == nil {
					lines = make(map[uint32]bool)
				}
				lines[at] = true
			}
			break
		}
	}
	return lines
}

// lineOperand returns the offset of the number that an operand is, or that the register which it is
// was given by its only definition, if this is its only use.
func (f *Func) lineOperand(s Span) (uint32, bool) {
	op := f.Bytes(s)
	if class[op[0]]&clDigit != 0 {
		return s.Start, true
	}
	if op[0] != '%' {
		return 0, false
	}
	seen, at := 0, uint32(0)
	for i, t := range f.Stmts {
		if t.Kind != Inst {
			continue
		}
		f.Names(Span{t.Start, t.End}, func(name Span) bool {
			if string(f.Bytes(name)) == string(op) {
				seen++
			}
			return seen <= 2
		})
		if string(f.Base(i)) == "mov" && !t.Guarded {
			if ops := f.Operands(i, nil); len(ops) == 2 && string(f.Bytes(ops[0])) == string(op) &&
				class[f.text[ops[1].Start]]&clDigit != 0 {
				at = ops[1].Start
			}
		}
	}
	return at, seen == 2 && at > 0
}

func contains(f *Func, i int, name string) bool {
	found := false
	s := f.Stmts[i]
	f.Names(Span{s.OpEnd, s.End}, func(n Span) bool {
		found = string(f.Bytes(n)) == name
		return !found
	})
	return found
}
