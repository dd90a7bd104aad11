package search

import (
	"testing"
	"time"

	"gnvcc/policy"
)

// TestBudgetHolds: whatever is slow, a configuration takes no longer than its budget, all launches
// of it together: the kernel, the compilers, copying memory aside.
func TestBudgetHolds(t *testing.T) {
	speed := streaming(0.7).speed
	for name, c := range map[string]struct {
		time, saves float64 // ns
		compile     time.Duration
		budget      time.Duration
	}{
		"kernel": {400e6, 0, 0, 20 * time.Second},
		// a tenth of it, without a source variant
		"ptxas":   {100e3, 0, 6 * time.Second, 2 * time.Second},
		"saving":  {100e6, 12e9, 0, 20 * time.Second},
		"nothing": {100e3, 0, 0, time.Nanosecond},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			k := &simKernel{Kernel: sources(policy.Kernel{Loads: 40, Stores: 8}), time: c.time,
				noise: 0.002, compile: c.compile, speed: speed}
			g := newSim(t, k)
			g.spends, g.saves = true, c.saves
			if c.compile > 0 {
				g.between = 20 * time.Millisecond // compilers go on beside the program
			}
			o := simOptions()
			o.Budget, o.Jobs = c.budget, 1
			_, tuner := g.run(o, app{launches: appLaunch{kernel: "_Z1aPfi", shape: shape(1000, 256),
				n: 1024}.times(300)})
			if name == "kernel" {
				c := tuner.kernels["id-_Z1aPfi"+simDevice.Name].configs[shape(1000, 256)]
				if c.Left() == 0 {
					t.Error("the budget ended, and no candidate was left over")
				}
			}
			took := g.stood
			// What has begun is ended: a race's arm, a look at a later launch.
			if most := c.budget + c.budget/10 + 200*time.Millisecond; took > most {
				t.Errorf("a budget of %v took %v", c.budget, took)
			} else {
				t.Logf("%v of %v", took, c.budget)
			}
		})
	}
}
