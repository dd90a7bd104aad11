// How many blocks of a launch are resident on a multiprocessor at once.
//
// The rules are cuda_occupancy.h's. The one that is easily got wrong: registers are given to warps,
// not to blocks, and out of a sub-partition's own share. On sm_90, 8 warps of 36 registers: 36*32 =
// 1152 registers a warp, rounded up to 1280; a sub-partition has 16384, so 12 warps; 48 warps on
// the SM; 6 blocks. Eq. 3 of Li et al. (DATE 2016), which rounds a block's registers, gives 7.
//
// Not modelled: partitioned global caching (an option on 5.2, 5.3 and 6.1, off by default) and a
// carve-out of shared memory that the program set by cuFuncSetAttribute (the driver's default gives
// what the blocks need).

package sim

// A Shape is what a launch asks for, registers apart.
type Shape struct {
	Threads int // per block
	// bytes per block: static and dynamic, the kernel's own (the driver's reserve is added here)
	Shared   int
	Blocks   int // of the grid, 0: unknown, taken as many
	Barriers int // named barriers that the kernel uses (cubin.Kernel.Barriers), 0 to 16
}

// WarpsPerBlock is the number of warps of one block, the last one perhaps not full.
func (s Shape) WarpsPerBlock() int { return ceil(s.Threads, warpSize) }

// The values of Occupancy.Limit. Where several resources give the same number, the first of this
// list is named: so "registers" means that fewer registers alone would allow more.
const (
	LimitGrid      = "grid"
	LimitWarps     = "warps"
	LimitBlocks    = "blocks"
	LimitBarriers  = "barriers"
	LimitShared    = "shared memory"
	LimitRegisters = "registers"
	limitBlockSize = "block size" // no block of so many threads (or of none) can be launched
)

// An Occupancy is what is resident on one multiprocessor, on the busiest one where the grid is
// small.
type Occupancy struct {
	Blocks int    // 0: the launch fails
	Warps  int    // Blocks times the warps of a block
	Limit  string // what keeps it from being more, or from being possible at all
}

// Occupancy is how many blocks are resident. regs is the count per thread, as ptxas and the
// cubin give it.
func (d Device) Occupancy(regs int, s Shape) Occupancy {
	warps := s.WarpsPerBlock()
	if s.Threads < 1 || s.Threads > BlockThreads || s.Shared < 0 || regs < 0 {
		return Occupancy{Limit: limitBlockSize}
	}
	best := Occupancy{Blocks: 1 << 30}
	lower := func(blocks int, limit string) {
		if blocks < best.Blocks {
			best = Occupancy{Blocks: blocks, Limit: limit}
		}
	}
	if s.Blocks > 0 && d.SMs > 0 {
		lower(ceil(s.Blocks, d.SMs), LimitGrid) // blocks are dealt out evenly, one SM after the other
	}
	lower(d.Warps/warps, LimitWarps)
	lower(d.Blocks, LimitBlocks)
	if d.Barriers > 0 && s.Barriers > 0 {
		lower(d.Barriers/s.Barriers, LimitBarriers)
	}
	lower(d.sharedLimit(s.Shared), LimitShared)
	lower(d.registerLimit(regs, warps), LimitRegisters)
	best.Warps = best.Blocks * warps
	return best
}

// Fraction is the share of the SM's warp slots in use, 0 to 1: what profilers call theoretical
// occupancy.
func (d Device) Fraction(o Occupancy) float64 { return float64(o.Warps) / float64(d.Warps) }

// sharedLimit is how many blocks the shared memory holds, 0 if not one.
func (d Device) sharedLimit(bytes int) int {
	if bytes > d.OptIn {
		return 0
	}
	each := ceil(bytes+d.Reserved, d.SharedUnit) * d.SharedUnit
	if each == 0 {
		return d.Blocks
	}
	return d.Shared / each
}

// registerLimit says for how many blocks of so many warps the registers suffice, 0 if not for one.
func (d Device) registerLimit(regs, warps int) int {
	if regs > d.ThreadRegisters {
		return 0
	}
	if regs == 0 { // an empty kernel of old
		return d.Blocks
	}
	perWarp := d.perWarp(regs)
	// The check at launch assumes that every sub-partition gets as many warps as the fullest.
	if roundUp(warps, d.Partitions)*perWarp > d.BlockRegisters {
		return 0
	}
	blocks := d.Registers / d.Partitions / perWarp * d.Partitions / warps
	if d.CC == 60 && roundUp(warps, 4)*perWarp > d.BlockRegisters {
		// what no 6.1 could launch is not launched on 6.0 either, although its two sub-partitions would
		// hold it
		return 0
	}
	return blocks
}

// perWarp is the number of registers that one warp is given.
func (d Device) perWarp(regs int) int { return roundUp(regs*warpSize, d.RegisterUnit) }

// MostRegisters is the largest register count per thread with which a block of so many threads can
// be launched; 0 if there is no such block.
func (d Device) MostRegisters(threads int) int {
	if threads < 1 || threads > BlockThreads {
		return 0
	}
	for regs := d.ThreadRegisters; regs > 0; regs-- {
		if d.registerLimit(regs, ceil(threads, warpSize)) > 0 {
			return regs
		}
	}
	return 0
}

func ceil(a, b int) int    { return (a + b - 1) / b }
func roundUp(a, b int) int { return ceil(a, b) * b }
