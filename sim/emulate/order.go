package emulate

import (
	"fmt"
	"math/rand"
)

// Orders in which a GPU might run a launch: several blocks at a time, warps by turns. What depends
// on it (a barrier that is missing, a sum that is not atomic) gives other bytes in another order,
// sooner or later; what doesn't, never.

const (
	resident = 12 // blocks at a time
	longest  = 24 // instructions of one turn, at most
)

// mixed runs all blocks in the launch's order.
func (r *running) mixed(count int) error {
	random := rand.New(rand.NewSource(r.Order))
	if count > 1<<20 {
		return fmt.Errorf("emulate %s: %d blocks by turns are too many", r.program.Name, count)
	}
	wait := random.Perm(count)
	var live []*block
	for len(wait)+len(live) > 0 {
		for len(live) < resident && len(wait) > 0 {
			live, wait = append(live, newBlock(r, wait[0])), wait[1:]
		}
		n := random.Intn(len(live))
		ended, err := live[n].turn(random)
		if err != nil {
			return live[n].failed(err)
		}
		if ended {
			live = append(live[:n], live[n+1:]...)
		}
	}
	return nil
}

// turn lets one of a block's warps run, the first in an order of chance that can.
func (b *block) turn(random *rand.Rand) (ended bool, err error) {
	alive := false
	for _, n := range random.Perm(len(b.warps)) {
		moved, err := b.warps[n].turn(1 + random.Intn(longest))
		if moved || err != nil {
			return false, err
		}
		alive = alive || b.warps[n].alive != 0
	}
	if !alive {
		return true, nil
	}
	if opened, err := b.open(); err != nil || opened {
		return false, err
	}
	return false, b.stuck()
}
