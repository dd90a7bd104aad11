// The container: just enough of ELF64 for cubins, bounds-checked by hand.
//
// debug/elf is not used because it gives up on files whose section or symbol it dislikes (cubins of
// -rdc builds and of sm_100 have vendor types and indices), where one odd section should cost that
// section only.

package cubin

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"strings"
)

const (
	machineCUDA = 190 // EM_CUDA

	typeRelocatable = 1 // ET_REL
	typeNoBits      = 8 // SHT_NOBITS
	typeSymtab      = 2
	typeSymtabShndx = 18
	typeGlobal      = 0x70000007 // SHT_CUDA_GLOBAL, SHT_CUDA_SHARED: with -rdc=true in the place of
	typeShared      = 0x7000000a // NOBITS, several of them at one offset (11.8 to 13.5)

	indexReserved = 0xff00 // SHN_LORESERVE: from here on no section is meant
	indexExtended = 0xffff // SHN_XINDEX: the index stands in .symtab_shndx
)

type section struct {
	name   string
	kind   uint32
	flags  uint64
	size   uint64
	link   uint32
	info   uint32
	offset uint64
	data   []byte // nil without bits, and for sections that lie outside the file
}

// bits reports whether a section's content is in the file.
func (s *section) bits() bool {
	return s.kind != typeNoBits && s.kind != typeGlobal && s.kind != typeShared
}

type symbol struct {
	name    string
	kind    byte // low half of st_info: 1 object, 2 function, 13 CUDA object
	bind    byte // high half: 0 local, 1 global, 2 weak
	other   byte
	section int // 0: none
	value   uint64
	size    uint64
}

type container struct {
	abi      byte // e_ident[EI_ABIVERSION]
	osabi    byte // e_ident[EI_OSABI]: 0x33 up to ABI 7, 0x41 with ABI 8
	typ      uint16
	flags    uint32
	sections []section
	symbols  []symbol
}

// readContainer checks the header and lists sections and symbols. Sizes and counts are checked
// against the file's length before anything is allocated for them.
func readContainer(b []byte) (*container, error) {
	le := binary.LittleEndian
	if len(b) < 64 || !bytes.Equal(b[:4], []byte("\x7fELF")) {
		return nil, fmt.Errorf("not an ELF file (%d bytes)", len(b))
	}
	if b[4] != 2 || b[5] != 1 {
		return nil, fmt.Errorf("not a 64-bit little-endian ELF file (class %d, data %d)", b[4], b[5])
	}
	if m := le.Uint16(b[18:]); m != machineCUDA {
		return nil, fmt.Errorf("ELF machine %d is not CUDA (%d)", m, machineCUDA)
	}
	c := &container{osabi: b[7], abi: b[8], typ: le.Uint16(b[16:]), flags: le.Uint32(b[48:])}
	off, entry := le.Uint64(b[40:]), uint64(le.Uint16(b[58:]))
	count, names := uint64(le.Uint16(b[60:])), uint64(le.Uint16(b[62:]))
	if off == 0 {
		return nil, fmt.Errorf("no section headers")
	}
	if entry != 64 {
		return nil, fmt.Errorf("section headers of %d bytes, not 64", entry)
	}
	if off > uint64(len(b)) || uint64(len(b))-off < 64 {
		return nil, fmt.Errorf("section headers at %d lie outside the file of %d bytes", off, len(b))
	}
	if count == 0 { // more than 65279 sections: the count stands in section 0
		count = le.Uint64(b[off+32:])
	}
	if names == indexExtended {
		names = uint64(le.Uint32(b[off+40:]))
	}
	if count > (uint64(len(b))-off)/64 {
		return nil, fmt.Errorf("%d section headers at %d do not fit a file of %d bytes", count, off,
			len(b))
	}
	c.sections = make([]section, count)
	nameAt := make([]uint32, count)
	for i := range c.sections {
		h := b[off+uint64(i)*64:]
		s := &c.sections[i]
		nameAt[i] = le.Uint32(h)
		s.kind, s.flags = le.Uint32(h[4:]), le.Uint64(h[8:])
		s.offset, s.size = le.Uint64(h[24:]), le.Uint64(h[32:])
		s.link, s.info = le.Uint32(h[40:]), le.Uint32(h[44:])
		if s.bits() && s.offset <= uint64(len(b)) && s.size <= uint64(len(b))-s.offset {
			s.data = b[s.offset : s.offset+s.size]
		}
	}
	if names >= count {
		return nil, fmt.Errorf("section names in section %d of %d", names, count)
	}
	table := string(c.sections[names].data)
	for i := range c.sections {
		c.sections[i].name = text(table, nameAt[i])
	}
	c.readSymbols()
	return c, nil
}

func (c *container) readSymbols() {
	le := binary.LittleEndian
	for i := range c.sections {
		if c.sections[i].kind != typeSymtab {
			continue
		}
		table := &c.sections[i]
		var names string
		if uint64(table.link) < uint64(len(c.sections)) {
			names = string(c.sections[table.link].data)
		}
		var extended []byte // 32-bit section indices, parallel to the symbols
		for j := range c.sections {
			if c.sections[j].kind == typeSymtabShndx && uint64(c.sections[j].link) == uint64(i) {
				extended = c.sections[j].data
			}
		}
		c.symbols = make([]symbol, len(table.data)/24)
		for n := range c.symbols {
			e := table.data[n*24:]
			at := uint64(le.Uint16(e[6:]))
			if at == indexExtended && len(extended) >= n*4+4 {
				at = uint64(le.Uint32(extended[n*4:]))
			} else if at >= indexReserved {
				at = 0
			}
			if at >= uint64(len(c.sections)) {
				at = 0
			}
			c.symbols[n] = symbol{
				name: text(names, le.Uint32(e)), kind: e[4] & 15, bind: e[4] >> 4, other: e[5],
				section: int(at), value: le.Uint64(e[8:]), size: le.Uint64(e[16:]),
			}
		}
		return // an ELF file has one symbol table
	}
}

// maxName bounds a name's length. Mangled template names of tens of kilobytes exist; without a
// bound, a hostile table of overlapping names would cost time (hashing, scanning) out of all
// proportion to the file.
const maxName = 1 << 18

// text returns the zero-terminated name at an offset of a string table, "" where there is none. It
// is a part of the table, not a copy: thousands of overlapping names cost no memory.
func text(table string, at uint32) string {
	if uint64(at) >= uint64(len(table)) {
		return ""
	}
	rest := table[at:]
	if len(rest) > maxName {
		rest = rest[:maxName]
	}
	end := strings.IndexByte(rest, 0)
	if end < 0 {
		return ""
	}
	return rest[:end]
}
