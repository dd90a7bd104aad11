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

// An op is a row of the table.
type op struct {
	code  uint16 // the low nine bits
	name  string
	class Class
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
