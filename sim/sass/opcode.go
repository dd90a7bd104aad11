package sass

import "sync"

// A Class groups operations that share a pipe, or a way of taking time.
type Class uint8

// The classes.
const (
	Unknown Class = iota
	FP32          // FADD, FMUL, FFMA, comparisons
	FP64
	FP16    // HADD2, HMUL2, HFMA2: two at a time
	Tensor  // HMMA, IMMA, DMMA
	Integer // ALU: logic, additions, comparisons, selections, moves
	IMAD    // integer multiply-add, which shares the FP32 multiplier
	SFU     // MUFU: reciprocals, roots, sine, exponentials
	Convert // between number formats, bit counting: a quarter rate and less
	Shuffle // between lanes: SHFL, VOTE, MATCH, REDUX
	Load
	Store
	Atomic
	Texture
	Constant // LDC, LDCU, ULDC: loads from constant banks
	Special  // S2R and what else reads a slow place
	Barrier  // BAR, DEPBAR, MEMBAR, WARPSYNC
	Branch   // all that changes the program counter
	Uniform  // the warp's scalar unit
	Other    // NOP, hints
	Classes  // their number
)

var classNames = [Classes]string{"unknown", "fp32", "fp64", "fp16", "tensor", "integer", "imad",
	"sfu", "convert", "shuffle",
	"load", "store", "atomic", "texture", "constant", "special", "barrier", "branch", "uniform",
	"other"}

func (c Class) String() string {
	if c < Classes {
		return classNames[c]
	}
	return "unknown"
}

// A Space is a kind of memory.
type Space uint8

// The spaces.
const (
	NoSpace Space = iota
	Global
	Shared
	Local // of one thread: arrays and spills
	Generic
	ConstantBank
	TextureSpace
)

var spaceNames = [...]string{"", "global", "shared", "local", "generic", "constant", "texture"}

func (s Space) String() string { return spaceNames[s] }

// An op is a row of the table. Its registers stand in a short form:
//
//	destination  r R  general register, pair      u U  uniform ones    m  as many as the memory access is wide    -  none
//	sources      a b c  the slots at bits 24, 32 and 64; A B C where they hold a pair; d  m words of data at 32
//	             i j k  the same slots, always uniform; I J K pairs
//	predicates   p q  written, at bits 81 and 84; x y  read, at bits 87 and 77
//
// Slot b holds a register with form 1 only (bits 9 to 11), a uniform one with forms 6 and 7, else
// an immediate or a place in a constant bank. What does not fit the short form is a case of special
// in inst.go, or, as far as they are sources, in the tests (reads_test.go).
type op struct {
	code  uint16 // the low nine bits
	name  string
	class Class
	regs  string
	space Space
	since int // first compute capability with this meaning of the code, 0: all
	until int // last one, 0: all
}

// find is the table by the low nine bits. A code has two rows at most.
var find = sync.OnceValue(func() *[512][]*op {
	var find [512][]*op
	for i := range table {
		o := &table[i]
		find[o.code] = append(find[o.code], o)
	}
	return &find
})

func lookup(code uint16, cc int) *op {
	for _, o := range find()[code&511] {
		if (o.since == 0 || cc >= o.since) && (o.until == 0 || cc <= o.until) {
			return o
		}
	}
	return nil
}
