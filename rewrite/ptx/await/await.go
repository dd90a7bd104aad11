package await

import (
	"fmt"
	"slices"
	"strings"

	"gnvcc/graph"
	"gnvcc/rewrite/ptx"
)

// Waiting for other blocks. Some kernels have a barrier of their own over the whole grid, or hand
// results from block to block through flags in global memory: a block spins until another one has
// done something. Such a launch ends only if the blocks that are waited for are resident too, so
// the number of resident blocks is part of the program, though nothing in CUDA says so.
//
// What is looked for is a loop that goes on, or not, by what a look at global memory returned
// (loop.go). The answer errs on the side of waiting: look-backs count, which wait for blocks
// that began earlier, a call by pointer, and a function of another unit. What is not seen: a weak
// load of an address that changes from turn to turn, in a loop without barrier, fence, sleep or
// call. There the program has no promise that it will ever see another block's store.
//
// Retries wait for no other block, on any architecture: an attempt to swap fails only because that of
// another thread, be it of the same warp, has succeeded, and whose attempt has succeeded leaves the
// loop. Locks do wait: their holder must go on. From sm_70 on every resident thread does, one of
// the same warp too (independent thread scheduling); before, a lane that spins may keep the lane
// that holds the lock from running, in nvcc's code as in any. Who holds a lock is resident, so
// fewer resident blocks would do no harm. But no PTX distinguishes a lock from a flag that the host or
// another kernel sets: 0 may mean free, or not there yet. So locks count.

// Why says what may make a block of this entry wait for another one, in it or in a function that
// it reaches; "" if nothing does. An error means that the code can't be followed.
func Why(m *ptx.Module, entry string) (string, error) {
	type why struct{ entry string }
	return ptx.OnceIn(m, why{entry}, func() (string, error) { return find(m, entry) })
}

func find(m *ptx.Module, entry string) (string, error) {
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
	var called callee
	after := make([][]int, len(r.Funcs)) // by function: those that it calls
	var all []int
	for n, f := range r.Funcs {
		if n > 0 && f.Entry {
			continue // launched, not called
		}
		if !f.Body && !ptx.OfRuntime(f.Name) {
			return "a call of " + f.Name + ", whose code is elsewhere", nil
		}
		all = append(all, n)
		for i := range f.Stmts {
			if string(f.Base(i)) == "call" {
				for _, g := range calls(m, f, i) {
					if to := slices.Index(r.Funcs, g); to >= 0 {
						after[n] = append(after[n], to)
					}
				}
			}
			if n > 0 {
				called.add(f, i)
			}
		}
		if !f.Body {
			called = callee{true, true, true}
		}
	}
	if cycles := graph.Loops(after); len(cycles) > 0 && (called.orders || called.asks) {
		return "a recursive call of " + r.Funcs[cycles[0].Head].Name, nil
	}
	for _, n := range all {
		f := r.Funcs[n]
		if !f.Body {
			continue
		}
		at, err := awaits(f, called)
		if err != nil {
			return "", fmt.Errorf("%s: %w", f.Name, err)
		}
		if at >= 0 {
			return string(f.Opcode(at)), nil
		}
	}
	return "", nil
}

// clustered reports whether the source asks for clusters of blocks.
func clustered(f *ptx.Func) bool {
	return slices.ContainsFunc(f.Directives, func(d ptx.Directive) bool {
		return strings.Contains(d.Name, "cluster")
	})
}

// A callee is what the functions that a kernel calls do, any of them.
type callee struct {
	// looks at memory of other blocks by a load that is made anew each time, or by an atomic
	asks  bool
	reads bool // loads from global memory, by whatever instruction
	// has a barrier, fence, sleep or ordered access: what is read around it is read anew
	orders bool
}

func (c *callee) add(f *ptx.Func, i int) {
	if f.Stmts[i].Kind == ptx.Inst {
		*c = callee{c.asks || asks(f, i), c.reads || reads(f, i), c.orders || orders(f, i)}
	}
}

// calls lists the functions that a call instruction names: one, or the table of a call by pointer.
func calls(m *ptx.Module, f *ptx.Func, i int) (out []*ptx.Func) {
	s := f.Stmts[i]
	f.Names(ptx.Span{Start: s.OpEnd, End: s.End}, func(n ptx.Span) bool {
		if g := m.Func(string(f.Bytes(n))); g != nil {
			out = append(out, g)
		}
		return true
	})
	return out
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
