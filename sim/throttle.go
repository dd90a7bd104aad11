// Throttling: how a launch is changed so that fewer blocks of it are resident.
//
// Li's thesis (2016), section 3.6: fewer threads share the cache, so that what each of them uses
// again is still there. The means is shared memory that stays unused. On Fermi that cost nothing,
// as L1 had a size of its own. Since Volta L1 is what the shared memory leaves of one store (256 KB
// on sm_90), so that filling all of the shared memory would take the very cache that is to be
// saved: on an H200, kernels that gain by throttling then took 1.5 to 3 times as long as
// unthrottled. So the preference for the size of the shared memory ("carveout") is set too, as
// small as it can be: then a few KB a block are enough. On sm_90, 3 blocks: a carveout of 8 KB, of
// which each block takes 2,688 bytes, its 1 KB for the driver included; 248 KB stay L1.
//
// How the driver reads the preference P, in bytes of the largest size, was measured (H200, driver
// 580.159: resident blocks of 128 threads under 9 preferences with 11 sizes of dynamic shared
// memory): it takes the smallest size that holds P, and also as many blocks as P holds of the
// kernel's own bytes, with the driver's KB for each. cuda_occupancy.h and
// cudaOccupancyMaxActiveBlocks- PerMultiprocessor leave the second half out, and so promise half as
// many blocks as there are when these are small. Throttle keeps to where both agree. It is a hint
// all the same: where the driver does not take it, more blocks are resident, and nothing fails.

package sim

// A Reserve is how a launch is changed.
type Reserve struct {
	On      bool
	Dynamic int // bytes of dynamic shared memory on top of what the launch asks for
	// the preferred size of the shared memory, in percent of the largest
	// (cudaFuncAttributePreferredSharedMemoryCarveout)
	Carveout int
}

// carveouts lists the sizes that an SM's shared memory can have, in bytes (cuda_occupancy.h of
// 13.5; the tests compare).
func (d Device) carveouts() []int {
	var all []int
	switch {
	case d.CC < 70:
	case d.CC < 75:
		all = []int{8, 16, 32, 64, 96}
	case d.CC == 75:
		all = []int{32, 64}
	default:
		all = []int{8, 16, 32, 64, 100, 132, 164, 196, 228}
	}
	var out []int
	for _, size := range all {
		if size*kb <= d.Shared {
			out = append(out, size*kb)
		}
	}
	return out
}

// preferred is the size of the shared memory under a preference in percent, for blocks that take so
// many bytes of their own: see above. 0: the architecture has no preference.
func (d Device) preferred(percent, shared int) int {
	want := d.Shared * percent / 100
	if shared > 0 {
		want = max(want, want/shared*roundUp(shared+d.Reserved, d.SharedUnit))
	} else {
		want = max(want, d.Blocks*d.Reserved)
	}
	want = max(want, roundUp(shared+d.Reserved, d.SharedUnit))
	largest := 0
	for _, largest = range d.carveouts() {
		if largest >= want {
			break
		}
	}
	return largest
}

// Throttle says how a launch whose blocks take so many bytes of shared memory, static and dynamic,
// is kept to a number of resident blocks. It is false where that can't be done: the architecture is
// older than Volta or not known, or the blocks take so much that fewer are resident anyhow.
func (d Device) Throttle(blocks, shared int) (Reserve, bool) {
	if blocks < 1 || shared < 0 {
		return Reserve{}, false
	}
	percent := 0 // the least that gives this size
	for _, size := range d.carveouts() {
		each := size / blocks / d.SharedUnit * d.SharedUnit
		switch {
		case each < roundUp(shared+d.Reserved, d.SharedUnit), each*(blocks+1) <= size:
			// too little for so many, or one more would fit
		case each-d.Reserved > d.OptIn: // more than a block may have
		case each > d.Reserved && d.preferred(percent, each-d.Reserved) == size:
			return Reserve{On: true, Dynamic: each - d.Reserved - shared, Carveout: percent}, true
		}
		percent = size*100/d.Shared + 1
	}
	return Reserve{}, false
}

// Keeps says by how much more dynamic shared memory a launch whose blocks take so many bytes is
// kept to a number of resident blocks whatever size the shared memory has: one more would not fit
// into the largest. It takes no preference, which is the program's to choose, and it takes L1; so
// it is for runs that are not timed. False as for Throttle.
func (d Device) Keeps(blocks, shared int) (dynamic int, ok bool) {
	if blocks < 1 || shared < 0 || d.CC < 70 {
		return 0, false
	}
	each := min(d.Shared/blocks, d.OptIn+d.Reserved) / d.SharedUnit * d.SharedUnit
	dynamic = each - d.Reserved - shared
	return dynamic, dynamic > 0 && each*(blocks+1) > d.Shared
}
