// Line information: which line of its input ptxas says an instruction comes from.

package cubin

import (
	"bytes"
	"debug/dwarf"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"sort"
	"strings"
)

// A Row says that the code from an offset on, up to the next row's, comes from a line.
type Row struct {
	Offset int // bytes from the section's start
	Line   int // 0: from none
}

// ReadPTXLines reads .nv_debug_line_sass, which ptxas writes with -lineinfo: which line of the PTX
// each instruction word of 16 bytes of a code section (as ReadCode names them) comes from.
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

// readLines reads a table of lines: by code section, rows in order of offset. Of which file a line is,
// is left out.
func readLines(b []byte, section string) (map[string][]Row, error) {
	c, err := readContainer(b)
	if err != nil {
		return nil, fmt.Errorf("read cubin: %w", err)
	}
	var table []byte
	for i := range c.sections {
		if c.sections[i].name == section {
			table = bytes.Clone(c.sections[i].data)
		}
	}
	if table == nil {
		return nil, fmt.Errorf("read line information: there is none")
	}
	if err := c.relocate(section, table); err != nil {
		return nil, fmt.Errorf("read line information: %w", err)
	}
	rows, err := c.rows(table)
	if err != nil {
		return nil, fmt.Errorf("read line information: %w", err)
	}
	return rows, nil
}

// An address in a relocated table is that of a code section and of an offset in it.
const sectionShift = 40

// relocate puts the addresses into a table, where there is 0 before that.
func (c *container) relocate(section string, table []byte) error {
	le := binary.LittleEndian
	for r := range c.relocations(section) {
		if r.symbol >= uint64(len(c.symbols)) || r.at > uint64(len(table)) ||
			uint64(len(table))-r.at < 8 {
			return fmt.Errorf("an address without a symbol, or without a place")
		}
		of := c.symbols[r.symbol]
		offset := of.value + r.add
		if !strings.HasPrefix(c.sections[of.section].name, ".text.") || offset>>sectionShift != 0 {
			continue
		}
		if le.Uint64(table[r.at:]) != 0 {
			return fmt.Errorf("an address at byte %d that was relocated before", r.at)
		}
		le.PutUint64(table[r.at:], uint64(of.section)<<sectionShift|offset)
	}
	return nil
}

// rows reads line programs. There is no .debug_info in such a file, where package dwarf would learn
// where each of them begins: it is given one that says only that.
func (c *container) rows(table []byte) (map[string][]Row, error) {
	le := binary.LittleEndian
	// of code 1: a unit (DW_TAG_compile_unit) without children, with DW_AT_stmt_list as DW_FORM_data4
	abbrev := []byte{1, 0x11, 0, 0x10, 6, 0, 0, 0}
	var info []byte
	for at := 0; at < len(table); {
		if len(table)-at < 4 || uint64(le.Uint32(table[at:])) > uint64(len(table)-at-4) {
			return nil, errShort
		}
		// length, version of DWARF, offset of abbrev, bytes of an address, code, DW_AT_stmt_list
		info = append(info, 12, 0, 0, 0, 2, 0, 0, 0, 0, 0, 8, 1)
		info = le.AppendUint32(info, uint32(at))
		at += 4 + int(le.Uint32(table[at:]))
	}
	d, err := dwarf.New(abbrev, nil, nil, info, table, nil, nil, nil)
	if err != nil {
		return nil, err
	}
	out := map[string][]Row{}
	units := d.Reader()
	for {
		unit, err := units.Next()
		if err != nil {
			return nil, err
		}
		if unit == nil {
			break
		}
		lines, err := d.LineReader(unit)
		if err != nil {
			return nil, err
		}
		var e dwarf.LineEntry
		for err = lines.Next(&e); err == nil; err = lines.Next(&e) {
			section := e.Address >> sectionShift
			if section == 0 || section >= uint64(len(c.sections)) {
				continue
			}
			line := e.Line
			if e.EndSequence {
				line = 0
			}
			name := strings.TrimPrefix(c.sections[section].name, ".text.")
			out[name] = append(out[name], Row{int(e.Address & (1<<sectionShift - 1)), line})
		}
		if !errors.Is(err, io.EOF) {
			return nil, err
		}
	}
	for _, rows := range out {
		sort.SliceStable(rows, func(i, j int) bool { return rows[i].Offset < rows[j].Offset })
	}
	return out, nil
}

var errShort = errors.New("it ends too early")
