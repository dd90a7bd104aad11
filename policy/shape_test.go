package policy

import (
	"testing"

	"gnvcc/cache"
	"gnvcc/sim"
)

// TestShapeOfBuild checks that all that limits resident blocks reaches sim: the grid, shared
// memory, named barriers.
func TestShapeOfBuild(t *testing.T) {
	d, _ := sim.Lookup(90)
	build := cache.Build{Registers: 24, Shared: 1024, Barriers: 16}
	many := Shape{Grid: [3]int{1 << 20, 1, 1}, Block: [3]int{32, 1, 1}}
	if o := d.Occupancy(24, many.Sim(build)); o.Limit != sim.LimitBarriers || o.Blocks != 4 {
		t.Errorf("16 named barriers of 64: %+v", o)
	}
	if b := d.Occupancy(24, many.Sim(cache.Build{Registers: 24, Barriers: 1})); b.Blocks != 32 {
		t.Errorf("one barrier: %+v", b)
	}
	few := Shape{Grid: [3]int{d.SMs, 1, 1}, Block: [3]int{32, 1, 1}, Dynamic: 1 << 10}
	s := few.Sim(build)
	if o := d.Occupancy(24, s); o.Limit != sim.LimitGrid || s.Shared != 2048 {
		t.Errorf("as many blocks as multiprocessors: %+v, %+v", s, o)
	}
}
