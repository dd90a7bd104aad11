// Throttling: how a launch is changed so that fewer blocks of it are resident.
//
// Li's thesis (2016), section 3.6: fewer threads share the cache, so that what each of them uses again is still there. The
// means is shared memory that nobody uses. On Fermi that cost nothing, as L1 had a size of its own. Since Volta L1 is what the
// shared memory leaves of one store (256 KB on sm_90), so that filling all of the shared memory would take the very cache that
// is to be saved. So the preference for the size of the shared memory ("carveout") is set too, as small as it can be: then a few
// KB a block are enough. On sm_90, 3 blocks: a carveout of 8 KB, of which each block takes 2,688 bytes, its 1 KB for the driver
// included; 248 KB stay L1.
//
// The carveout is a hint. Where the driver does not take it, more blocks are resident, and nothing fails.

package sim

// A Reserve is how a launch is changed.
type Reserve struct {
	Dynamic  int // bytes of dynamic shared memory on top of what the launch asks for
	Carveout int // the preferred size of the shared memory, in percent of the largest (cudaFuncAttributePreferredSharedMemoryCarveout)
}

// carveouts lists the sizes that an SM's shared memory can have, in KB (cuda_occupancy.h of 13.5; the tests compare).
func (d Device) carveouts() []int {
	switch {
	case d.CC < 70:
		return nil
	case d.CC < 75:
		return []int{8, 16, 32, 64, 96}
	case d.CC == 75:
		return []int{32, 64}
	}
	var out []int
	for _, size := range []int{8, 16, 32, 64, 100, 132, 164, 196, 228} {
		if size*kb <= d.Shared {
			out = append(out, size)
		}
	}
	return out
}

// Throttle tells how a launch whose blocks take so many bytes of shared memory, static and dynamic, is kept to a number of
// resident blocks. It is false where that can't be done: the architecture is older than Volta or not known, or the blocks
// take so much that fewer are resident anyhow.
func (d Device) Throttle(blocks, shared int) (Reserve, bool) {
	if blocks < 1 || shared < 0 {
		return Reserve{}, false
	}
	for _, size := range d.carveouts() {
		each := size * kb / blocks / d.SharedUnit * d.SharedUnit
		switch {
		case each < roundUp(shared+d.Reserved, d.SharedUnit), each*(blocks+1) <= size*kb:
			continue // too little for so many, or one more would fit
		case each-d.Reserved > d.OptIn:
			continue // more than a block may have
		}
		return Reserve{Dynamic: each - d.Reserved - shared, Carveout: size * kb * 100 / d.Shared}, true
	}
	return Reserve{}, false
}
