// The facts of a cubin, gathered from where each toolkit puts them.
//
// Two layouts are in use. ABI 7 (11.x, and 12.x up to sm_90): the target in the low byte of
// e_flags, registers also in the top byte of the code section's sh_info, barriers in bits 20 and up
// of its sh_flags. ABI 8 (12.x from sm_100 on, every target with 13.x): the target in bits 8 and up
// of e_flags, registers and barriers in .nv.info. All toolkits looked at (11.8, 12.0, 12.4, 12.9,
// 13.0, 13.5) write EIATTR_REGCOUNT, which therefore decides; sh_info stands in for older ones.

package cubin

import (
	"fmt"
	"math"
	"sort"
	"strconv"
	"strings"
)

// A File is what a cubin says about itself.
type File struct {
	Target int // 90 for sm_90 (sm_90a too: the suffix makes no difference here)
	// ptxas -c: a device link follows, before which registers and stack of callees are unknown
	Relocatable bool
	Kernels     []Kernel // in order of name
	Globals     []Global // in order of name
}

// A Kernel is one entry function.
type Kernel struct {
	Name      string // mangled
	Registers int    // per thread, 0 if the file does not say; with -rdc=true see linked.go
	Shared    int    // static shared memory of the user's, bytes per block, as in ptxas -v
	// Reserved is what the tools put in front of it, bytes per block: 1024 in executable cubins from
	// sm_90 on. On sm_80 to sm_89 the driver takes as much without a trace in the file.
	Reserved int
	Stack    int // bytes of the kernel's own stack frame per thread: local arrays and spills
	// StackAll is the least stack with the callees', bytes per thread. Recursion and calls by pointer
	// make it a lower bound.
	StackAll int
	Barriers int // named barriers used, 0 to 16
	// the largest block that may be launched by .maxntid or .reqntid, 0: none given
	MaxThreads    int
	MaxBlock      [3]int // .maxntid (__launch_bounds__), zeroes: none
	Required      [3]int // .reqntid (__block_size__), zeroes: none
	Cluster       [3]int // .reqnctapercluster, zeroes: none
	ClusterLaunch bool   // .explicitcluster: needs a launch with clusters
	// calls functions that were not inlined, or the system (printf, malloc, assert)
	Calls      bool
	ParamBytes int // of all parameters, without gaps behind the last
	Params     []Param
}

// A Param is one parameter of a kernel, in order.
type Param struct {
	Ordinal, Offset, Size int // offset and size in bytes, within the parameter block
}

// A Global is a variable in device memory: __device__, __constant__, __managed__, or a constant of
// the compiler's (string literals: "$str").
type Global struct {
	Name    string
	Size    int
	Section string // .nv.global, .nv.global.init, .nv.constant3
}

const (
	kindObject     = 1
	kindFunction   = 2
	kindCUDAObject = 13 // STT_CUDA_OBJECT, in relocatable files

	otherEntry = 0x10 // STO_CUDA_ENTRY

	reservedShared = 1024 // bytes per block; the linker's symbol .nv.reservedSmem.cap has this value
)

// Read reads a cubin. It fails on anything that is no cubin; what a cubin does not say stays zero.
func Read(b []byte) (*File, error) {
	c, err := readContainer(b)
	if err != nil {
		return nil, fmt.Errorf("read cubin: %w", err)
	}
	f := &File{Relocatable: c.typ == typeRelocatable, Target: int(c.flags & 0xff)}
	if c.osabi == 0x41 { // ABI 8
		f.Target = int(c.flags >> 8 & 0xffff)
	}
	if f.Target < 10 || f.Target > 999 {
		return nil, fmt.Errorf("read cubin: flags %#x, ABI %d: no known way of naming the target",
			c.flags, c.abi)
	}
	byName := make(map[string]*section, len(c.sections))
	for i := range c.sections {
		s := &c.sections[i]
		if byName[s.name] == nil {
			byName[s.name] = s
		}
	}
	at := f.kernels(c, byName)
	f.attributes(c, byName, at)
	f.linked(c, byName, at)
	f.globals(c)
	sort.SliceStable(f.Kernels, func(i, j int) bool { return f.Kernels[i].Name < f.Kernels[j].Name })
	sort.SliceStable(f.Globals, func(i, j int) bool { return f.Globals[i].Name < f.Globals[j].Name })
	return f, nil
}

// Kernel returns the kernel of a name.
func (f *File) Kernel(name string) (Kernel, bool) {
	i := sort.Search(len(f.Kernels), func(i int) bool { return f.Kernels[i].Name >= name })
	if i < len(f.Kernels) && f.Kernels[i].Name == name {
		return f.Kernels[i], true
	}
	return Kernel{}, false
}

// kernels lists the entry functions with what stands in sections of their own. The result maps a
// symbol to its kernel's place in f.Kernels.
func (f *File) kernels(c *container, byName map[string]*section) map[uint32]int {
	at := map[uint32]int{}
	taken := map[int]int{} // code section -> kernel: each serves one
	for n, s := range c.symbols {
		if s.kind != kindFunction || s.other&otherEntry == 0 || s.section == 0 {
			continue
		}
		code := &c.sections[s.section]
		if code.name != ".text."+s.name {
			continue
		}
		if _, twice := taken[s.section]; twice {
			continue
		}
		taken[s.section], at[uint32(n)] = len(f.Kernels), len(f.Kernels)
		k := Kernel{Name: s.name}
		if c.osabi != 0x41 { // with ABI 8 all of sh_info is a symbol's index
			k.Registers = int(code.info >> 24)
		}
		k.Barriers = int(code.flags >> 20 & 0x7f)
		if own := byName[".nv.info."+s.name]; own != nil {
			k.own(own.data)
		}
		if shared := byName[".nv.shared."+s.name]; shared != nil {
			k.Shared = number(shared.size)
			// so with ptxas and nvlink of 11.8 to 13.5, marked by symbols in some only
			if f.Target >= 90 && !f.Relocatable {
				k.Reserved = min(k.Shared, reservedShared)
				k.Shared -= k.Reserved
			}
		}
		k.MaxThreads = volume(k.MaxBlock)
		if r := volume(k.Required); r > 0 {
			k.MaxThreads = r
		}
		sort.SliceStable(k.Params, func(i, j int) bool {
			return k.Params[i].Ordinal < k.Params[j].Ordinal
		})
		f.Kernels = append(f.Kernels, k)
	}
	// A function that was not inlined stands behind its only caller, in the caller's section
	// ("$kernel$function").
	for _, s := range c.symbols {
		if k, ok := taken[s.section]; ok && s.kind == kindFunction && s.other&otherEntry == 0 &&
			s.section != 0 {
			f.Kernels[k].Calls = true
		}
	}
	return at
}

// attributes takes what .nv.info and .nv.callgraph say about functions by their symbols.
func (f *File) attributes(c *container, byName map[string]*section, at map[uint32]int) {
	if all := byName[".nv.info"]; all != nil {
		records(all.data, func(attr byte, value []byte) {
			i, ok := at[word(value, 0)]
			if !ok || len(value) < 8 {
				return
			}
			k, n := &f.Kernels[i], number(uint64(word(value, 1)))
			switch attr {
			case attrRegisters:
				k.Registers = n
			case attrFrame:
				k.Stack = n
			case attrMinStack:
				k.StackAll = n
			}
		})
	}
	if calls := byName[".nv.callgraph"]; calls != nil {
		for i := 0; i+8 <= len(calls.data); i += 8 { // caller, callee; callees from -4 to -1 are marks
			caller, callee := word(calls.data[i:], 0), word(calls.data[i:], 1)
			if k, ok := at[caller]; ok && callee < uint32(len(c.symbols)) {
				f.Kernels[k].Calls = true
			}
		}
	}
}

// globals lists the variables. Symbols without a section are other files' (extern __device__ in
// -rdc builds).
func (f *File) globals(c *container) {
	for _, s := range c.symbols {
		if s.kind != kindObject && s.kind != kindCUDAObject || s.section == 0 || s.name == "" {
			continue
		}
		where := c.sections[s.section].name
		if !variables(where) {
			continue
		}
		f.Globals = append(f.Globals, Global{s.name, number(s.size), where})
	}
}

// variables reports whether a section holds variables of the user's: global memory and the constant
// banks of the module. Banks that carry a kernel's name hold its parameters and literals.
func variables(name string) bool {
	if name == ".nv.global" || name == ".nv.global.init" {
		return true
	}
	bank, ok := strings.CutPrefix(name, ".nv.constant")
	if !ok {
		return false
	}
	_, err := strconv.ParseUint(bank, 10, 8)
	return err == nil
}

func volume(block [3]int) int {
	n := 1
	for _, v := range block {
		if v < 0 || v > 1<<16 { // no block is larger in one direction
			return 0
		}
		n *= v
	}
	return n
}

// number narrows a file's 64-bit field to an int; what does not fit can't be true and becomes the
// largest 32-bit one.
func number(n uint64) int {
	return int(min(n, math.MaxInt32))
}
