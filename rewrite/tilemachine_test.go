package rewrite

import (
	"encoding/binary"
	"fmt"
	"math"
	"math/rand"
	"slices"
	"strconv"
	"strings"

	"gnvcc/rewrite/pass"
	"gnvcc/rewrite/ptx"
)

// A small interpreter of a block of threads, for tests that run a kernel before and after a pass.
// The threads run one after the other, in any order, from barrier to barrier. It knows integers,
// f32 additions and products, loads and stores, and nothing more: what it does not know is an
// error.
//
// Global memory has no end: what was not stored has a value that its address gives. What a kernel
// reads is noted, byte by byte, so that two can be compared. In shared memory a byte that one
// thread writes and another touches without a barrier in between is an error, and so are bytes that
// nobody wrote, places behind the arrays, and a barrier to which not all threads come.

type tileMachine struct {
	f        *ptx.Func
	block    [3]int
	ctaid    [3]int
	nctaid   [3]int
	params   map[string]uint64
	global   map[uint64]byte   // what was stored
	read     map[uint64]uint16 // what was loaded: a bit a byte, by 16 bytes
	shared   []byte
	touched  []tileTouch
	arrays   map[string]uint64
	dynamic  int
	rng      *rand.Rand
	stmts    []tileInst
	labels   map[string]int
	names    map[string]int // of registers, from 1
	barriers int
	fromTile int // loads from shared memory
	fromFar  int // loads from global memory
	toNear   int // stores to shared memory

	// strays: a register that was not written holds a value of its thread's own, so that a stale one
	// shows; else reading it is an error.
	strays bool
	// slots: of each access to shared memory the threads of a warp, which do it together, use
	// neighbouring banks. first holds, by statement, where the first thread's slot is.
	slots bool
	first map[int]uint64

	// zeros: a register that was not written holds 0. log: stores to global memory, as text, not nil.
	zeros bool
	log   []string

	own bool // the access at hand is to local memory

	// part: so many threads in a row are a block of their own, which shares nothing with the others
	// and whose barriers are bar.warp.sync of its lanes; 0: all of them.
	part int
	// ended: a barrier does not wait for threads that have ended; else that is an error.
	ended bool
}

// threads from 1, epochs, and the last thread
type tileTouch struct{ writer, reader, wrote, loaded, last int }

type tileInst struct {
	words   []string
	ops     []string
	args    []tileOperand
	guard   int                      // a register, 0: none
	gives   func(v [4]uint64) uint64 // what it computes; found when it first runs
	negated bool
	text    string
}

// A tileOperand is a register, a number, or a number of a launch.
type tileOperand struct {
	kind  byte // 'r', 'n', 't' for %tid and so on, 0: something else
	reg   int
	value uint64
	axis  int
}

type tileThread struct {
	regs    []uint64
	written []bool
	at      int
	tid     [3]int
	number  int
	done    bool
	local   map[uint64]byte
	handed  map[string]uint64 // to the function that is called next, and by it
	waits   int               // the statement of the barrier, -1: none
	epoch   int               // barriers so far
	carry   uint64
}

func newTileMachine(f *ptx.Func, block [3]int, dynamic int) (*tileMachine, error) {
	m := &tileMachine{f: f, block: block, labels: map[string]int{}, dynamic: dynamic,
		names:  map[string]int{},
		arrays: map[string]uint64{}, global: map[uint64]byte{}, read: map[uint64]uint16{},
		first: map[int]uint64{}, rng: rand.New(rand.NewSource(7))}
	size := 0
	for i, s := range f.Stmts {
		one := tileInst{text: string(f.Text()[s.Start:s.End])}
		switch s.Kind {
		case ptx.Label:
			m.labels[string(f.Opcode(i))] = i
		case ptx.Decl:
			if string(f.Opcode(i)) == ".shared" {
				vars, err := f.Declared(i)
				if err != nil {
					return nil, err
				}
				for _, v := range vars {
					size = (size + max(v.Align, 16) - 1) / max(v.Align, 16) * max(v.Align, 16)
					m.arrays[v.Name] = uint64(size)
					size += v.Size()
				}
			}
			if string(f.Opcode(i)) == ".local" {
				vars, err := f.Declared(i)
				if err != nil || len(vars) != 1 {
					return nil, fmt.Errorf("local memory: %v", err)
				}
				m.arrays[vars[0].Name] = 0
			}
		case ptx.Inst:
			one.words = strings.Split(string(f.Opcode(i)), ".")
			for _, o := range f.Operands(i, nil) {
				one.ops = append(one.ops, string(f.Bytes(o)))
			}
			if g, negated := f.Guard(i); g != nil {
				one.guard, one.negated = m.register(string(g)), negated
			}
		}
		m.stmts = append(m.stmts, one)
	}
	if dynamic > 0 {
		m.arrays["near"] = uint64(size) // what tests call a dynamic array
	}
	for i := range m.stmts {
		for _, o := range m.stmts[i].ops {
			m.stmts[i].args = append(m.stmts[i].args, m.operand(o))
		}
	}
	if size+dynamic > pass.SharedLimit {
		return nil, fmt.Errorf("%d bytes of shared memory", size+dynamic)
	}
	m.shared, m.touched = make([]byte, size+dynamic), make([]tileTouch, size+dynamic)
	return m, nil
}

// register is a register's number.
func (m *tileMachine) register(name string) int {
	n, ok := m.names[name]
	if !ok {
		n = len(m.names) + 1
		m.names[name] = n
	}
	return n
}

// operand reads an operand that is no address.
func (m *tileMachine) operand(o string) tileOperand {
	if special, axis, ok := strings.Cut(o, "."); ok && o[0] == '%' {
		return tileOperand{kind: special[1], reg: len(special), axis: strings.Index("xyz", axis)}
	}
	if o[0] == '%' || o == "t" { // t: the register of the generators' inner scopes
		return tileOperand{kind: 'r', reg: m.register(o)}
	}
	array, offset, _ := strings.Cut(o, "+")
	if at, ok := m.arrays[array]; ok {
		n, err := strconv.Atoi(offset)
		if offset != "" && err != nil {
			return tileOperand{}
		}
		return tileOperand{kind: 'v', value: at + uint64(n)}
	}
	if hex, ok := strings.CutPrefix(o, "0f"); ok {
		n, _ := strconv.ParseUint(hex, 16, 32)
		return tileOperand{kind: 'v', value: n}
	}
	if n, err := strconv.ParseInt(o, 0, 64); err == nil {
		return tileOperand{kind: 'v', value: uint64(n)}
	}
	n, err := strconv.ParseUint(o, 0, 64)
	if err != nil {
		return tileOperand{}
	}
	return tileOperand{kind: 'v', value: n}
}

// run runs all blocks of a grid, one after the other, and calls each with what it has read.
func (m *tileMachine) run(grid [3]int, each func(read map[uint64]uint16)) error {
	m.nctaid = grid
	for b := range grid[0] * grid[1] * grid[2] {
		m.ctaid = [3]int{b % grid[0], b / grid[0] % grid[1], b / grid[0] / grid[1]}
		clear(m.read)
		clear(m.touched)
		if err := m.one(); err != nil {
			return fmt.Errorf("block %v: %w", m.ctaid, err)
		}
		each(m.read)
	}
	return nil
}

func (m *tileMachine) one() error {
	n := m.block[0] * m.block[1] * m.block[2]
	all := make([]*tileThread, n)
	for i := range all {
		all[i] = &tileThread{handed: map[string]uint64{}, regs: make([]uint64, 4*len(m.stmts)+8),
			written: make([]bool, 4*len(m.stmts)+8), number: i + 1, waits: -1,
			tid: [3]int{i % m.block[0], i / m.block[0] % m.block[1], i / m.block[0] / m.block[1]}}
	}
	for {
		for _, i := range m.rng.Perm(n) {
			if t := all[i]; !t.done {
				if err := m.thread(t); err != nil {
					return fmt.Errorf("thread %v: %w", t.tid, err)
				}
			}
		}
		if m.part > 0 {
			if on, err := m.partBarriers(all); err != nil || !on {
				return err
			}
			continue
		}
		waiting, at, n := 0, -1, n
		for _, t := range all {
			if t.done && m.ended {
				n--
			}
			if !t.done {
				waiting++
				if at >= 0 && t.waits != at {
					return fmt.Errorf("threads wait at %q and %q", m.stmts[at].text, m.stmts[t.waits].text)
				}
				at = t.waits
			}
		}
		switch waiting {
		case 0:
			return nil
		case n:
		default:
			return fmt.Errorf("%d of %d threads wait at %q", waiting, n, m.stmts[at].text)
		}
		m.barriers++
		if s := m.stmts[at]; len(s.words) > 1 && s.words[1] == "red" {
			name, negated := strings.CutPrefix(s.ops[2], "!")
			any := uint64(0)
			for _, t := range all {
				if (t.regs[m.register(name)] != 0) != negated {
					any = 1
				}
			}
			for _, t := range all {
				t.set(s.args[0].reg, any)
			}
		}
		for _, t := range all {
			if t.waits >= 0 {
				t.waits = -1
				t.at++
				t.epoch++
			}
		}
	}
}

// partBarriers lets the threads of each part go on behind their barrier; false: all have ended.
func (m *tileMachine) partBarriers(all []*tileThread) (on bool, err error) {
	for from := 0; from < len(all); from += m.part {
		at, mask := -1, uint64(1<<m.part-1)<<(from%32)
		for _, t := range all[from : from+m.part] {
			if t.done {
				continue
			}
			s := m.stmts[t.waits]
			if got, err := m.value(t, s.args[0]); err != nil || strings.Join(s.words, ".") != "bar.warp.sync" ||
				uint32(got) != uint32(mask) || at >= 0 && at != t.waits {
				return false, fmt.Errorf("thread %v waits at %q: %#x of %#x, %v", t.tid, s.text, got, mask, err)
			}
			at, on = t.waits, true
		}
		for _, t := range all[from : from+m.part] {
			if !t.done {
				t.waits = -1
				t.at++
				t.epoch++
			}
		}
	}
	return on, nil
}

// thread runs to the next barrier, or to the end.
func (m *tileMachine) thread(t *tileThread) error {
	for steps := 0; t.at < len(m.stmts); t.at++ {
		s := &m.stmts[t.at]
		if len(s.words) == 0 {
			continue
		}
		if steps++; steps > 200000 {
			return fmt.Errorf("it does not end")
		}
		if s.guard != 0 && (t.regs[s.guard] != 0) == s.negated {
			continue
		}
		switch s.words[0] {
		case "ret", "exit":
			t.done = true
			return nil
		case "bar", "barrier":
			t.waits = t.at
			return nil
		case "bra":
			at, ok := m.labels[s.ops[0]]
			if !ok {
				return fmt.Errorf("no label for %s", s.text)
			}
			t.at = at
		case "call":
			from, to := strings.Trim(s.ops[len(s.ops)-1], "()"), strings.Trim(s.ops[0], "()")
			v, ok := t.handed[from]
			if !ok || len(s.ops) != 3 || s.ops[1] != "mix" {
				return fmt.Errorf("%s: not known here", s.text)
			}
			t.handed = map[string]uint64{to: uint64(tileMix(uint32(v)))}
		case "red":
			if err := m.reduce(t, s); err != nil {
				return fmt.Errorf("%s: %w", s.text, err)
			}
		case "ld", "st":
			if err := m.memory(t, s); err != nil {
				return fmt.Errorf("%s: %w", s.text, err)
			}
		default:
			if err := m.compute(t, s); err != nil {
				return fmt.Errorf("%s: %w", s.text, err)
			}
		}
	}
	return fmt.Errorf("it ends without ret")
}

// address is what stands between the brackets of an access.
func (m *tileMachine) address(t *tileThread, place string) (uint64, error) {
	base, offset, _ := strings.Cut(place, "+")
	address, err := m.value(t, m.operand(base))
	if err != nil || offset == "" {
		return address, err
	}
	n, err := strconv.ParseInt(offset, 0, 64)
	return address + uint64(n), err
}

// memory carries out a load or a store.
func (m *tileMachine) memory(t *tileThread, s *tileInst) error {
	load := s.words[0] == "ld"
	place, value := s.ops[len(s.ops)-1], s.ops[0]
	if !load {
		place, value = value, place
	}
	place = strings.TrimSuffix(strings.TrimPrefix(place, "["), "]")
	if s.words[1] == "param" {
		return m.handOver(t, load, place, value)
	}
	address, err := m.address(t, place)
	if err != nil {
		return err
	}
	many := 1
	for _, w := range s.words {
		if len(w) == 2 && w[0] == 'v' {
			many = int(w[1] - '0')
		}
	}
	width := pass.BitsOf(s.words[len(s.words)-1]) / 8
	if address%uint64(width*many) != 0 && m.log == nil {
		return errMisaligned
	}
	list := strings.Split(strings.Trim(value, "{}"), ",")
	if len(list) != many {
		return fmt.Errorf("%d values", len(list))
	}
	near := slices.Contains(s.words, "shared")
	m.own = slices.Contains(s.words, "local")
	if near {
		address = uint64(uint32(address))
		if address+uint64(width*many) > uint64(len(m.shared)) {
			return fmt.Errorf("%d of %d bytes of shared memory", address, len(m.shared))
		}
		if slot := address - uint64((t.number-1)*width); m.slots {
			if first, ok := m.first[t.at]; ok && first != slot {
				return fmt.Errorf("the slot is at %d, where thread 0's is at %d", address, first)
			}
			m.first[t.at] = slot
		}
	}
	for k, reg := range list {
		reg = strings.TrimSpace(reg)
		at := address + uint64(k*width)
		var b [8]byte
		if !load {
			v, err := m.value(t, m.operand(reg))
			if err != nil {
				return err
			}
			binary.LittleEndian.PutUint64(b[:], v)
			if m.log != nil {
				m.log = append(m.log, fmt.Sprintf("%d=%d", at, v))
				continue
			}
		}
		for i := range width {
			if err := m.byte(t, at+uint64(i), &b[i], load, near); err != nil {
				return err
			}
		}
		if load {
			t.set(m.register(reg), binary.LittleEndian.Uint64(b[:]))
		}
		switch {
		case !load && near:
			m.toNear++
		case load && near:
			m.fromTile++
		case load:
			m.fromFar++
		}
	}
	return nil
}

// handOver loads a parameter, or what a function gave back, or stores what it is called with.
func (m *tileMachine) handOver(t *tileThread, load bool, place, value string) error {
	own := strings.TrimSuffix(place, "+0")
	if !load {
		v, err := m.value(t, m.operand(value))
		t.handed[own] = v
		return err
	}
	v, ok := m.params[place]
	if !ok {
		v, ok = t.handed[own]
	}
	if !ok {
		return fmt.Errorf("no parameter %s", place)
	}
	t.set(m.register(value), v)
	return nil
}

// reduce adds to a word of global memory.
func (m *tileMachine) reduce(t *tileThread, s *tileInst) error {
	address, err := m.address(t, strings.Trim(s.ops[0], "[]"))
	if err != nil {
		return err
	}
	by, err := m.value(t, s.args[1])
	if err != nil {
		return err
	}
	var b [4]byte
	for i := range b {
		b[i] = m.global[address+uint64(i)]
	}
	binary.LittleEndian.PutUint32(b[:], binary.LittleEndian.Uint32(b[:])+uint32(by))
	for i := range b {
		m.global[address+uint64(i)] = b[i]
	}
	return nil
}

var errMisaligned = fmt.Errorf("misaligned")

func (m *tileMachine) byte(t *tileThread, at uint64, b *byte, load, near bool) error {
	switch {
	case m.own:
		if t.local == nil {
			t.local = map[uint64]byte{}
		}
		if v, ok := t.local[at]; load && !ok {
			return fmt.Errorf("byte %d of local memory was never written", at)
		} else if load {
			*b = v
		} else {
			t.local[at] = *b
		}
	case near:
		k := &m.touched[at]
		if m.part > 0 && k.last != 0 && (k.last-1)/m.part != (t.number-1)/m.part {
			return fmt.Errorf("byte %d of shared memory is another part's", at)
		}
		k.last = t.number
		if k.writer != 0 && k.writer != t.number && k.wrote == t.epoch+1 || !load && k.reader != 0 &&
			(k.reader != t.number) && k.loaded == t.epoch+1 {
			return fmt.Errorf("byte %d of shared memory: another thread touches it in between two barriers",
				at)
		}
		if load {
			if k.writer == 0 {
				return fmt.Errorf("byte %d of shared memory was never written", at)
			}
			if k.loaded == t.epoch+1 && k.reader != t.number {
				k.reader = -1 // several
			} else {
				k.reader, k.loaded = t.number, t.epoch+1
			}
			*b = m.shared[at]
			return nil
		}
		k.writer, k.wrote = t.number, t.epoch+1
		m.shared[at] = *b
	case load:
		m.read[at>>4] |= 1 << (at & 15)
		v, ok := m.global[at]
		if !ok {
			h := at * 0x9e3779b97f4a7c15
			v = byte(h>>32) ^ byte(h>>13)
		}
		*b = v
	default:
		m.global[at] = *b
	}
	return nil
}

// tileMix is the one function that tests call: coarseHead has it in PTX.
func tileMix(x uint32) uint32 { return x*2654435761 ^ x>>7 }

func (t *tileThread) set(reg int, v uint64) { t.regs[reg], t.written[reg] = v, true }

// value is what an operand holds.
func (m *tileMachine) value(t *tileThread, o tileOperand) (uint64, error) {
	switch {
	case o.kind == 'v':
		return o.value, nil
	case o.kind == 'r':
		if !t.written[o.reg] && m.zeros {
			return 0, nil
		}
		if !t.written[o.reg] && m.strays {
			return uint64(0xbad00000 + t.number), nil
		}
		if !t.written[o.reg] {
			return 0, fmt.Errorf("register %d is read before it is written", o.reg)
		}
		return t.regs[o.reg], nil
	case o.axis < 0:
	case o.kind == 't':
		return uint64(t.tid[o.axis]), nil
	case o.kind == 'c':
		return uint64(m.ctaid[o.axis]), nil
	case o.kind == 'n' && o.reg == len("%ntid"):
		return uint64(m.block[o.axis]), nil
	case o.kind == 'n':
		return uint64(m.nctaid[o.axis]), nil
	}
	return 0, fmt.Errorf("an operand that is not known here")
}

// compute carries out an instruction on registers.
func (m *tileMachine) compute(t *tileThread, s *tileInst) error {
	var v [4]uint64
	for i, o := range s.args[1:] {
		var err error
		if v[i], err = m.value(t, o); err != nil {
			return err
		}
	}
	addend := v[2]
	kind := s.words[len(s.words)-1]
	if s.words[0] == "cvt" { // of the two types the first is the destination's
		from := kind
		kind = s.words[1]
		switch from {
		case "s32":
			v[0] = uint64(int64(int32(v[0])))
		case "u32":
			v[0] = uint64(uint32(v[0]))
		}
	}
	wide := strings.HasSuffix(kind, "64")
	if !wide && kind[0] != 'f' && kind != "pred" {
		for i := range v {
			if v[i] = uint64(uint32(v[i])); kind[0] == 's' {
				v[i] = uint64(int64(int32(v[i])))
			}
		}
	}
	if len(s.words) > 1 && s.words[1] == "wide" {
		wide = true
		if s.words[0] == "mad" { // the addend is wide already
			v[2] = addend
		}
	}
	if s.words[0] == "setp" {
		x := uint64(0)
		if compares(s.words[1], kind[0] == 's', v[0], v[1]) {
			x = 1
		}
		switch {
		case len(s.words) == 4 && s.words[2] == "or":
			x |= v[2]
		case len(s.words) == 4 && s.words[2] == "and":
			x &= v[2]
		}
		t.set(s.args[0].reg, x)
		return nil
	}
	if s.gives == nil {
		if s.gives = tileIntegers[s.words[0]]; kind == "f32" && tileFloats[s.words[0]] != nil {
			s.gives = tileFloats[s.words[0]]
		}
	}
	if s.gives == nil {
		return fmt.Errorf("not known here")
	}
	x := s.gives(v)
	if len(s.words) > 1 && s.words[1] == "cc" {
		t.carry = x >> 32
	}
	if s.words[0] == "addc" {
		x += t.carry
	}
	if !wide && kind != "pred" {
		x = uint64(uint32(x))
	}
	t.set(s.args[0].reg, x)
	return nil
}

// compares tells whether a comparison of a and b holds.
func compares(how string, signed bool, a, b uint64) bool {
	less := a < b
	if signed {
		less = int64(a) < int64(b)
	}
	switch how {
	case "lt":
		return less
	case "le":
		return less || a == b
	case "gt":
		return !less && a != b
	case "ge":
		return !less
	case "eq":
		return a == b
	}
	return how == "ne" && a != b
}

func tileFloat(bits uint64) float32 { return math.Float32frombits(uint32(bits)) }

var tileFloats = map[string]func(v [4]uint64) uint64{
	"add": func(v [4]uint64) uint64 {
		return uint64(math.Float32bits(tileFloat(v[0]) + tileFloat(v[1])))
	},
	"fma": func(v [4]uint64) uint64 {
		return uint64(math.Float32bits(tileFloat(v[0])*tileFloat(v[1]) + tileFloat(v[2])))
	},
}

var tileIntegers = map[string]func(v [4]uint64) uint64{
	"mov":  func(v [4]uint64) uint64 { return v[0] },
	"cvt":  func(v [4]uint64) uint64 { return v[0] },
	"cvta": func(v [4]uint64) uint64 { return v[0] },
	"add":  func(v [4]uint64) uint64 { return v[0] + v[1] },
	"addc": func(v [4]uint64) uint64 { return v[0] + v[1] },
	"sub":  func(v [4]uint64) uint64 { return v[0] - v[1] },
	"mul":  func(v [4]uint64) uint64 { return v[0] * v[1] },
	"mad":  func(v [4]uint64) uint64 { return v[0]*v[1] + v[2] },
	"div":  func(v [4]uint64) uint64 { return v[0] / v[1] },
	"neg":  func(v [4]uint64) uint64 { return -v[0] },
	"xor":  func(v [4]uint64) uint64 { return v[0] ^ v[1] },
	"and":  func(v [4]uint64) uint64 { return v[0] & v[1] },
	"or":   func(v [4]uint64) uint64 { return v[0] | v[1] },
	"not":  func(v [4]uint64) uint64 { return 1 - v[0] }, // of predicates
	"shl":  func(v [4]uint64) uint64 { return v[0] << v[1] },
	"min":  func(v [4]uint64) uint64 { return uint64(min(int64(v[0]), int64(v[1]))) },
	"max":  func(v [4]uint64) uint64 { return uint64(max(int64(v[0]), int64(v[1]))) },
	"selp": func(v [4]uint64) uint64 {
		if v[2] != 0 {
			return v[0]
		}
		return v[1]
	},
}
