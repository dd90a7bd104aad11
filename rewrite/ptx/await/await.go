package await

import (
	"fmt"
	"slices"
	"strings"

	"gnvcc/rewrite/ptx"
)

// Waiting for other blocks. Some kernels have a barrier of their own over the whole grid, or hand
// results from block to block through flags in global memory: a block spins until another one has
// done something. Such a launch ends only if the blocks that are waited for are resident too, so
// the number of resident blocks is part of the program, though nothing in CUDA says so.
//
// What is looked for is a loop that goes on, or not, by what a look at global memory returned
// (awaitloop.go). The answer errs on the side of waiting: look-backs count, which wait for blocks
// that began earlier, a call by pointer, and a function of another unit. What is not seen: a weak
// load of an address that changes from turn to turn, in a loop without barrier, fence, sleep or
// call. There the program has no promise that it will ever see another block's store.
//
// Retries wait for nobody, on any architecture: an attempt to swap fails only because that of
// another thread, be it of the same warp, has succeeded, and whose attempt has succeeded leaves the
// loop. Locks do wait: their holder must go on. From sm_70 on every resident thread does, one of
// the same warp too (independent thread scheduling); before, a lane that spins may keep the lane
// that holds the lock from running, in nvcc's code as in any. Who holds a lock is resident, so
// fewer resident blocks would do no harm. But no PTX tells a lock from a flag that the host or
// another kernel sets: 0 may mean free, or not there yet. So locks count.

// Why says what may make a block of this entry wait for another one, in it or in a function that
// it reaches; "" if nothing does. An error means that the code can't be followed.
func Why(m *ptx.Module, entry string) (string, error) {
	r, err := m.Reach(entry)
	if err != nil {
		return "", err
	}
	t, err := m.Traits(entry)
	switch {
	case err != nil:
		return "", err
	case t.GridSync:
		return "a barrier over the grid", nil
	case t.Indirect:
		return "a call by pointer", nil
	case t.Cluster || clustered(r.Funcs[0]):
		return "a cluster of blocks", nil
	}
	callees := make(map[string]*callee, len(r.Funcs))
	for _, f := range r.Funcs {
		if f.Entry && f != r.Funcs[0] {
			continue // launched, not called
		}
		if !f.Body && !ptx.OfRuntime(f.Name) {
			return "a call of " + f.Name + ", whose code is elsewhere", nil
		}
		callees[f.Name] = readCallee(m, f)
	}
	closeCalls(callees)
	for _, f := range r.Funcs {
		c := callees[f.Name]
		if c == nil || !f.Body {
			continue
		}
		if c.recursive && (c.orders || c.asks) {
			return "a recursive call of " + f.Name, nil
		}
		at, err := awaits(f, m, callees)
		if err != nil {
			return "", fmt.Errorf("%s: %w", f.Name, err)
		}
		if at >= 0 {
			return string(f.Opcode(at)), nil
		}
	}
	return "", nil
}

// clustered tells whether the source asks for clusters of blocks.
func clustered(f *ptx.Func) bool {
	return slices.ContainsFunc(f.Directives, func(d ptx.Directive) bool {
		return strings.Contains(d.Name, "cluster")
	})
}

// A callee is what a loop around a call has to know of the function, and of what that calls.
type callee struct {
	calls []string
	// looks at memory of other blocks by a load that is made anew each time, or by an atomic
	asks  bool
	reads bool // loads from global memory, by whatever instruction
	// has a barrier, fence, sleep or ordered access: what is read around it is read anew
	orders    bool
	recursive bool
}

func readCallee(m *ptx.Module, f *ptx.Func) *callee {
	if !f.Body {
		return &callee{asks: true, reads: true, orders: true}
	}
	c := &callee{}
	for i, s := range f.Stmts {
		if s.Kind != ptx.Inst {
			continue
		}
		c.asks = c.asks || asks(f, i)
		c.reads = c.reads || reads(f, i)
		c.orders = c.orders || orders(f, i)
		if string(f.Base(i)) == "call" {
			c.calls = append(c.calls, calls(m, f, i)...)
		}
	}
	return c
}

// closeCalls gives each function what its callees do, and marks those that can come back to
// themselves.
func closeCalls(all map[string]*callee) {
	reach := make(map[string]map[string]bool, len(all))
	for name := range all {
		seen := make(map[string]bool)
		todo := slices.Clone(all[name].calls)
		for len(todo) > 0 {
			next := todo[len(todo)-1]
			todo = todo[:len(todo)-1]
			if c := all[next]; c != nil && !seen[next] {
				seen[next] = true
				todo = append(todo, c.calls...)
			}
		}
		reach[name] = seen
	}
	own := make(map[string]callee, len(all))
	for name, c := range all {
		own[name] = *c
	}
	for name, c := range all {
		for other := range reach[name] {
			c.asks = c.asks || own[other].asks
			c.reads = c.reads || own[other].reads
			c.orders = c.orders || own[other].orders
		}
		c.recursive = reach[name][name]
	}
}

// elsewhere reports whether a load or an atomic can look at memory that other blocks write.
func elsewhere(op []byte) bool {
	switch ptx.Space(op) {
	case "local", "param", "const":
		return false
	}
	return !ptx.OwnShared(op) && !ptx.HasModifier(op, "nc")
}

// asks reports whether an instruction looks at memory of other blocks anew each time that it runs.
func asks(f *ptx.Func, i int) bool {
	op := f.Opcode(i)
	switch string(f.Base(i)) {
	case "atom", "multimem":
		return elsewhere(op)
	case "ld":
		return elsewhere(op) && ptx.HasAny(op, "volatile", "relaxed", "acquire", "mmio", "cv", "cg")
	}
	return false
}

// reads reports whether an instruction reads memory that other blocks may write.
func reads(f *ptx.Func, i int) bool {
	switch string(f.Base(i)) {
	case "atom", "multimem", "ld", "ldu":
		return elsewhere(f.Opcode(i))
	case "suld", "tex", "tld4":
		return true
	}
	return false
}

// orders reports whether weak loads around an instruction are made anew: neither cicc nor ptxas
// keeps what was read before it.
func orders(f *ptx.Func, i int) bool {
	switch string(f.Base(i)) {
	case "bar", "barrier", "membar", "fence", "nanosleep", "griddepcontrol", "mbarrier":
		return true
	case "ld", "st", "atom", "red":
		return ptx.Strong(f.Opcode(i))
	}
	return false
}
