package rewrite

import (
	"fmt"

	"gnvcc/rewrite/ptx"
)

// The verifier: what must hold of a kernel after the passes, whatever they did. ptxas checks types and forms; this
// checks what ptxas takes silently (a register that is read before it is written), and what it would report by a line
// of a file that the user never saw.
//
//   - braces balance and statements end (the parser saw to it at Commit)
//   - every label that a branch names is in sight, once
//   - no register is declared twice in one scope
//   - every register that is named was declared, as far as it was before the passes
//   - a register that the passes brought in is written on every way to each place where it is read; one that was there
//     and was written somewhere still is
func verify(before, after *ptx.Func) error {
	blocks, err := after.Blocks()
	if err != nil {
		return err
	}
	gone, come := differences(before, after)
	var old, now registers
	if err := old.read(before, nil, gone); err != nil {
		return err
	}
	if err := now.read(after, &old, come); err != nil {
		return err
	}
	if len(now.unknown) > 0 || now.lost(&old) != "" { // by the statements that are others; by all of them?
		old, now = registers{}, registers{}
		if err := old.read(before, nil, nil); err != nil {
			return err
		}
		if err := now.read(after, &old, nil); err != nil {
			return err
		}
		for name := range now.unknown {
			if !old.unknown[name] {
				return fmt.Errorf("register %s is not declared", name)
			}
		}
		if name := now.lost(&old); name != "" {
			return fmt.Errorf("register %s is read but no longer written", name)
		}
	}
	return now.defined(after, blocks)
}

// lost names a register that was written in the other function and is not in this one, though read; "" for none. Where only
// some statements were read it is not known what the others read.
func (r *registers) lost(old *registers) string {
	for i := range r.groups {
		g := &r.groups[i]
		o, ok := old.find(g.prefix)
		if !ok {
			continue
		}
		for n := 0; n < max(g.count, 1) && n < max(o.count, 1); n++ {
			if s := r.state[g.base+n]; s&writeBit == 0 && old.state[o.base+n]&writeBit != 0 && (r.some || s&readBit != 0) {
				return g.name(n)
			}
		}
	}
	return ""
}

// differences marks the statements that stand in one of two functions only. Passes leave most statements as they are, and
// what these do to registers need not be looked at. Found by walking along both: marking too many is no error.
// nil: look at all, since a scope or the declaration of a register went, or a scope came, and names may mean other registers.
func differences(before, after *ptx.Func) (gone, come []bool) {
	const far = 40 // statements, in both together, over which a place where the two agree again is looked for
	equal := func(i, j int) bool {
		a, b := before.Stmts[i], after.Stmts[j]
		return string(before.Text()[a.Start:a.End]) == string(after.Text()[b.Start:b.End])
	}
	gone, come = make([]bool, len(before.Stmts)), make([]bool, len(after.Stmts))
	i, j := 0, 0
	for i < len(gone) || j < len(come) {
		if i < len(gone) && j < len(come) && equal(i, j) {
			i, j = i+1, j+1
			continue
		}
		di, dj := len(gone)-i, len(come)-j
	search:
		for d := 1; d <= far; d++ {
			for k := 0; k <= d; k++ {
				if i+k < len(gone) && j+d-k < len(come) && equal(i+k, j+d-k) {
					di, dj = k, d-k
					break search
				}
			}
		}
		for ; di > 0; di, i = di-1, i+1 {
			gone[i] = true
			if s := before.Stmts[i]; s.Kind == ptx.Open || s.Kind == ptx.Close || s.Kind == ptx.Decl {
				return nil, nil
			}
		}
		for ; dj > 0; dj, j = dj-1, j+1 {
			come[j] = true
			if s := after.Stmts[j]; s.Kind == ptx.Open || s.Kind == ptx.Close || s.Kind == ptx.Decl && s.Depth > 0 {
				return nil, nil
			}
		}
	}
	return gone, come
}

const (
	readBit = 1 << iota
	writeBit
)

// registers holds what is known of a function's registers. They are numbered: a declaration %r<10> is a group of ten.
// The same name declared in several scopes counts as one group, which is enough for the questions above.
type registers struct {
	groups  []group
	state   []uint8         // by number: readBit, writeBit
	unknown map[string]bool // named, not declared, no special register
	some    bool            // not all statements were looked at

	// what the passes brought in: registers that the other function does not have
	fresh []freshUse
	bits  map[int]int // number -> bit, -1: the other function has it
	next  int         // the next free bit
	same  int         // registers with lower numbers are the other function's, by the same numbers: usually all of those
}

type group struct {
	prefix string
	count  int // 0: one register of exactly this name
	base   int // number of its first register
}

func (g *group) name(n int) string {
	if g.count == 0 {
		return g.prefix
	}
	return fmt.Sprintf("%s%d", g.prefix, n)
}

// A freshUse is what a statement does to the new registers, as bit sets.
type freshUse struct {
	stmt          int
	reads, writes uint64
}

func (r *registers) find(prefix string) (*group, bool) {
	for i := range r.groups {
		if r.groups[i].prefix == prefix {
			return &r.groups[i], true
		}
	}
	return nil, false
}

// read goes through a function once: its declarations and the statements that are marked, nil: all. With old given, it notes
// the uses of registers that old does not have.
func (r *registers) read(f *ptx.Func, old *registers, marked []bool) error {
	r.some = marked != nil
	type declared struct {
		group int
		count int
	}
	var sight []declared // innermost last
	var marks []int      // where each open scope begins in it
	declare := func(v ptx.Variable) error {
		from := 0
		if len(marks) > 0 {
			from = marks[len(marks)-1]
		}
		prefix, number := split([]byte(v.Name))
		for _, d := range sight[from:] {
			other := r.groups[d.group].prefix
			same := other == v.Name && (d.count == 0) == (v.Count == 0)
			if v.Count == 0 && number >= 0 && number < d.count && other == string(prefix) {
				same = true
			}
			if p, n := split([]byte(other)); d.count == 0 && v.Count > 0 && n >= 0 && n < v.Count && string(p) == v.Name {
				same = true
			}
			if same {
				return fmt.Errorf("register %s is declared twice", v.Name)
			}
		}
		at := -1
		for i := range r.groups {
			if r.groups[i].prefix == v.Name && r.groups[i].count >= v.Count && (r.groups[i].count == 0) == (v.Count == 0) {
				at = i
			}
		}
		if at < 0 {
			at = len(r.groups)
			g := group{v.Name, v.Count, len(r.state)}
			r.groups = append(r.groups, g)
			r.state = append(r.state, make([]uint8, max(v.Count, 1))...)
			if old != nil && r.same == g.base && at < len(old.groups) && old.groups[at] == g {
				r.same = len(r.state)
			}
		}
		sight = append(sight, declared{at, v.Count})
		return nil
	}
	// number returns a register's number, -1 for what is no declared register.
	number := func(name []byte) int {
		prefix, n := split(name)
		for i := len(sight) - 1; i >= 0; i-- {
			g := &r.groups[sight[i].group]
			if sight[i].count == 0 {
				if string(name) == g.prefix {
					return g.base
				}
			} else if n >= 0 && n < sight[i].count && string(prefix) == g.prefix {
				return g.base + n
			}
		}
		return -1
	}
	// isFresh tells whether old has no register of that name, and gives it a bit.
	isFresh := func(name []byte, number int) (int, bool) {
		if bit, ok := r.bits[number]; ok {
			return bit, bit >= 0
		}
		bit := -1
		if !old.has(name) {
			bit = r.next
			r.next++
		}
		if r.bits == nil {
			r.bits = make(map[int]int)
		}
		r.bits[number] = bit
		return bit, bit >= 0
	}
	tooMany := false
	for i, s := range f.Stmts {
		switch s.Kind {
		case ptx.Open:
			marks = append(marks, len(sight))
		case ptx.Close:
			sight = sight[:marks[len(marks)-1]]
			marks = marks[:len(marks)-1]
		case ptx.Decl:
			if string(f.Opcode(i)) != ".reg" {
				continue
			}
			vars, err := f.Declared(i)
			if err != nil {
				return err
			}
			for _, v := range vars {
				if v.Count > maxRange {
					return fmt.Errorf("register range %s<%d> is larger than any function's", v.Name, v.Count)
				}
				if err := declare(v); err != nil {
					return err
				}
			}
		case ptx.Inst:
			if r.some && !marked[i] {
				continue
			}
			use := freshUse{stmt: i}
			f.Effects(i, func(reg ptx.Span, read, write bool) {
				name := f.Bytes(reg)
				n := number(name)
				if n < 0 {
					if name[0] == '%' && !special(name) {
						if r.unknown == nil {
							r.unknown = make(map[string]bool)
						}
						r.unknown[string(name)] = true
					}
					return
				}
				if read {
					r.state[n] |= readBit
				}
				if write {
					r.state[n] |= writeBit
				}
				if old == nil || n < r.same {
					return
				}
				bit, ok := isFresh(name, n)
				switch {
				case !ok:
				case bit >= 64:
					tooMany = true
				default:
					if read {
						use.reads |= 1 << bit
					}
					if write && !s.Guarded {
						use.writes |= 1 << bit
					}
				}
			})
			if use.reads|use.writes != 0 {
				r.fresh = append(r.fresh, use)
			}
		}
	}
	if tooMany {
		return fmt.Errorf("there are more than 64 new registers, more than the verifier follows")
	}
	return nil
}

// maxRange bounds a register range: nvcc's largest functions have some hundred thousand.
const maxRange = 1 << 24

// has tells whether there is a register of that name in any scope.
func (r *registers) has(name []byte) bool {
	prefix, n := split(name)
	for i := range r.groups {
		g := &r.groups[i]
		if g.count == 0 && g.prefix == string(name) || n >= 0 && n < g.count && g.prefix == string(prefix) {
			return true
		}
	}
	return false
}

// split cuts the number off a register's name: %r12 is %r, 12. n is -1 where there is none.
func split(name []byte) (prefix []byte, n int) {
	i, factor := len(name), 1
	for i > 0 && name[i-1] >= '0' && name[i-1] <= '9' && factor < 1e9 {
		n += int(name[i-1]-'0') * factor
		factor *= 10
		i--
	}
	if i == len(name) || i+1 < len(name) && name[i] == '0' {
		return name, -1
	}
	return name[:i], n
}

// special tells PTX's own registers by their form, since the list grows with every ISA: they have a dimension (%tid.x) or
// a long name (%laneid, %clock64).
func special(name []byte) bool {
	for _, c := range name {
		if c == '.' {
			return true
		}
	}
	return len(name) > 4
}

// defined checks that each new register is written on every way to each read: a forward data flow over bit sets, where a
// guarded write does not count.
func (r *registers) defined(f *ptx.Func, blocks []ptx.Block) error {
	if len(r.fresh) == 0 {
		return nil
	}
	first := make([]int, len(blocks)+1) // a block's uses begin here in r.fresh
	for i, at := 0, 0; i <= len(blocks); i++ {
		for i < len(blocks) && at < len(r.fresh) && r.fresh[at].stmt < blocks[i].First {
			at++
		}
		first[i] = at
		if i == len(blocks) {
			first[i] = len(r.fresh)
		}
	}
	in := make([]uint64, len(blocks))
	for i := range in {
		in[i] = ^uint64(0)
	}
	in[0] = 0
	for changed := true; changed; {
		changed = false
		for i, b := range blocks {
			out := in[i]
			for _, u := range r.fresh[first[i]:first[i+1]] {
				out |= u.writes
			}
			for _, s := range b.Succs {
				if in[s]&out != in[s] {
					in[s] &= out
					changed = true
				}
			}
		}
	}
	for i := range blocks {
		set := in[i]
		for _, u := range r.fresh[first[i]:first[i+1]] {
			if missing := u.reads &^ set; missing != 0 {
				s := f.Stmts[u.stmt]
				return fmt.Errorf("register %s may be read before it is written: %s", r.named(missing), f.Text()[s.Start:s.End])
			}
			set |= u.writes
		}
	}
	return nil
}

// named returns the name of a register in a bit set.
func (r *registers) named(set uint64) string {
	for number, bit := range r.bits {
		if bit < 0 || bit > 63 || set&(1<<bit) == 0 {
			continue
		}
		for i := range r.groups {
			if g := &r.groups[i]; number >= g.base && number < g.base+max(g.count, 1) {
				return g.name(number - g.base)
			}
		}
	}
	return "?"
}
