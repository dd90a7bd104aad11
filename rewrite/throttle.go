package rewrite

import (
	"errors"
	"fmt"

	"gnvcc/rewrite/pass"
	"gnvcc/rewrite/ptx"
	"gnvcc/rewrite/ptx/await"
	"gnvcc/rewrite/recipe"
)

// throttle=N lets at most N blocks of a second entry be resident on a multiprocessor, so that fewer
// warps share the caches.
//
//	spec{host(block)=256x1x1,host(dynamic)=0} throttle=3
//
// The code is not touched: the host stub launches the second entry with more dynamic shared memory
// than the launch asks for, and with a preference for a small shared memory, which leaves the rest
// to L1 (sim/throttle.go has the numbers). A reserve by a static .shared array would need the
// host's preference all the same, would be code of its own for every N, of which ptxas has to be
// kept from removing the array, and must stay clear of whatever dynamic shared memory a launch
// brings.
//
// Allowed in a second entry only, and only where its condition names the launch's dynamic shared
// memory, host(dynamic)=BYTES: the reserve lies on top of that. A kernel of which the PTX has no
// dynamic array may be launched with dynamic shared memory all the same, so that there is no form
// without the condition. Left alone: kernels whose blocks may wait for each other, and those that
// read the size of their shared memory (Throttleable), and those for which the program has chosen
// the carveout itself.
//
// Safe: where the second entry can't be launched so, the stub launches the kernel as ever. The
// machine code is the kernel's own; the exactness is that of the copy.
//
// From: Li's thesis (2016), section 3.6, Figs. 3.14 and 3.18. There, on Fermi, the reserve costs no
// L1; since Volta it would.

// Throttling is the lever's name.
const Throttling = "throttle"

// throttled reads the lever's value: 0 where the recipe has none.
func throttled(r recipe.Recipe) (int, error) {
	value, ok := r.Get(Throttling, "")
	if !ok {
		return 0, nil
	}
	n, err := recipe.Number(value, 1, 31)
	if err != nil {
		return 0, fmt.Errorf("throttle=%s: %w", value, err)
	}
	return n, nil
}

// Throttle gives the number of resident blocks that a recipe for one second entry asks for, 0 where
// it asks for none.
func Throttle(r recipe.Recipe) int {
	n, _ := throttled(r) // Check has seen it
	return n
}

// checkThrottle looks at a recipe with one spec term or none.
func checkThrottle(r recipe.Recipe) error {
	n, err := throttled(r)
	if n == 0 || err != nil {
		return err
	}
	guards, err := r.Guards()
	if err != nil || len(guards) == 0 {
		return fmt.Errorf(
			"recipe %q: throttle is for a second entry: spec{host(dynamic)=BYTES} throttle=%d", r, n)
	}
	if _, ok := guards[0].Dynamic(); !ok {
		err = fmt.Errorf(
			"recipe %q: throttle needs the condition host(dynamic)=BYTES: the reserve lies on top of that",
			r)
	}
	return err
}

// Throttleable says why a kernel must not be throttled, nil if it may: it would see the reserve, or
// one of its blocks may wait for another. A grid all of which is resident may do that without
// being launched as cooperative, and would hang if it were not.
func Throttleable(m *ptx.Module, kernel string) error {
	waits, err := await.Why(m, kernel)
	if err != nil {
		return err
	}
	if waits != "" {
		return fmt.Errorf(
			"its blocks may wait for each other (%s), which needs all of them resident", waits)
	}
	r, err := m.Reach(kernel)
	if err != nil {
		return err
	}
	for _, f := range r.Funcs {
		if pass.ReadsSharedSize(f.Text()) {
			return errors.New("it reads how much shared memory it has: a reserve could be seen")
		}
	}
	return nil
}
