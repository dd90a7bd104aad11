package pass

import "bytes"

// What a launch may have, as far as it is the same on all architectures.

// DynamicAlign is what the size of our array is a multiple of where a dynamic array lies behind it:
// that begins at an address as even as before, up to the most that hardware asks for (TMA's
// swizzles).
const DynamicAlign = 1024

func RoundUp(n, unit int) int { return (n + unit - 1) / unit * unit }

// SharedLimit is how much shared memory a block may have without cuFuncSetAttribute, bytes, on all
// architectures.
const SharedLimit = 48 << 10

const MaxThreads = 1024 // per block, all architectures

// Warp is the number of threads of a warp, on every GPU so far.
const Warp = 32

func Threads(block [3]int) int { return block[0] * block[1] * block[2] }

// The range of register counts that make sense for .maxnreg.
const (
	// ptxas 11.8 .. 13.5: "adjusting per thread register count of 23 to lower bound of 24"
	MinRegisters = 24
	MaxRegisters = 255 // of the instruction set since sm_35
)

// ReadsSharedSize reports whether a PTX text reads how much shared memory a launch has.
func ReadsSharedSize(text []byte) bool {
	for _, register := range []string{"%dynamic_smem_size", "%total_smem_size", "%aggr_smem_size"} {
		if bytes.Contains(text, []byte(register)) {
			return true
		}
	}
	return false
}
