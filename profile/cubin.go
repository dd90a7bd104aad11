package profile

// What a session has to know of a cubin: the variables that a candidate must share with the
// original, whether the kernel does what can't be repeated unseen (print, allocate, launch), and
// whether it reads textures or accesses surfaces.
// Read from the ELF file's symbols, from .nv.callgraph, which has pairs of symbols: who calls
// whom (looked at in cubins of 13.0 and 13.5, linked and not), and from the code's operations.

import (
	"bytes"
	"debug/elf"
	"encoding/binary"
	"fmt"
	"maps"
	"slices"
	"strings"
)

type variable struct {
	name     string
	size     uint64
	constant bool
}

type contents struct {
	variables []variable
	managed   bool                // it has __managed__ variables
	calls     map[string][]string // who calls whom; "" in it: by a pointer
	defined   map[string]bool     // functions with code
	textures  map[string]bool     // functions with an access to a texture or surface
}

// otherManaged is the flag in a symbol's st_other that marks a __managed__ variable.
const otherManaged = 4

func readCubin(b []byte) (*contents, error) {
	f, err := elf.NewFile(bytes.NewReader(b))
	if err != nil {
		return nil, fmt.Errorf("reading a cubin: %w", err)
	}
	c := &contents{calls: map[string][]string{}, defined: map[string]bool{},
		textures: map[string]bool{}}
	symbols, err := f.Symbols()
	if err != nil {
		return nil, fmt.Errorf("reading a cubin's symbols: %w", err)
	}
	for _, s := range symbols {
		if int(s.Section) <= 0 || int(s.Section) >= len(f.Sections) {
			continue
		}
		section := f.Sections[s.Section].Name
		switch elf.ST_TYPE(s.Info) {
		case elf.STT_FUNC:
			c.defined[s.Name] = true
		case elf.STT_OBJECT:
			constant := section == ".nv.constant3"
			if !constant && !strings.HasPrefix(section, ".nv.global") {
				continue
			}
			if s.Other&otherManaged != 0 {
				c.managed = true
			}
			// The compiler's own: strings, and names of functions for assert. They never change, and are
			// numbered by what is there. And gnvcc's, by which second entries are loaded.
			if strings.HasPrefix(s.Name, "$") || strings.HasPrefix(s.Name, "__unnamed_") ||
				strings.HasPrefix(s.Name, "__gnvcc_") || s.Size == 0 {
				continue
			}
			c.variables = append(c.variables, variable{s.Name, s.Size, constant})
		}
	}
	for _, s := range f.Sections {
		if name, ok := strings.CutPrefix(s.Name, ".text."); ok && s.Type == elf.SHT_PROGBITS {
			code, err := s.Data()
			if err != nil {
				return nil, fmt.Errorf("reading a cubin's code: %w", err)
			}
			c.textures[name] = accessesTextures(code)
		}
	}
	if g := f.Section(".nv.callgraph"); g != nil {
		data, err := g.Data()
		if err != nil {
			return nil, fmt.Errorf("reading a cubin's call graph: %w", err)
		}
		// Symbols() leaves the first one, which has no name, out.
		name := func(i uint32) string {
			if i == 0 || int(i) > len(symbols) {
				return ""
			}
			return symbols[i-1].Name
		}
		for ; len(data) >= 8; data = data[8:] {
			from, to := binary.LittleEndian.Uint32(data), binary.LittleEndian.Uint32(data[4:])
			if from != 0 {
				c.calls[name(from)] = append(c.calls[name(from)], name(to))
			}
		}
	}
	return c, nil
}

// unrepeatable returns why a replay can't run a kernel more than once, "" if it can. What the kernel
// prints is kept there and compared.
func (c *contents) unrepeatable(kernel string) string {
	if c.managed {
		return "its module has managed variables"
	}
	for _, f := range slices.Sorted(maps.Keys(c.reached(kernel))) {
		if why := external(f); !c.defined[f] && why != "" {
			return why
		}
	}
	return ""
}

// reached are the functions that a kernel may come to, itself included.
func (c *contents) reached(kernel string) map[string]bool {
	seen := map[string]bool{}
	var visit func(string)
	visit = func(f string) {
		if seen[f] {
			return
		}
		seen[f] = true
		for _, to := range c.calls[f] {
			if to != "" {
				visit(to)
				continue
			}
			for any := range c.calls { // by a pointer: it may be anything that the module has
				visit(any)
			}
		}
	}
	visit(kernel)
	return seen
}

// usesTextures reports whether a kernel reads textures or accesses surfaces.
func (c *contents) usesTextures(kernel string) bool {
	for f := range c.reached(kernel) {
		if c.textures[f] {
			return true
		}
	}
	return false
}

// accessesTextures reports whether code has an operation on a texture or a surface. From sm_70 on an
// instruction is 16 bytes, of which the lowest 9 bits are the operation.
func accessesTextures(code []byte) bool {
	for ; len(code) >= 16; code = code[16:] {
		// TEX, TLD4, TLD, TMML, TXD, TXQ; SULD, SUST, SURED, each by constants or by registers
		op := binary.LittleEndian.Uint16(code) & 0x1ff
		if op >= 0x160 && op <= 0x170 || op >= 0x198 && op <= 0x19f {
			return true
		}
	}
	return false
}

func external(f string) string {
	switch {
	case f == "vprintf" || f == "__assertfail" || strings.HasPrefix(f, "__nv_"):
		return ""
	case f == "malloc" || f == "free":
		return "it may allocate memory on the device (" + f + "), which is not saved"
	case strings.HasPrefix(f, "cudaLaunch") || strings.HasPrefix(f, "cudaGetParameterBuffer") ||
		strings.HasPrefix(f, "__cudaCDP"):
		return "it launches kernels itself"
	}
	return "it calls " + f + ", of which nothing is known here"
}
