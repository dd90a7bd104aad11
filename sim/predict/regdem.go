package predict

import "gnvcc/sim/sass"

// loopFactor is the paper's LOOP_FACTOR: how often a loop is taken to run.
const loopFactor = 10

// regDem is the stall count of Fig. 5 of Sakdhnagool, Sabne, Eigenmann, "RegDem: Increasing GPU
// Performance via Shared Memory Register Spilling", as printed: blocks in the order of the code,
// one tracker of scoreboards that goes on from block to block, waits for loads only, ten rounds a
// loop, all blocks summed. occupancy is 0 to 1.
//
// What is off in it today: a scoreboard may still be pending over a back edge, where this tracker
// has long forgotten it; and waits for anything but global and shared memory cost nothing. Ours is
// beside it for that.
func regDem(f *sass.Function, flow *sass.Flow, u *Units, occupancy float64) float64 {
	type track struct {
		inst  *sass.Inst
		stall float64
	}
	var tracker [6]track
	stalls := make([]float64, len(flow.Blocks))
	for b := range flow.Blocks {
		for k := flow.Blocks[b].Start; k < flow.Blocks[b].End; k++ {
			i := &f.Insts[k]
			stall := float64(i.Stall) * occupancy * u.most() / u.rate(i.Class()) // Eq. 2
			if i.Read < len(tracker) {
				tracker[i.Read] = track{i, 0}
			}
			if i.Write < len(tracker) {
				tracker[i.Write] = track{i, 0}
			}
			for w := range tracker {
				t := &tracker[w]
				if i.Wait>>w&1 == 0 || t.inst == nil {
					continue
				}
				switch t.inst.Space() {
				case sass.Global, sass.Generic:
					stalls[b] += max(0, u.Global-t.stall)
				case sass.Shared:
					stalls[b] += max(0, u.SharedMemory-t.stall)
				}
			}
			for w := range tracker {
				tracker[w].stall += stall
			}
			stalls[b] += stall
		}
	}
	sum := 0.0
	for b := range flow.Blocks {
		weight := 1.0
		for range min(flow.Blocks[b].Depth, mostDepth) {
			weight *= loopFactor
		}
		sum += weight * stalls[b]
	}
	return sum
}

// mostDepth bounds the powers of loopFactor: deeper nests are hostile files.
const mostDepth = 6

// Slower is RegDem's time of an estimate (Eq. 3): the stall count with what the occupancy costs by
// f, whose scale does not matter; most is the largest occupancy among the candidates.
func (r *Run) Slower(e *Estimate, most float64) float64 {
	return e.Paper * slowdown(e.Fraction) / slowdown(most)
}

// slowdown stands in for the paper's f(x), which its authors measured with compute-bound
// programs on Maxwell: time falls as 1/x until half of the warp slots are in use, and hardly
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
