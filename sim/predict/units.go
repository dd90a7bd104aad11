package predict

import (
	"fmt"
	"sort"

	"gnvcc/sim/sass"
)

// Source says where the figures are from.
const Source = "NVIDIA's programming guide (rates) and data sheets (memory); latencies as on an H200"

// Units are an SM's rates and latencies by class of instruction.
type Units struct {
	// Rate is results of one lane per cycle and SM, as in NVIDIA's table of arithmetic throughput; 0:
	// as Integer.
	Rate [sass.Classes]float64
	// Latency is cycles until a result can be used; of arithmetic the stall counts tell it, so that it
	// matters for what a scoreboard guards.
	Latency [sass.Classes]float64
	// cycles of a load: from device memory, from shared memory, from L1
	Global, SharedMemory, Near float64
	Sectors                    float64 // of 32 bytes, that device memory gives one SM per cycle
	Schedulers                 float64 // instructions of warps per cycle
}

// byGuide has rates from the table "Throughput of Native Arithmetic Instructions" of NVIDIA's CUDA
// programming guide (results per cycle and SM). Columns: 32-bit, 64-bit and 16-bit floating point,
// integers, special functions, conversions from and to 64-bit types, loads and stores (lanes).
var byGuide = map[int][7]float64{
	75:  {64, 2, 128, 64, 16, 16, 16},
	80:  {64, 32, 256, 64, 16, 16, 32},
	86:  {128, 2, 128, 64, 16, 16, 32},
	87:  {128, 2, 128, 64, 16, 16, 32},
	88:  {128, 2, 128, 64, 16, 16, 32},
	89:  {128, 2, 128, 64, 16, 16, 32},
	90:  {128, 64, 256, 64, 16, 64, 32},
	100: {128, 64, 256, 64, 16, 64, 32},
	101: {128, 2, 128, 64, 16, 16, 32},
	103: {128, 2, 256, 64, 16, 16, 32},
	110: {128, 2, 128, 64, 16, 16, 32},
	120: {128, 2, 128, 64, 16, 16, 32},
	121: {128, 2, 128, 64, 16, 16, 32},
}

// bandwidth is device memory's bandwidth in GB/s, clock in MHz and SMs of the product that
// sim.Device names, from NVIDIA's data sheets: together the sectors per cycle of one SM.
var bandwidth = map[int][3]float64{
	75: {320, 1590, 40}, 80: {1555, 1410, 108}, 86: {936, 1695, 82}, 87: {205, 1300, 16},
	88: {205, 1300, 16}, 89: {1008, 2520, 128},
	90: {3350, 1980, 132}, 100: {8000, 1965, 148}, 101: {273, 1575, 20}, 103: {8000, 1965, 148},
	110: {273, 1575, 20},
	120: {1792, 2407, 170}, 121: {273, 2418, 48},
}

// ForArchitecture gives what NVIDIA's tables say of an architecture. Latencies are no part of any
// table of NVIDIA's: they are those of an H200 (bench/results/2026-11-22-predict), rounded, as
// Source says.
func ForArchitecture(cc int) (Units, error) {
	r, ok := byGuide[cc]
	if !ok {
		var known []int
		for k := range byGuide {
			known = append(known, k)
		}
		sort.Ints(known)
		return Units{}, fmt.Errorf("rates of sm_%d: not in the table, which has %v", cc, known)
	}
	b := bandwidth[cc]
	u := Units{
		Global: 650, SharedMemory: 30, Near: 40, Schedulers: 4,
		Sectors: b[0] * 1e9 / (b[1] * 1e6) / b[2] / 32,
	}
	set := func(rate, latency float64, classes ...sass.Class) {
		for _, c := range classes {
			u.Rate[c], u.Latency[c] = rate, latency
		}
	}
	set(r[0], 4, sass.FP32)
	set(r[3], 4, sass.IMAD)
	set(r[1], 8, sass.FP64)
	set(r[2], 5, sass.FP16)
	set(r[3], 4, sass.Integer)
	set(r[4], 17, sass.SFU)
	set(r[5], 17, sass.Convert)
	set(r[6], 26, sass.Shuffle, sass.Load, sass.Store, sass.Atomic, sass.Texture)
	set(64, 30, sass.Constant)
	set(16, 24, sass.Special)
	set(1024, 20, sass.Tensor)
	set(64, 8, sass.Uniform, sass.Branch, sass.Barrier, sass.Other, sass.Unknown)
	return u, nil
}

// rate is a class's rate, never 0.
func (u *Units) rate(c sass.Class) float64 {
	if r := u.Rate[c]; r > 0 {
		return r
	}
	return 64
}

// latency is how long a result guarded by a scoreboard takes.
func (u *Units) latency(i *sass.Inst) float64 {
	switch i.Space() {
	case sass.Global, sass.Generic, sass.TextureSpace:
		return u.Global
	case sass.Shared:
		return u.SharedMemory
	case sass.Local:
		return u.Near
	}
	if l := u.Latency[i.Class()]; l > 0 {
		return l
	}
	return 20
}
