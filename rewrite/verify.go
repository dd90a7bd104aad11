package rewrite

import (
	"fmt"
	"slices"

	"gnvcc/rewrite/pass"
	"gnvcc/rewrite/ptx"
)

// The verifier: what must hold of a kernel after the passes, whatever they did. ptxas checks forms;
// this checks what ptxas takes silently (a register that is read before it is written), and what it
// would report by a line of a file that the user never saw.
//
//   - braces balance and statements end (the parser saw to it at Commit)
//   - every label that a branch names is in sight, once
//   - no register is declared twice in one scope
//   - every register that is named was declared, as far as it was before the passes
//   - in statements that the passes brought in or changed, registers have the width of the
//     instruction's type (fits.go)
//   - a register that the passes brought in is written on every way to each place where it is read;
//     one that was there and was written somewhere still is
func verify(before, after *ptx.Func) error {
	gone, come := differences(before, after)
	var old, now registers
	if err := old.read(before, nil, gone); err != nil {
		return err
	}
	if err := now.read(after, &old, come); err != nil {
		return err
	}
	// by the statements that are others; by all of them?
	if len(now.unknown) > 0 || now.lost(&old) != "" {
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
	if len(now.fresh) == 0 && !branches(before, gone) && !branches(after, come) {
		return nil
	}
	blocks, err := after.Blocks()
	if err != nil {
		return err
	}
	return now.defined(after, blocks)
}

// branches tells whether there are labels or branches among the marked statements, nil: all. Where
// there are none, branches land as they did before.
func branches(f *ptx.Func, marked []bool) bool {
	if marked == nil {
		return true
	}
	for i, is := range marked {
		if !is {
			continue
		}
		switch f.Stmts[i].Kind {
		case ptx.Label, ptx.Direction, ptx.Open, ptx.Close:
			return true
		case ptx.Inst:
			if b := f.Base(i); string(b) == "bra" || string(b) == "brx" {
				return true
			}
		}
	}
	return false
}

// lost names a register that was written in the other function and is not in this one, though read;
// "" for none. Where only some statements were read it is not known what the others read.
func (r *registers) lost(old *registers) string {
	for i := range r.groups {
		g := &r.groups[i]
		o, ok := old.find(g.prefix)
		if !ok {
			continue
		}
		for n := 0; n < max(g.count, 1) && n < max(o.count, 1); n++ {
			if s := r.state[g.base+n]; s&writeBit == 0 && old.state[o.base+n]&writeBit != 0 &&
				(r.some || s&readBit != 0) {
				return g.name(n)
			}
		}
	}
	return ""
}

// differences marks the statements that stand in one of two functions only. Passes leave most
// statements as they are, and what these do to registers need not be looked at. Found by walking
// along both: marking too many is no error. nil: look at all, since a scope or the declaration of a
// register went, or a scope came, and names may mean other registers.
func differences(before, after *ptx.Func) (gone, come []bool) {
	// statements, in both together, over which a place where the two agree again is looked for
	const far = 40
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
			if s := after.Stmts[j]; s.Kind == ptx.Open || s.Kind == ptx.Close || s.Kind == ptx.Decl &&
				s.Depth > 0 {
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

// registers holds what is known of a function's registers. They are numbered: a declaration %r<10>
// is a group of ten. The same name declared in several scopes counts as one group, which is enough
// for the questions above.
type registers struct {
	groups  []group
	state   []uint8         // by number: readBit, writeBit
	unknown map[string]bool // named, not declared, no special register
	some    bool            // not all statements were looked at

	// what the passes brought in: registers that the other function does not have
	fresh []freshUse
	// number of a register -> its index among the new ones, -1: the other function has it
	bits map[int]int
	next int // the next free index
	// registers with lower numbers are the other function's, by the same numbers: usually all of those
	same int
}

type group struct {
	prefix string
	count  int // 0: one register of exactly this name
	base   int // number of its first register
	bits   int // width of each, predBits for predicates
}

func (g *group) name(n int) string {
	if g.count == 0 {
		return g.prefix
	}
	return fmt.Sprintf("%s%d", g.prefix, n)
}

// A freshUse is what a statement does to a new register. A guarded write is none.
type freshUse struct {
	stmt, index int
	read, write bool
}

func (r *registers) find(prefix string) (*group, bool) {
	for i := range r.groups {
		if r.groups[i].prefix == prefix {
			return &r.groups[i], true
		}
	}
	return nil, false
}

// A registerReader goes through a function once.
type registerReader struct {
	*registers
	f     *ptx.Func
	old   *registers // what is compared with, nil: nothing
	sight ptx.Sight
}

// read reads a function's declarations and the statements that are marked, nil: all. With old
// given, it notes the uses of registers that old does not have.
func (r *registers) read(f *ptx.Func, old *registers, marked []bool) error {
	r.some = marked != nil
	p := registerReader{registers: r, f: f, old: old}
	for i, s := range f.Stmts {
		switch s.Kind {
		case ptx.Open:
			p.sight.Open()
		case ptx.Close:
			p.sight.Close()
		case ptx.Decl:
			if string(f.Opcode(i)) != ".reg" {
				continue
			}
			vars, err := f.Declared(i)
			if err != nil {
				return err
			}
			for _, v := range vars {
				if err := p.declare(v); err != nil {
					return err
				}
			}
		case ptx.Inst:
			if r.some && !marked[i] {
				continue
			}
			f.Effects(i, func(reg ptx.Span, read, write bool) { p.use(i, f.Bytes(reg), read, write) })
			if old != nil && r.some {
				if err := fits(f, i, p.width); err != nil {
					return err
				}
			}
		}
	}
	return nil
}

// declare numbers a declaration's registers.
func (p *registerReader) declare(v ptx.Variable) error {
	if p.sight.Twice(&v) {
		return fmt.Errorf("register %s is declared twice", v.Name)
	}
	at := -1
	for i := range p.groups {
		if g := &p.groups[i]; g.prefix == v.Name && g.count >= v.Count &&
			(g.count == 0) == (v.Count == 0) {
			at = i
		}
	}
	isNew := at < 0
	if isNew {
		at = len(p.groups)
	}
	if err := p.sight.Declare(&v, at); err != nil { // also: a range that is too large
		return err
	}
	if isNew {
		g := group{v.Name, v.Count, len(p.state), pass.BitsOf(v.Type)}
		p.groups = append(p.groups, g)
		p.state = append(p.state, make([]uint8, max(v.Count, 1))...)
		if old := p.old; old != nil && p.same == g.base && at < len(old.groups) && old.groups[at] == g {
			p.same = len(p.state)
		}
	}
	return nil
}

// number returns a register's number, -1 for what is no declared register.
func (p *registerReader) number(name []byte) int {
	if g, n, ok := p.sight.Find(name); ok {
		return p.groups[g].base + n
	}
	return -1
}

// width is a register's in bits, 0 for what is no declared register.
func (p *registerReader) width(name []byte) int {
	if n := p.number(name); n >= 0 {
		for _, v := range slices.Backward(p.groups) {
			if v.base <= n {
				return v.bits
			}
		}
	}
	return 0
}

// isFresh tells whether old has no register of that name, and gives it an index.
func (p *registerReader) isFresh(name []byte, number int) (int, bool) {
	if index, ok := p.bits[number]; ok {
		return index, index >= 0
	}
	index := -1
	if !p.old.has(name) {
		index = p.next
		p.next++
	}
	if p.bits == nil {
		p.bits = make(map[int]int)
	}
	p.bits[number] = index
	return index, index >= 0
}

// use notes what a statement does to a register.
func (p *registerReader) use(i int, name []byte, read, write bool) {
	n := p.number(name)
	if n < 0 {
		if name[0] == '%' && !special(name) {
			if p.unknown == nil {
				p.unknown = make(map[string]bool)
			}
			p.unknown[string(name)] = true
		}
		return
	}
	if read {
		p.state[n] |= readBit
	}
	if write {
		p.state[n] |= writeBit
	}
	if p.old == nil || n < p.same {
		return
	}
	if index, ok := p.isFresh(name, n); ok {
		written := write && (!p.f.Stmts[i].Guarded || otherHalf(p.f, i, name))
		p.fresh = append(p.fresh, freshUse{i, index, read, written})
	}
}

// otherHalf tells whether the statement in front of a guarded one writes the same register under
// the opposite guard, as bypass does: together they always write it.
func otherHalf(f *ptx.Func, i int, name []byte) bool {
	if i == 0 || f.Stmts[i-1].Kind != ptx.Inst {
		return false
	}
	this, negated := f.Guard(i)
	other, otherwise := f.Guard(i - 1)
	if other == nil || string(this) != string(other) || negated == otherwise {
		return false
	}
	same := false
	f.Effects(i-1, func(reg ptx.Span, read, write bool) {
		same = (same || write && string(f.Bytes(reg)) == string(name)) &&
			!(write && string(f.Bytes(reg)) == string(this))
	})
	return same
}

// has tells whether there is a register of that name in any scope.
func (r *registers) has(name []byte) bool {
	cut, n := ptx.SplitNumber(name)
	for i := range r.groups {
		g := &r.groups[i]
		if g.count == 0 && g.prefix == string(name) || n >= 0 && n < g.count &&
			g.prefix == string(name[:cut]) {
			return true
		}
	}
	return false
}

// special tells PTX's own registers by their form, since the list grows with every ISA: they have a
// dimension (%tid.x) or a long name (%laneid, %clock64).
func special(name []byte) bool {
	if slices.Contains(name, '.') {
		return true
	}
	return len(name) > 4
}

// defined checks that each new register is written on every way to each read, where a guarded write
// does not count. Most new registers occur in one block only: there the order of the text tells.
// For the others there is a forward data flow, 64 of them at a time as one bit set.
func (r *registers) defined(f *ptx.Func, blocks []ptx.Block) error {
	if len(r.fresh) == 0 {
		return nil
	}
	first := make([]int, len(blocks)+1) // a block's uses begin here in r.fresh
	const several = -2
	home := make([]int, r.next) // the block of a new register
	for i := range home {
		home[i] = -1
	}
	at := 0
	for i := range blocks {
		first[i] = at
		for ; at < len(r.fresh) && r.fresh[at].stmt < blocks[i].Last; at++ {
			if h := &home[r.fresh[at].index]; *h == -1 {
				*h = i
			} else if *h != i {
				*h = several
			}
		}
	}
	first[len(blocks)] = at
	var wide []int // registers of several blocks
	written := make([]bool, r.next)
	for index, h := range home {
		if h == several {
			wide = append(wide, index)
		}
	}
	// statement by statement: an instruction reads before it writes
	for from, u := 0, 0; u < len(r.fresh); from = u {
		for ; u < len(r.fresh) && r.fresh[u].stmt == r.fresh[from].stmt; u++ {
			if x := r.fresh[u]; x.read && home[x.index] != several && !written[x.index] {
				return r.unwritten(f, x)
			}
		}
		for _, x := range r.fresh[from:u] {
			written[x.index] = written[x.index] || x.write
		}
	}
	for ; len(wide) > 0; wide = wide[min(64, len(wide)):] {
		if err := r.onEveryWay(f, blocks, first, wide[:min(64, len(wide))]); err != nil {
			return err
		}
	}
	return nil
}

// onEveryWay solves the data flow for up to 64 new registers.
func (r *registers) onEveryWay(f *ptx.Func, blocks []ptx.Block, first, wide []int) error {
	bit := make([]uint64, r.next)
	for n, index := range wide {
		bit[index] = 1 << n
	}
	in, writes := make([]uint64, len(blocks)), make([]uint64, len(blocks))
	for i := range in {
		in[i] = ^uint64(0)
		for _, u := range r.fresh[first[i]:first[i+1]] {
			if u.write {
				writes[i] |= bit[u.index]
			}
		}
	}
	in[0] = 0
	for changed := true; changed; {
		changed = false
		for i, b := range blocks {
			out := in[i] | writes[i]
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
		list := r.fresh[first[i]:first[i+1]]
		for from, u := 0, 0; u < len(list); from = u {
			for ; u < len(list) && list[u].stmt == list[from].stmt; u++ {
				if x := list[u]; x.read && bit[x.index]&^set != 0 {
					return r.unwritten(f, x)
				}
			}
			for _, x := range list[from:u] {
				if x.write {
					set |= bit[x.index]
				}
			}
		}
	}
	return nil
}

func (r *registers) unwritten(f *ptx.Func, u freshUse) error {
	s := f.Stmts[u.stmt]
	return fmt.Errorf("register %s may be read before it is written: %s", r.named(u.index),
		f.Text()[s.Start:s.End])
}

// named returns the name of a new register.
func (r *registers) named(index int) string {
	for number, i := range r.bits {
		if i != index {
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
