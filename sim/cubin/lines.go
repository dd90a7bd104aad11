// Line information: which line of its input ptxas says an instruction comes from.

package cubin

import (
	"encoding/binary"
	"fmt"
	"sort"
	"strings"
)

// A Row says that the code from an offset on, up to the next row's, comes from a line.
type Row struct {
	Offset int // bytes from the section's start
	Line   int // 0: from none
}

const (
	typeRela = 4
	typeRel  = 9
	// of a file: each takes a byte of the file at least, ours have some thousand
	maxLineRows  = 1 << 22
	setAddress   = 2 // DW_LNE_set_address
	endSequence  = 1 // DW_LNE_end_sequence
	standardMost = 9 // DW_LNS_fixed_advance_pc, the last of version 2
)

// ReadLines reads .debug_line, which ptxas writes with -lineinfo: by code section (as ReadCode
// names them), rows in order of offset. Of which file a line is, is left out.
func ReadLines(b []byte) (map[string][]Row, error) { return readLines(b, ".debug_line") }

// ReadPTXLines is ReadLines for the lines of the PTX itself, whatever lines of a source that has:
// of one code section, by instruction word of 16 bytes.
func ReadPTXLines(b []byte, function string) ([]int, error) {
	all, err := readLines(b, ".nv_debug_line_sass")
	if err != nil {
		return nil, err
	}
	codes, _, err := ReadCode(b)
	if err != nil {
		return nil, err
	}
	rows := all[function]
	for _, code := range codes {
		if code.Name != function || len(rows) == 0 {
			continue
		}
		out := make([]int, len(code.Data)/16)
		for i := range out {
			n := sort.Search(len(rows), func(n int) bool { return rows[n].Offset > 16*i })
			if n > 0 {
				out[i] = rows[n-1].Line
			}
		}
		return out, nil
	}
	return nil, fmt.Errorf("read line information: there is none of %s", function)
}

func readLines(b []byte, section string) (map[string][]Row, error) {
	c, err := readContainer(b)
	if err != nil {
		return nil, fmt.Errorf("read cubin: %w", err)
	}
	var table []byte
	at := map[int]place{} // where an address stands in the table: what it is
	for i := range c.sections {
		s := &c.sections[i]
		switch {
		case s.name == section:
			table = s.data
		case s.name == ".rela"+section && s.kind == typeRela,
			s.name == ".rel"+section && s.kind == typeRel: // up to sm_89
			size := 24
			if s.kind == typeRel {
				size = 16
			}
			for r := s.data; len(r) >= size; r = r[size:] {
				n, add := binary.LittleEndian.Uint64(r[8:])>>32, uint64(0)
				if s.kind == typeRela {
					add = binary.LittleEndian.Uint64(r[16:])
				}
				if n >= uint64(len(c.symbols)) {
					return nil, fmt.Errorf("read line information: an address without a symbol")
				}
				of := c.symbols[n]
				if name, ok := strings.CutPrefix(c.sections[of.section].name, ".text."); ok {
					at[int(binary.LittleEndian.Uint64(r))] = place{name, int(of.value + add)}
				}
			}
		}
	}
	if table == nil {
		return nil, fmt.Errorf("read line information: there is none")
	}
	l := lineReader{table: table, at: at, rows: map[string][]Row{}}
	for l.pos < len(table) {
		if err := l.unit(); err != nil {
			return nil, fmt.Errorf("read line information at byte %d: %w", l.pos, err)
		}
	}
	for _, rows := range l.rows {
		sort.SliceStable(rows, func(i, j int) bool { return rows[i].Offset < rows[j].Offset })
	}
	return l.rows, nil
}

// A place is an offset in a code section; of no section: one that is not looked for.
type place struct {
	section string
	offset  int
}

// A lineReader reads line programs (DWARF 2 and 3, section 6.2).
type lineReader struct {
	table []byte
	pos   int
	at    map[int]place
	rows  map[string][]Row
	count int
}

var errShort = fmt.Errorf("it ends too early")

// unit reads one program.
func (l *lineReader) unit() error {
	if len(l.table)-l.pos < 4 {
		return errShort
	}
	size := int(binary.LittleEndian.Uint32(l.table[l.pos:]))
	l.pos += 4
	if size > len(l.table)-l.pos || size < 15 {
		return errShort
	}
	end := l.pos + size
	head := l.table[l.pos:end]
	if v := binary.LittleEndian.Uint16(head); v != 2 && v != 3 { // 3 is 13.5's
		return fmt.Errorf("version %d of DWARF", v)
	}
	skip := int(binary.LittleEndian.Uint32(head[2:]))
	if skip > size-6 || skip < 5 {
		return errShort
	}
	p := program{end: end, step: int(head[6]), base: int(int8(head[8])), span: int(head[9]),
		opcodes: int(head[10])}
	if p.span == 0 || p.opcodes == 0 || 11+p.opcodes-1 > size {
		return fmt.Errorf("its header makes no sense")
	}
	p.arguments = head[11 : 11+p.opcodes-1]
	l.pos += 6 + skip
	p.line = 1
	for l.pos < end {
		if err := l.step(&p); err != nil {
			return err
		}
	}
	return nil
}

// A program is the state of one.
type program struct {
	end, step, base, span, opcodes int
	arguments                      []byte // how many each standard opcode has

	place
	line int
}

// step carries one opcode out.
func (l *lineReader) step(p *program) error {
	op := int(l.table[l.pos])
	l.pos++
	switch {
	case op >= p.opcodes:
		op -= p.opcodes
		p.offset += op / p.span * p.step
		p.line += p.base + op%p.span
		return l.row(p)
	case op == 0:
		return l.extended(p)
	case op == 1:
		return l.row(p)
	case op == 2:
		n, err := l.number(p.end)
		p.offset += n * p.step
		return err
	case op == 3:
		n, err := l.signed(p.end)
		p.line += n
		return err
	case op == 8:
		p.offset += (255 - p.opcodes) / p.span * p.step
		return nil
	case op == standardMost:
		if p.end-l.pos < 2 {
			return errShort
		}
		p.offset += int(binary.LittleEndian.Uint16(l.table[l.pos:]))
		l.pos += 2
		return nil
	}
	for range p.arguments[op-1] {
		if _, err := l.number(p.end); err != nil {
			return err
		}
	}
	return nil
}

func (l *lineReader) extended(p *program) error {
	size, err := l.number(p.end)
	if err != nil || size < 1 || size > p.end-l.pos {
		return errShort
	}
	body := l.table[l.pos : l.pos+size]
	switch {
	case body[0] == endSequence:
		p.line = 0
		err := l.row(p)
		p.place, p.line = place{}, 1
		l.pos += size
		return err
	case body[0] == setAddress && size == 9:
		// what stands there is relocated: the function's beginning, and 0 before that
		if binary.LittleEndian.Uint64(body[1:]) != 0 {
			return fmt.Errorf("an address that is not relocated")
		}
		p.place = l.at[l.pos+1]
	}
	l.pos += size // others are NVIDIA's, for inlined calls
	return nil
}

func (l *lineReader) row(p *program) error {
	if l.count++; l.count > maxLineRows {
		return fmt.Errorf("more than %d rows", maxLineRows)
	}
	if p.section != "" {
		l.rows[p.section] = append(l.rows[p.section], Row{p.offset, p.line})
	}
	return nil
}

// number reads a LEB128.
func (l *lineReader) number(end int) (int, error) {
	n, shift := 0, 0
	for l.pos < end && shift < 35 {
		c := l.table[l.pos]
		l.pos++
		n |= int(c&0x7f) << shift
		if shift += 7; c&0x80 == 0 {
			return n, nil
		}
	}
	return 0, errShort
}

// signed reads a signed LEB128.
func (l *lineReader) signed(end int) (int, error) {
	from := l.pos
	n, err := l.number(end)
	if used := 7 * (l.pos - from); err == nil && n>>(used-1)&1 == 1 {
		n -= 1 << used
	}
	return n, err
}
