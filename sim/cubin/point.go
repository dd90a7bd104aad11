package cubin

import (
	"encoding/binary"
	"fmt"
)

// Relocations of first values, the same from sm_52 to sm_90 in ptxas 11.8 to 13.5.
const (
	relocByte     = 0x54 // R_CUDA_8_0: the lowest byte of a variable's address
	relocFunction = 35   // R_CUDA_FUNC_DESC_64: the address of a function, for a call by pointer
)

// initialised is the section of variables with first values.
const initialised = ".nv.global.init"

// pointSize is the size of an address, bytes.
const pointSize = 8

// Point returns a cubin in which a variable holds addresses of kernels. In the text that ptxas was
// given, it is an array of bytes, at least PointSize(len(to)) of them, and len(to) bytes of a
// second such array, and no others, begin with the lowest byte of its address:
//
//	.global .align 1 .u8 table[32] = {1};
//	.global .align 1 .u8 other[32] = {0xff(table), 0xff(table)};
//
// What fills these bytes in fills the table's words in its place. Nothing else changes, and no byte
// moves. It is an error where variables stand behind these two: ptxas puts those of the least
// alignment last, and of these the largest, so that they make no other one move, which a program
// may count on (a float4 that is read from an array of floats).
//
// ptxas can write such an address itself. But a kernel whose address it sees may be called, and so
// it compiles it, and whatever in the file has a barrier, for the convention of calls: with other
// registers, in other code (of 82 files of HeCBench and the examples, 42). And it puts an array of
// words in front of other variables.
func Point(b []byte, table, other string, to []string) ([]byte, error) {
	f, err := Read(b)
	if err != nil {
		return nil, err
	}
	if f.Target > 90 {
		return nil, fmt.Errorf("a cubin for sm_%d keeps its code and its relocations twice", f.Target)
	}
	c, err := readContainer(b)
	if err != nil {
		return nil, err
	}
	p := pointing{c: c}
	if err := p.find(table, other, to); err != nil {
		return nil, err
	}
	return p.point(b)
}

// PointSize is the least size of a table of n addresses, bytes: they stand at multiples of their
// size, behind its first byte, which has a value of its own.
func PointSize(n int) int { return pointSize * (n + 1) }

// pointing is a cubin and what is to be pointed in it, symbols by their numbers.
type pointing struct {
	c       *container
	table   int
	entries []int
}

// find looks the names up.
func (p *pointing) find(table, other string, to []string) (err error) {
	isVariable := func(s symbol) bool { return s.kind == kindObject }
	if p.table, err = p.index(table, isVariable); err != nil {
		return err
	}
	last, err := p.index(other, isVariable)
	if err != nil {
		return err
	}
	for _, name := range to {
		at, err := p.index(name, func(s symbol) bool {
			return s.kind == kindFunction && s.other&otherEntry != 0
		})
		if err != nil {
			return err
		}
		p.entries = append(p.entries, at)
	}
	t := p.c.symbols[p.table]
	placed := t.section > 0 && t.section < len(p.c.sections) &&
		p.c.sections[t.section].name == initialised
	if !placed || t.size < uint64(PointSize(len(to))) {
		return fmt.Errorf("%s is not %d bytes with first values", table, PointSize(len(to)))
	}
	for i, s := range p.c.symbols {
		if i != p.table && i != last && s.section == t.section && s.kind == kindObject &&
			s.value+s.size > t.value {
			return fmt.Errorf("%s does not stand in front of %s", s.name, table)
		}
	}
	return nil
}

// index is the number of the one symbol of a name.
func (p *pointing) index(name string, fits func(symbol) bool) (int, error) {
	at := 0
	for i, s := range p.c.symbols {
		if s.name == name && fits(s) {
			if at != 0 {
				return 0, fmt.Errorf("the cubin has two symbols %s", name)
			}
			at = i
		}
	}
	if at == 0 {
		return 0, fmt.Errorf("the cubin has no %s", name)
	}
	return at, nil
}

// point is the cubin with the table's first values.
func (p *pointing) point(b []byte) ([]byte, error) {
	out, entries := append([]byte(nil), b...), p.entries
	le := binary.LittleEndian
	word := (p.c.symbols[p.table].value/pointSize + 1) * pointSize
	for r := range p.c.relocations(initialised) {
		if r.symbol != uint64(p.table) {
			continue
		}
		if r.kind != relocByte {
			return nil, fmt.Errorf("a byte of the table's address has a relocation of type %d, not %d",
				r.kind, relocByte)
		}
		if len(entries) == 0 {
			return nil, fmt.Errorf("more than %d bytes are of the table's address", len(p.entries))
		}
		le.PutUint64(out[r.entry:], word)
		le.PutUint64(out[r.entry+8:], uint64(entries[0])<<32|relocFunction)
		word, entries = word+pointSize, entries[1:]
	}
	if len(entries) > 0 {
		return nil, fmt.Errorf("%d bytes are of the table's address, not %d",
			len(p.entries)-len(entries), len(p.entries))
	}
	return out, nil
}
