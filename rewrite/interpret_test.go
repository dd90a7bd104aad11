package rewrite

import (
	"encoding/binary"
	"fmt"
	"strconv"
	"strings"

	"gnvcc/rewrite/ptx"
)

// A small interpreter of integer PTX, for tests that run a kernel before and after a rewrite. It
// knows what the tests' generators write, and nothing more: what it does not know is an error.
// Threads run one after the other, so there are no barriers. Registers that were not written hold a
// value of their thread's own, so that a stale one shows.

type machineTest struct {
	block  [3]int
	params map[string]uint64
	global map[uint64]uint64 // by address, in pieces of the store's width
	shared []byte
	owner  []int // by byte of shared memory: the thread that used it, less 1
	loads  int   // from shared memory
	stores int
	// pattern holds, by statement, the address that the first thread used and the next ones':
	// neighbours must be neighbours.
	pattern map[int][]uint64
}

func (m *machineTest) run(f *ptx.Func) error {
	m.pattern = make(map[int][]uint64)
	m.global = make(map[uint64]uint64)
	m.shared, m.owner = nil, nil
	for t := 0; t < m.block[0]*m.block[1]*m.block[2]; t++ {
		if err := m.thread(f, t); err != nil {
			return fmt.Errorf("thread %d: %w", t, err)
		}
	}
	return nil
}

func (m *machineTest) thread(f *ptx.Func, t int) error {
	regs := make(map[string]uint64)
	labels := make(map[string]int)
	var shared string
	for i, s := range f.Stmts {
		switch {
		case s.Kind == ptx.Label:
			labels[string(f.Opcode(i))] = i
		case s.Kind == ptx.Decl && string(f.Opcode(i)) == ".shared":
			vars, err := f.Declared(i)
			if err != nil || len(vars) != 1 || shared != "" {
				return fmt.Errorf("shared variables %v %v", vars, err)
			}
			shared = vars[0].Name
			if m.shared == nil {
				m.shared, m.owner = make([]byte, vars[0].Size()), make([]int, vars[0].Size())
			}
		}
	}
	dims := map[string]int{
		"%tid.x": t % m.block[0], "%tid.y": t / m.block[0] % m.block[1],
		"%tid.z":  t / m.block[0] / m.block[1],
		"%ntid.x": m.block[0], "%ntid.y": m.block[1], "%ntid.z": m.block[2],
	}
	value := func(o ptx.Span) (uint64, error) {
		text := string(f.Bytes(o))
		if n, ok := dims[text]; ok {
			return uint64(n), nil
		}
		if text == shared {
			return 0, nil
		}
		if text[0] == '%' || text == "t" { // t: the register of the generators' inner scopes
			if v, ok := regs[text]; ok {
				return v, nil
			}
			return uint64(0xbad00000 + t), nil
		}
		n, err := strconv.ParseInt(text, 0, 64)
		return uint64(n), err
	}
	for i, steps := 0, 0; i < len(f.Stmts); i++ {
		s := f.Stmts[i]
		if s.Kind != ptx.Inst {
			continue
		}
		if steps++; steps > 20000 {
			return fmt.Errorf("it does not end")
		}
		if p, negated := f.Guard(i); p != nil && (regs[string(p)] != 0) == negated {
			continue
		}
		ops := f.Operands(i, nil)
		var v [5]uint64
		op := strings.Split(string(f.Opcode(i)), ".")
		kind := op[len(op)-1]
		if op[0] == "cvt" { // of the two types the first is the destination's
			kind = op[1]
		}
		wide := strings.HasSuffix(kind, "64")
		width := map[bool]int{false: 4, true: 8}[wide]
		switch op[0] {
		case "bra":
			at, ok := labels[string(f.Bytes(ops[0]))]
			if !ok {
				return fmt.Errorf("no label for %s", f.Text()[s.Start:s.End])
			}
			i = at
			continue
		case "ret":
			return nil
		case "ld", "st":
			mem, reg := ops[1], ops[0]
			if op[0] == "st" {
				mem, reg = reg, mem
			}
			base, offset, ok := f.Address(mem)
			if !ok {
				return fmt.Errorf("address in %s", f.Text()[s.Start:s.End])
			}
			if ptx.HasModifier(f.Opcode(i), "param") {
				regs[string(f.Bytes(reg))] = m.params[string(base)]
				continue
			}
			address, ok := regs[string(base)]
			if !ok {
				return fmt.Errorf("no address in %s", f.Text()[s.Start:s.End])
			}
			if offset != nil {
				n, err := strconv.Atoi(string(offset))
				if err != nil {
					return err
				}
				address += uint64(n)
			}
			if ptx.HasModifier(f.Opcode(i), "global") {
				x, err := value(reg)
				if op[0] != "st" || err != nil {
					return fmt.Errorf("%s: %v", f.Text()[s.Start:s.End], err)
				}
				m.global[address] = x
				continue
			}
			if err := m.slot(i, t, address, width); err != nil {
				return fmt.Errorf("%s: %w", f.Text()[s.Start:s.End], err)
			}
			var b [8]byte
			if op[0] == "st" {
				m.stores++
				x, err := value(reg)
				if err != nil {
					return err
				}
				binary.LittleEndian.PutUint64(b[:], x)
				copy(m.shared[address:], b[:width])
				continue
			}
			m.loads++
			copy(b[:width], m.shared[address:])
			regs[string(f.Bytes(reg))] = binary.LittleEndian.Uint64(b[:])
			continue
		}
		for n, o := range ops[1:] {
			var err error
			if v[n], err = value(o); err != nil {
				return fmt.Errorf("%s: %w", f.Text()[s.Start:s.End], err)
			}
		}
		var x uint64
		switch op[0] {
		case "mov", "cvt":
			x = v[0]
		case "add":
			x = v[0] + v[1]
		case "sub":
			x = v[0] - v[1]
		case "mul":
			x = v[0] * v[1]
		case "mad":
			x = v[0]*v[1] + v[2]
		case "xor":
			x = v[0] ^ v[1]
		case "and":
			x = v[0] & v[1]
		case "selp":
			if x = v[1]; v[2] != 0 {
				x = v[0]
			}
		case "setp":
			yes := false
			switch op[1] {
			case "lt":
				yes = int32(v[0]) < int32(v[1])
			case "ne":
				yes = uint32(v[0]) != uint32(v[1])
			}
			if yes {
				x = 1
			}
		default:
			return fmt.Errorf("%s is not known here", f.Text()[s.Start:s.End])
		}
		if !wide && op[0] != "setp" {
			x = uint64(uint32(x))
		}
		regs[string(f.Bytes(ops[0]))] = x
	}
	return fmt.Errorf("it ends without ret")
}

// slot checks an access to shared memory: within the array, to bytes that no other thread uses, and
// such that the threads of a warp, which do it together, use neighbouring banks.
func (m *machineTest) slot(stmt, t int, address uint64, width int) error {
	if address%uint64(width) != 0 || address+uint64(width) > uint64(len(m.shared)) {
		return fmt.Errorf("%d bytes at %d of %d", width, address, len(m.shared))
	}
	for i := range width {
		o := &m.owner[int(address)+i]
		if *o != 0 && *o != t+1 {
			return fmt.Errorf("byte %d is used by thread %d too", int(address)+i, *o-1)
		}
		*o = t + 1
	}
	at, ok := m.pattern[stmt]
	if !ok {
		at = []uint64{address - uint64(t*width)}
		m.pattern[stmt] = at
	}
	if at[0]+uint64(t*width) != address {
		return fmt.Errorf("thread %d uses %d, where thread 0 uses %d", t, address, at[0])
	}
	return nil
}
