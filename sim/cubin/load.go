// What a kernel finds when it runs: constant banks and code, with the addresses of variables in them.

package cubin

import (
	"encoding/binary"
	"fmt"
	"iter"
	"strconv"
	"strings"
)

// A relocation is a place into which the address of a symbol goes.
type relocation struct {
	at     uint64 // in its section
	kind   uint32
	symbol uint64
	add    uint64
	entry  uint64 // where it stands in the file
}

const (
	typeRela = 4
	typeRel  = 9
)

// relocations are those of a section.
func (c *container) relocations(section string) iter.Seq[relocation] {
	le := binary.LittleEndian
	return func(yield func(relocation) bool) {
		for _, s := range c.sections {
			size := 24
			switch {
			case s.name == ".rela"+section && s.kind == typeRela:
			case s.name == ".rel"+section && s.kind == typeRel:
				size = 16
			default:
				continue
			}
			for at := 0; at+size <= len(s.data); at += size {
				d := s.data[at : at+size]
				info := le.Uint64(d[8:])
				r := relocation{at: le.Uint64(d), kind: uint32(info), symbol: info >> 32,
					entry: s.offset + uint64(at)}
				if size == 24 {
					r.add = le.Uint64(d[16:])
				}
				if !yield(r) {
					return
				}
			}
		}
	}
}

// Kinds of relocations in an executable cubin of sm_90.
const (
	absolute32   = 1    // R_CUDA_32: an address' lower half
	absolute64   = 2    // R_CUDA_64
	absoluteLow  = 0x38 // R_CUDA_ABS32_LO_32: the same in the word at byte 4 of an instruction
	absoluteHigh = 0x39 // R_CUDA_ABS32_HI_32: the upper half there
)

// A Loaded is a kernel with its variables in memory.
type Loaded struct {
	Banks map[int][]byte // constant banks, but for the launch's own part of bank 0
	// parts of variables' addresses, by the offsets of the instructions that they are to be put into:
	// at byte 4, as in programs that were linked on the device
	Words map[int]uint32
}

// Load places a kernel's variables: variable is given name and first value of each, and returns its
// address.
func Load(b []byte, kernel string, variable func(name string, start []byte) uint64) (*Loaded, error) {
	c, err := readContainer(b)
	if err != nil {
		return nil, err
	}
	address := make([]uint64, len(c.symbols))
	for n, s := range c.symbols {
		section := c.sections[s.section]
		switch {
		case strings.HasPrefix(section.name, ".text."):
			address[n] = s.value // in its section: kernels' addresses are of no use
		case strings.HasPrefix(section.name, ".nv.global") && s.size > 0:
			start := make([]byte, min(s.size, section.size))
			if section.bits() {
				if s.value > uint64(len(section.data)) || s.size > uint64(len(section.data))-s.value {
					return nil, fmt.Errorf("variable %s lies outside of its section", s.name)
				}
				copy(start, section.data[s.value:])
			}
			address[n] = variable(s.name, start)
		}
	}
	out := &Loaded{Banks: map[int][]byte{}, Words: map[int]uint32{}}
	for _, s := range c.sections {
		name, ok := strings.CutPrefix(s.name, ".nv.constant")
		number, of, _ := strings.Cut(name, ".")
		bank, err := strconv.Atoi(number)
		if !ok || err != nil || s.data == nil || of != "" && of != kernel {
			continue
		}
		content := append([]byte(nil), s.data...)
		for r := range c.relocations(s.name) {
			room := uint64(len(content)) - min(r.at, uint64(len(content)))
			if r.symbol >= uint64(len(address)) || room < 4 || room < 8 && r.kind == absolute64 {
				return nil, fmt.Errorf("%s has a relocation of what is not there", s.name)
			}
			switch value := address[r.symbol] + r.add; r.kind {
			case absolute64:
				binary.LittleEndian.PutUint64(content[r.at:], value)
			case absolute32:
				binary.LittleEndian.PutUint32(content[r.at:], uint32(value))
			default:
				return nil, fmt.Errorf("%s has a relocation of kind %d, which is not known", s.name, r.kind)
			}
		}
		out.Banks[bank] = content
	}
	for r := range c.relocations(".text." + kernel) {
		if r.symbol >= uint64(len(address)) || address[r.symbol] == 0 {
			return nil, fmt.Errorf("its code has a relocation of what is not there")
		}
		switch value := address[r.symbol] + r.add; r.kind {
		case absoluteLow:
			out.Words[int(r.at)] = uint32(value)
		case absoluteHigh:
			out.Words[int(r.at)] = uint32(value >> 32)
		default:
			return nil, fmt.Errorf("its code has a relocation of kind %d, which is not known", r.kind)
		}
	}
	return out, nil
}
