package main

import (
	"gnvcc/sim/predict"
	"gnvcc/sim/sass"
)

// The predictor of Sakdhnagool, Sabne, Eigenmann, "RegDem: Increasing GPU Performance via Shared
// Memory Register Spilling", as printed: to compare ours with, nothing uses it.

const (
	loopFactor = 10 // the paper's LOOP_FACTOR: how often a loop is taken to run
	mostDepth  = 6  // bounds its powers
)

// stallCount is Fig. 5: blocks in the order of the code, one tracker of scoreboards that goes on from
// block to block, waits for loads only, all blocks summed. occupancy is 0 to 1.
//
// What is off in it today: a scoreboard may still be pending over a back edge, where this tracker has
// forgotten it; waits for anything but global and shared memory cost nothing.
func stallCount(r *predict.Run, occupancy float64) (sum float64) {
	type track struct {
		inst  *sass.Inst
		stall float64
	}
	var tracker [6]track
	most := 0.0 // the fastest class
	for _, x := range r.Units.Rate {
		most = max(most, x)
	}
	for _, b := range r.Function.Flow().Blocks {
		stalls := 0.0
		for k := b.Start; k < b.End; k++ {
			i := &r.Function.Insts[k]
			rate := r.Units.Rate[i.Class()]
			if rate <= 0 {
				rate = most
			}
			stall := float64(i.Stall) * occupancy * most / rate // Eq. 2
			for _, w := range []int{i.Read, i.Write} {
				if w < len(tracker) {
					tracker[w] = track{i, 0}
				}
			}
			for w, t := range tracker {
				if i.Wait>>w&1 == 0 || t.inst == nil {
					continue
				}
				switch t.inst.Space() {
				case sass.Global, sass.Generic:
					stalls += max(0, r.Units.Global-t.stall)
				case sass.Shared:
					stalls += max(0, r.Units.SharedMemory-t.stall)
				}
			}
			for w := range tracker {
				tracker[w].stall += stall
			}
			stalls += stall
		}
		for range min(b.Depth, mostDepth) {
			stalls *= loopFactor
		}
		sum += stalls
	}
	return sum
}

// slowdown stands in for f of Eq. 3, execution time by occupancy, which the authors measured with
// compute-bound programs on Maxwell: it falls as 1/x until half of the warps are resident, and hardly
// beyond.
func slowdown(x float64) float64 {
	const knee = 0.5
	switch {
	case x <= 0:
		return 1e9
	case x < knee:
		return knee / x
	}
	return 1 - 0.02*(x-knee)/knee
}

// rankByPaper puts Eq. 3 into a kernel's trials, over the default's: the stall count with what the
// occupancy costs.
func (k *kernel) rankByPaper() {
	largest := 0.0
	for _, t := range k.trials {
		largest = max(largest, t.run.Device.Fraction(t.estimate.Occupancy))
	}
	for n := range k.trials {
		t := &k.trials[n]
		x := t.run.Device.Fraction(t.estimate.Occupancy)
		t.paper = stallCount(&t.run, x) * slowdown(x) / slowdown(largest)
	}
	for n := len(k.trials) - 1; n >= 0; n-- {
		k.trials[n].paper /= k.trials[0].paper
	}
}

func (k kernel) paper() []float64 { return k.each(func(t trial) float64 { return t.paper }) }
