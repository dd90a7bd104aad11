// The machine code of a cubin: bytes by function, for sim/sass to decode.

package cubin

import (
	"fmt"
	"sort"
	"strings"
)

// A Code is one code section: a kernel, or a device function of a file that is linked later, with
// what stands behind it.
type Code struct {
	Name      string // of the section's function, mangled
	Kernel    bool   // an entry
	Data      []byte // instruction words, 16 bytes each since sm_70
	Functions []Part // in order of offset; the first is the section's own
	// Jumps are the targets of branches through registers (EIATTR_INDIRECT_BRANCH_TARGETS), by the
	// branch's offset.
	Jumps map[int][]int
}

// A Part is one function of a section: offset and size in bytes.
type Part struct {
	Name         string
	Offset, Size int
}

// attrJumps is EIATTR_INDIRECT_BRANCH_TARGETS; jumps reads it.
const attrJumps = 0x34

// ReadCode lists the code sections of a cubin, in order of name, and the target (90 for sm_90).
func ReadCode(b []byte) ([]Code, int, error) {
	f, err := Read(b)
	if err != nil {
		return nil, 0, err
	}
	c, err := readContainer(b)
	if err != nil {
		return nil, 0, fmt.Errorf("read cubin: %w", err)
	}
	at := map[int]int{} // section -> place in out
	var out []Code
	info := map[string][]byte{}
	whole := 0
	for i := range c.sections {
		s := &c.sections[i]
		if name, ok := strings.CutPrefix(s.name, ".nv.info."); ok {
			info[name] = s.data
		}
		name, ok := strings.CutPrefix(s.name, ".text.")
		if !ok || len(s.data) == 0 {
			continue
		}
		if whole += len(s.data); whole > len(b) { // else a small file could cost any amount of memory
			return nil, 0, fmt.Errorf(
				"read cubin: its code sections overlap: together they are larger than the file of %d bytes",
				len(b))
		}
		at[i] = len(out)
		out = append(out, Code{Name: name, Data: s.data})
	}
	for _, s := range c.symbols {
		i, ok := at[s.section]
		if !ok || s.kind != kindFunction || s.section == 0 || s.value > uint64(len(out[i].Data)) {
			continue
		}
		size := min(s.size, uint64(len(out[i].Data))-s.value)
		out[i].Functions = append(out[i].Functions, Part{s.name, int(s.value), int(size)})
		if s.name == out[i].Name && s.other&otherEntry != 0 {
			out[i].Kernel = true
		}
	}
	for i := range out {
		out[i].Jumps = jumps(info[out[i].Name], len(out[i].Data))
		parts := out[i].Functions
		sort.SliceStable(parts, func(a, b int) bool { return parts[a].Offset < parts[b].Offset })
	}
	sort.SliceStable(out, func(i, j int) bool { return out[i].Name < out[j].Name })
	return out, f.Target, nil
}

// jumps reads the tables of indirect branches: for each the branch's offset, 0, the number of
// targets, then these (32-bit words). What does not fit is left out.
func jumps(data []byte, size int) map[int][]int {
	var out map[int][]int
	records(data, func(attr byte, value []byte) {
		if attr != attrJumps {
			return
		}
		for len(value) >= 12 {
			from, n := int(word(value, 0)), int(word(value, 2))
			value = value[12:]
			if n > len(value)/4 {
				return
			}
			if out == nil {
				out = map[int][]int{}
			}
			for i := range n {
				if to := int(word(value, i)); to < size {
					out[from] = append(out[from], to)
				}
			}
			value = value[4*n:]
		}
	})
	return out
}
