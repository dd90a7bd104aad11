// The table of architectures, Kepler (3.5, the oldest that CUDA 11 compiles for) to Blackwell.
//
// Sources:
//   - "Technical Specifications per Compute Capability" of NVIDIA's CUDA programming guides (8.0
//     for Kepler, 13.x for the rest): threads, warps, blocks, registers, shared memory.
//   - cuda_occupancy.h, which every toolkit has (13.5): allocation units,
//     sub-partitions, blocks, barriers. The tests run the occupancy rules against it.
//   - cuda/__device/arch_traits.h of the 13.5 toolkit's CCCL: the tests compare every row that it
//     has (5.0 and later).
//
// Where they differ: 5.2 has 32 K registers per block in the guide of CUDA 7 and 64 K from 8.0 on
// and in arch_traits.h. 10.3 has two barriers per block slot in 13.0's header, one in 13.5's, which
// is taken. 10.7 is left out: its shared memory is 228 KB in the one and 328 KB in the other of
// 13.5's headers.

package sim

import "sort"

// A Device is what one architecture allows, per multiprocessor (SM) if not said otherwise.
type Device struct {
	CC   int    // compute capability: 90 for 9.0
	Arch string // "Hopper"
	// Product is one product with SMs multiprocessors. Their number is no property of the
	// architecture: set SMs from the GPU where there is one. Only the grid's effect depends on it; 0
	// is "unknown".
	Product string
	SMs     int

	Threads         int // resident
	Warps           int // resident
	Blocks          int // resident
	Registers       int // 32-bit
	BlockRegisters  int // largest number that one block may use
	ThreadRegisters int // largest number that one thread may use
	RegisterUnit    int // registers are given to a warp in multiples of this
	Partitions      int // an SM's warp schedulers, each with its share of the registers
	Shared          int // bytes
	BlockShared     int // bytes that one block may use without asking
	OptIn           int // bytes that one block may use after cuFuncSetAttribute
	SharedUnit      int // shared memory is given in multiples of this, bytes
	// bytes that the driver takes of each block's shared memory on top of the kernel's own
	Reserved int
	Barriers int // named barriers (bar.sync); 0: cuda_occupancy.h knows no limit
}

// BlockThreads is the largest block, in threads, on every architecture of the table.
const BlockThreads = 1024

const warpSize = 32

const kb = 1024

var devices = []Device{
	{35, "Kepler", "Tesla K40", 15, 2048, 64, 16, 64 * kb, 64 * kb, 255, 256, 4, 48 * kb, 48 * kb, 48 * kb, 256, 0, 0},
	{37, "Kepler", "Tesla K80", 13, 2048, 64, 16, 128 * kb, 64 * kb, 255, 256, 4, 112 * kb, 48 * kb, 48 * kb, 256, 0, 0},
	{50, "Maxwell", "GTX 750 Ti", 5, 2048, 64, 32, 64 * kb, 64 * kb, 255, 256, 4, 64 * kb, 48 * kb, 48 * kb, 256, 0, 0},
	{52, "Maxwell", "GTX 980", 16, 2048, 64, 32, 64 * kb, 64 * kb, 255, 256, 4, 96 * kb, 48 * kb, 48 * kb, 256, 0, 0},
	{53, "Maxwell", "Tegra X1", 2, 2048, 64, 32, 64 * kb, 32 * kb, 255, 256, 4, 64 * kb, 48 * kb, 48 * kb, 256, 0, 0},
	{60, "Pascal", "P100", 56, 2048, 64, 32, 64 * kb, 64 * kb, 255, 256, 2, 64 * kb, 48 * kb, 48 * kb, 256, 0, 0},
	{61, "Pascal", "GTX 1080", 20, 2048, 64, 32, 64 * kb, 64 * kb, 255, 256, 4, 96 * kb, 48 * kb, 48 * kb, 256, 0, 0},
	{62, "Pascal", "Jetson TX2", 2, 2048, 64, 32, 64 * kb, 32 * kb, 255, 256, 4, 64 * kb, 48 * kb, 48 * kb, 256, 0, 0},
	{70, "Volta", "V100", 80, 2048, 64, 32, 64 * kb, 64 * kb, 255, 256, 4, 96 * kb, 48 * kb, 96 * kb, 256, 0, 0},
	{72, "Volta", "Jetson AGX Xavier", 8, 2048, 64, 32, 64 * kb, 64 * kb, 255, 256, 4, 96 * kb, 48 * kb, 96 * kb, 256, 0, 0},
	{75, "Turing", "T4", 40, 1024, 32, 16, 64 * kb, 64 * kb, 255, 256, 4, 64 * kb, 48 * kb, 64 * kb, 256, 0, 0},
	{80, "Ampere", "A100", 108, 2048, 64, 32, 64 * kb, 64 * kb, 255, 256, 4, 164 * kb, 48 * kb, 163 * kb, 128, kb, 0},
	{86, "Ampere", "RTX 3090", 82, 1536, 48, 16, 64 * kb, 64 * kb, 255, 256, 4, 100 * kb, 48 * kb, 99 * kb, 128, kb, 0},
	{87, "Ampere", "Jetson AGX Orin", 16, 1536, 48, 16, 64 * kb, 64 * kb, 255, 256, 4, 164 * kb, 48 * kb, 163 * kb, 128, kb, 0},
	{88, "Ampere", "", 0, 1536, 48, 16, 64 * kb, 64 * kb, 255, 256, 4, 100 * kb, 48 * kb, 99 * kb, 128, kb, 0},
	{89, "Ada", "RTX 4090", 128, 1536, 48, 24, 64 * kb, 64 * kb, 255, 256, 4, 100 * kb, 48 * kb, 99 * kb, 128, kb, 0},
	{90, "Hopper", "H100 SXM, H200", 132, 2048, 64, 32, 64 * kb, 64 * kb, 255, 256, 4, 228 * kb, 48 * kb, 227 * kb, 128, kb, 64},
	{100, "Blackwell", "B200", 148, 2048, 64, 32, 64 * kb, 64 * kb, 255, 256, 4, 228 * kb, 48 * kb, 227 * kb, 128, kb, 64},
	{101, "Blackwell", "Jetson Thor", 20, 1536, 48, 24, 64 * kb, 64 * kb, 255, 256, 4, 228 * kb, 48 * kb, 227 * kb, 128, kb, 24}, // 11.0's name before CUDA 13
	{103, "Blackwell", "", 0, 2048, 64, 32, 64 * kb, 64 * kb, 255, 256, 4, 228 * kb, 48 * kb, 227 * kb, 128, kb, 32},
	{110, "Blackwell", "Jetson Thor", 20, 1536, 48, 24, 64 * kb, 64 * kb, 255, 256, 4, 228 * kb, 48 * kb, 227 * kb, 128, kb, 24},
	{120, "Blackwell", "RTX 5090", 170, 1536, 48, 24, 64 * kb, 64 * kb, 255, 256, 4, 100 * kb, 48 * kb, 99 * kb, 128, kb, 24},
	{121, "Blackwell", "GB10", 48, 1536, 48, 24, 64 * kb, 64 * kb, 255, 256, 4, 100 * kb, 48 * kb, 99 * kb, 128, kb, 24},
}

// Lookup finds the architecture of a compute capability (90 for sm_90). There is no guess for one
// that it does not know.
func Lookup(cc int) (Device, bool) {
	i := sort.Search(len(devices), func(i int) bool { return devices[i].CC >= cc })
	if i < len(devices) && devices[i].CC == cc {
		return devices[i], true
	}
	return Device{}, false
}

// Devices lists the table, in order of compute capability.
func Devices() []Device { return append([]Device(nil), devices...) }
