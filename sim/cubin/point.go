package cubin

import (
	"encoding/binary"
	"fmt"
)

// Relocations of first values, the same from sm_52 to sm_90 in ptxas 11.8 to 13.5.
const (
	relocVariable = 4  // R_CUDA_G64: the address of a variable
	relocFunction = 35 // R_CUDA_FUNC_DESC_64: that of a function, for a call by pointer
)

// Point returns a cubin in which variables begin with addresses of kernels: each of the len(to)
// places that have the address of the variable `from` in the text that ptxas was given, and of
// which there must be as many, gets that of one of them. Nothing else changes, and no byte moves.
//
// ptxas can write such an address itself. But a kernel whose address it sees may be called, and so
// it compiles it, and whatever in the file has a barrier, for the convention of calls: with other
// registers, in other code (of 82 files of HeCBench and the examples, 42).
func Point(b []byte, from string, to []string) ([]byte, error) {
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
	index := func(name string, fits func(symbol) bool) (uint64, error) {
		at := uint64(0)
		for i, s := range c.symbols {
			if s.name == name && fits(s) {
				if at != 0 {
					return 0, fmt.Errorf("the cubin has two symbols %s", name)
				}
				at = uint64(i)
			}
		}
		if at == 0 {
			return 0, fmt.Errorf("the cubin has no %s", name)
		}
		return at, nil
	}
	old, err := index(from, func(s symbol) bool { return s.kind == kindObject })
	if err != nil {
		return nil, err
	}
	var entries []uint64
	for _, name := range to {
		at, err := index(name, func(s symbol) bool {
			return s.kind == kindFunction && s.other&otherEntry != 0
		})
		if err != nil {
			return nil, err
		}
		entries = append(entries, at)
	}
	out := append([]byte(nil), b...)
	le := binary.LittleEndian
	for _, s := range c.sections {
		size, ok := map[uint32]uint64{typeRela: 24, typeRel: 16}[s.kind]
		if !ok || s.name != ".rela.nv.global.init" && s.name != ".rel.nv.global.init" {
			continue
		}
		for at := uint64(0); at+size <= uint64(len(s.data)); at += size {
			info := le.Uint64(s.data[at+8:])
			if info>>32 != old {
				continue
			}
			if info&0xffffffff != relocVariable {
				return nil, fmt.Errorf("the address of %s has a relocation of type %d, not %d", from,
					info&0xffffffff, relocVariable)
			}
			if len(entries) == 0 {
				return nil, fmt.Errorf("more than %d values are the address of %s", len(to), from)
			}
			le.PutUint64(out[s.offset+at+8:], entries[0]<<32|relocFunction)
			entries = entries[1:]
		}
	}
	if len(entries) > 0 {
		return nil, fmt.Errorf("%d values are the address of %s, not %d", len(to)-len(entries), from,
			len(to))
	}
	return out, nil
}
