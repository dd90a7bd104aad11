package emulate

import (
	"encoding/binary"
	"errors"
)

// Loads, stores, atomic operations. Threads of a warp do them one after another, in the order of
// their numbers.

var memoryOps = map[uint16]func(*decoder, *inst){
	0x180: load, 0x181: load, 0x183: load, 0x184: load, 0x185: store, 0x186: store, 0x187: store,
	0x188: store, 0x182: ldc, 0x0b9: ldc, 0x0bb: ldc, 0x18a: atom, 0x1a8: atom, 0x1a3: atom,
	0x18e: atom,
	0x1a6: atom, 0x18c: atom, 0x18b: cas, 0x1a9: cas, 0x18d: cas, 0x119: s2r, 0x1c3: s2ur, 0x005: cs2r,
}

// A space is where an address leads.
type space uint8

const (
	global space = iota
	generic
	shared
	local
)

func (d *decoder) space() space {
	switch d.code() {
	case 0x180, 0x185, 0x18a, 0x18b:
		return generic
	case 0x183, 0x187:
		return local
	case 0x184, 0x188, 0x18c, 0x18d:
		return shared
	}
	return global
}

// reach finds size bytes at an address of a thread.
func (w *warp) reach(s space, l int, at uint64, size int) []byte {
	if s == generic {
		switch {
		case at-sharedWindow < windowSize:
			s, at = shared, at-sharedWindow
		case at-localWindow < windowSize:
			s, at = local, at-localWindow
		}
	}
	var from []byte
	switch s {
	case shared:
		from, at = w.block.shared, uint64(uint32(at))
		if k := w.block.launch.program.Facts; at < uint64(k.Reserved) {
			w.fault("shared memory at %#x is reserved", at)
			return nil
		}
	case local:
		if w.local[l] == nil {
			w.local[l] = make([]byte, w.block.launch.stack)
		}
		from, at = w.local[l], uint64(uint32(at))
	default:
		b, err := w.block.launch.memory.at(at, size)
		if err != nil {
			w.fault("%v", err)
			return nil
		}
		return b
	}
	if at+uint64(size) > uint64(len(from)) || at%uint64(size) != 0 {
		w.fault("%d bytes at %#x of shared or local memory, which has %d", size, at, len(from))
		return nil
	}
	return from[at : at+uint64(size)]
}

// address reads an access's address: a register, a uniform one, and a distance. The uniform one
// stands at bit 32 of loads, else at bit 64. For global memory it is a descriptor where bit 76
// of loads and stores says so, and with atomic operations always.
func (d *decoder) address(s space, uniformAt uint, atomic bool) func(w *warp, l int) uint64 {
	by := uint64(d.signed(40, 24))
	n := arg{n: int(d.bits(24, 8))}
	has := d.bit(91)
	described := has && s <= generic && (atomic || d.bit(76))
	var base func(w *warp) uint64
	if has {
		u := d.uniformAt(uniformAt)
		base = func(w *warp) uint64 { return uint64(w.u[u]) }
		switch {
		case described:
			base = func(w *warp) uint64 {
				if uint64(w.u[u+1])<<32|uint64(w.u[u]) != descriptor {
					// one with a cache policy, say
					w.stop(unknown{errors.New("its descriptor is not the kernel's")})
				}
				return 0
			}
		case s <= generic:
			base = func(w *warp) uint64 { return uint64(w.u[u+1])<<32 | uint64(w.u[u]) }
		}
		if (described || s <= generic) && u%2 != 0 && u != noUniform {
			d.refuse("a pair of registers begins with %d", u)
		}
	}
	narrow := func(w *warp, l int) uint64 { return uint64(w.r[l][n.n]) }
	if s <= generic {
		if d.bit(72) && (!has || atomic || d.bit(90)) {
			narrow = d.pair(n, nil)
		} else if !has {
			d.refuse("an address of 32 bits is not known")
		}
	}
	return func(w *warp, l int) uint64 {
		at := narrow(w, l) + by
		if base != nil {
			at += base(w)
		}
		return at
	}
}

// sizes are bytes by bits 73 to 75 of plain accesses; of the first four two are with a sign.
var sizes = [...]int{1, 1, 2, 2, 4, 8, 16, 0}

// plain reads what says how caches treat an access to global memory.
func (d *decoder) plain(s space) {
	if s <= generic {
		d.skip(68, 2) // how much L2 fetches
		d.skip(77, 4) // order and scope
		d.want(70, 2, 0)
	}
	d.skip(84, 3) // what is evicted first
}

// moves reads what a load and a store have alike: of how many bytes it is, from register n on, and
// how caches treat it. It is false where the instruction is refused.
func (d *decoder) moves(s space, n, size int) bool {
	d.plain(s)
	if size == 0 || n != none && size > 4 && n%(size/4) != 0 {
		d.refuse("its registers are not known")
		return false
	}
	return true
}

func load(d *decoder, i *inst) {
	s, kind := d.space(), d.bits(73, 3)
	at, n, size := d.address(s, 32, false), int(d.bits(16, 8)), sizes[kind]
	if !d.moves(s, n, size) {
		return
	}
	i.lane = func(w *warp, l int) {
		b := w.reach(s, l, at(w, l), size)
		for k := 0; 4*k < len(b) && n != none; k++ {
			w.set(l, n+k, uint32(extended(kind, little(b[4*k:min(4*k+4, size)]))))
		}
	}
}

func store(d *decoder, i *inst) {
	s, size := d.space(), sizes[d.bits(73, 3)]
	at, n := d.address(s, 64, false), int(d.bits(32, 8))
	if !d.moves(s, n, size) {
		return
	}
	i.lane = func(w *warp, l int) {
		b := w.reach(s, l, at(w, l), size)
		if b == nil {
			return
		}
		if s <= generic {
			w.block.launch.memory.stored(at(w, l), size)
		}
		for k := 0; 4*k < size; k++ {
			v := uint32(0)
			if n != none {
				v = w.r[l][n+k]
			}
			setLittle(b[4*k:min(4*k+4, size)], uint64(v))
		}
	}
}

// little is a number of 1, 2, 4 or 8 bytes in memory.
func little(b []byte) uint64 {
	switch len(b) {
	case 1:
		return uint64(b[0])
	case 2:
		return uint64(binary.LittleEndian.Uint16(b))
	case 4:
		return uint64(binary.LittleEndian.Uint32(b))
	}
	return binary.LittleEndian.Uint64(b)
}

func setLittle(b []byte, v uint64) {
	for n := range b {
		b[n] = byte(v >> (8 * n))
	}
}

// extended is a number with its sign, where the kind of an access has one.
func extended(kind, v uint64) uint64 {
	switch kind {
	case 1:
		return uint64(int64(int8(v)))
	case 3:
		return uint64(int64(int16(v)))
	}
	return v
}

// ldc: LDC, ULDC, and ULDC with an index, read a constant bank.
func ldc(d *decoder, i *inst) {
	kind := d.bits(73, 3)
	size := sizes[kind]
	bank, at, index := int(d.bits(54, 5)), int(d.signed(38, 16)), fixed(0)
	if d.code() != 0x0b9 {
		index = d.raw(d.a())
	}
	if size == 0 || size > 8 || !d.scalar() && d.Form() != 5 {
		d.refuse("its width is not known")
		return
	}
	to := d.result(size == 8)
	i.lane = func(w *warp, l int) {
		to(w, l, extended(kind, w.constant(bank, at+int(int32(index(w, l))), size)))
	}
}

// A cell is what an atomic operation works on.
type cell struct {
	size          int
	signed, float bool
	f             format
	flushes       bool
}

// kindOf is the type of an atomic operation.
func (d *decoder) kindOf() cell {
	if d.code() == 0x1a3 || d.code() == 0x1a6 {
		switch d.bits(73, 4) {
		case 9:
			return cell{size: 4, float: true, f: single, flushes: true}
		case 15:
			return cell{size: 8, float: true, f: double}
		}
		d.refuse("its type is not known")
		return cell{size: 4}
	}
	n := d.bits(73, 4)
	if n > 3 {
		d.refuse("its type %d is not known", n)
	}
	return cell{size: 4 << (n >> 1 & 1), signed: n&1 == 1}
}

// operate is what is stored where old was.
func (c cell) operate(op uint64, old, v uint64) uint64 {
	less := old < v
	if c.signed && c.size == 8 {
		less = int64(old) < int64(v)
	} else if c.signed {
		less = int32(old) < int32(v)
	}
	switch op {
	case 0:
		if !c.float {
			return old + v
		}
		if c.flushes {
			return c.f.flush(c.f.add(c.f.flush(old), c.f.flush(v), nearest))
		}
		return c.f.add(old, v, nearest)
	case 1:
		if less {
			return old
		}
		return v
	case 2:
		if less {
			return v
		}
		return old
	case 3: // INC
		if old >= v {
			return 0
		}
		return old + 1
	case 4: // DEC
		if old == 0 || old > v {
			return v
		}
		return old - 1
	case 5:
		return old & v
	case 6:
		return old | v
	case 7:
		return old ^ v
	}
	return v // EXCH
}

// atom: ATOM, ATOMG, ATOMS, and RED, which gives nothing back.
func atom(d *decoder, i *inst) {
	s, c := d.space(), d.kindOf()
	reduces := d.code() == 0x18e || d.code() == 0x1a6
	at := d.address(s, 64, true)
	if s <= generic {
		d.skip(77, 4)
		d.skip(70, 2)
	}
	d.skip(84, 3)
	var op uint64
	if reduces {
		op = d.bits(87, 3)
		d.skip(90, 1)
	} else {
		op = d.bits(87, 4)
		d.want(81, 3, 7)
	}
	if op > 8 || c.float && op != 0 {
		d.refuse("its operation %d is not known", op)
	}
	data := arg{n: int(d.bits(32, 8))}
	n := int(d.Bits(16, 8))
	if reduces {
		n = none
	} else {
		d.bits(16, 8)
	}
	v := d.wide(data, c.size)
	if d.code() == 0x18c && d.Form() == 7 { // ATOMS.POPC.INC: adds 1
		d.skip(16, 8)
		v, op, at = func(*warp, int) uint64 { return 1 }, 0, d.address(s, 64, true)
	}
	i.warp = func(w *warp, on uint32) error {
		for l := range lanes(on) {
			b := w.reach(s, l, at(w, l), c.size)
			if b == nil {
				break
			}
			old, new := little(b), v(w, l)
			setLittle(b, c.operate(op, old, new))
			w.put(l, n, old, c.size)
		}
		return nil
	}
}

// wide is a datum of one register or two.
func (d *decoder) wide(a arg, size int) source64 {
	if size == 8 {
		return d.pair(a, nil)
	}
	x := d.raw(a)
	return func(w *warp, l int) uint64 { return uint64(x(w, l)) }
}

// put writes one register or two.
func (w *warp) put(l, n int, v uint64, size int) {
	w.set(l, n, uint32(v))
	if size == 8 && n != none {
		w.set(l, n+1, uint32(v>>32))
	}
}

// cas: compare and swap. ATOMS.CAST.SPIN tells whether it has swapped.
func cas(d *decoder, i *inst) {
	s := d.space()
	size := 4 << (d.bits(73, 4) >> 1 & 1)
	at := d.address(s, 255, true)
	if d.bit(91) {
		d.refuse("an address in a uniform register is not known")
	}
	if s <= generic {
		d.skip(77, 4)
		d.want(81, 3, 7)
	}
	d.skip(84, 3)
	tells := d.bits(87, 2) == 3
	if !tells {
		d.want(87, 4, 0)
	}
	compare := d.wide(arg{n: int(d.bits(32, 8))}, size)
	swap := d.wide(arg{n: int(d.bits(64, 8))}, size)
	n := int(d.bits(16, 8))
	i.warp = func(w *warp, on uint32) error {
		for l := range lanes(on) {
			b := w.reach(s, l, at(w, l), size)
			if b == nil {
				break
			}
			old, with, new := little(b), compare(w, l), swap(w, l)
			if old == with {
				setLittle(b, new)
			}
			if tells {
				old = boolean(old == with)
			}
			w.put(l, n, old, size)
		}
		return nil
	}
}

// specials are the special registers, by number.
var specials = map[uint64]source{
	0x00: func(_ *warp, l int) uint32 { return uint32(l) },
	0x21: threadAt(0), 0x22: threadAt(1), 0x23: threadAt(2),
	0x25: blockAt(0), 0x26: blockAt(1), 0x27: blockAt(2),
	0x2f: fixed(sharedWindow >> 32),
	0x38: func(_ *warp, l int) uint32 { return 1 << l },
	0x39: func(_ *warp, l int) uint32 { return 1<<l - 1 },
	0x3a: func(_ *warp, l int) uint32 { return 2<<l - 1 },
	0x3b: func(_ *warp, l int) uint32 { return ^uint32(2<<l - 1) },
	0x3c: func(_ *warp, l int) uint32 { return ^uint32(1<<l - 1) },
	0x43: fixed(5), // the multiprocessor: there is one
	0x88: fixed(0), // the block's number in its cluster
	0xff: fixed(0), // SRZ
}

func threadAt(n int) source {
	return func(w *warp, l int) uint32 { return uint32(within(w.block.launch.Block, w.first+l)[n]) }
}

func blockAt(n int) source {
	return func(w *warp, _ int) uint32 { return uint32(w.block.at[n]) }
}

// special reads a special register.
func (d *decoder) special() source {
	n := d.bits(72, 8)
	if specials[n] == nil {
		d.refuse("special register %#x is not known", n)
	}
	return specials[n]
}

func s2r(d *decoder, i *inst) {
	to, x := d.to(), d.special()
	i.lane = func(w *warp, l int) { to(w, l, x(w, l)) }
}

func s2ur(d *decoder, i *inst) {
	n, x := d.uniformAt(16), d.special()
	i.once = true
	i.lane = func(w *warp, l int) { w.setUniform(n, x(w, l)) }
}

func cs2r(d *decoder, i *inst) {
	x := d.special()
	n, pair := int(d.bits(16, 8)), d.bit(80)
	i.lane = func(w *warp, l int) {
		size := 4
		if pair {
			size = 8
		}
		w.put(l, n, uint64(x(w, l)), size)
	}
}
