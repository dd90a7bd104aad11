package emulate

import (
	"fmt"
	"iter"
	"math/bits"
)

// A warp is 32 threads, with what they share.
type warp struct {
	block *block
	first int // number of its first thread in the block
	r     [32][256]uint32
	p     [32]uint8 // predicates, a bit each; the eighth is true
	u     [64]uint32
	up    uint8
	// Who takes part in each of a thread's convergence barriers.
	b      [32][16]uint32
	local  [32][]byte
	result [32]uint32 // of the last barrier that counted
	alive  uint32
	groups []*group
	err    error
}

// A group is threads of a warp that run together: at one place, until a branch parts them.
type group struct {
	pc   int // index of the next instruction
	on   uint32
	wait wait
}

// A wait is what a group waits for.
type wait struct {
	how    waiting
	with   uint32 // threads that it goes on with: meets
	sync   int    // or those of this convergence barrier, from 1
	number int    // of a barrier of the block
	need   int    // threads that it is for, 0: all
	count  counting
	yes    uint32 // threads whose predicate is true
}

type waiting uint8

const (
	nothing waiting = iota
	meets           // of threads of the warp, here
	blocks          // of the block's warps
)

// slice is how many instructions a group runs before others have their turn, so that who waits for
// another thread in a loop does not wait for ever.
const slice = 20_000

// run lets each group run as far as it comes.
func (w *warp) run() (moved bool, err error) {
	for again := true; again; {
		again = false
		for n := 0; n < len(w.groups); n++ {
			g := w.groups[n]
			if g.wait.how != nothing || g.on == 0 {
				continue
			}
			moved = true
			if err := w.advance(g, slice); err != nil {
				return moved, err
			}
			again = again || g.wait.how == nothing && g.on != 0
		}
		again = w.meet() || again
	}
	return moved, nil
}

// turn lets each group run a few instructions.
func (w *warp) turn(few int) (moved bool, err error) {
	for n := 0; n < len(w.groups); n++ {
		if g := w.groups[n]; g.wait.how == nothing && g.on != 0 {
			moved = true
			if err := w.advance(g, few); err != nil {
				return moved, err
			}
		}
	}
	return w.meet() || moved, nil
}

// advance runs a group until it waits, ends, or has had its turn.
func (w *warp) advance(g *group, slice int) error {
	insts, launch := w.block.launch.program.insts, w.block.launch
	for turn := 0; turn < slice && g.on != 0 && g.wait.how == nothing; turn++ {
		if g.pc < 0 || g.pc >= len(insts) {
			return fmt.Errorf("it runs out of its code")
		}
		i := &insts[g.pc]
		if launch.Steps++; launch.Steps > launch.Limit {
			return endless{fmt.Errorf("%s at %#x: more than %d instructions: it may never end", i.name,
				i.offset, launch.Limit)}
		}
		if launch.Steps%1024 == 0 && launch.stopped() {
			return errStopped
		}
		if err := w.step(i, g); err != nil {
			return fmt.Errorf("%s at %#x: %w", i.name, i.offset, err)
		}
	}
	return nil
}

// step runs one instruction.
func (w *warp) step(i *inst, g *group) error {
	on := w.guarded(i, g.on)
	if ran := w.block.launch.Ran; ran != nil && on != 0 {
		ran[g.pc] = true
	}
	var err error
	switch {
	case on == 0:
	case i.flow != nil:
		return i.flow(w, g, on)
	case i.warp != nil:
		err = i.warp(w, on)
	case i.once:
		i.lane(w, first32(on))
	default:
		for rest := on; rest != 0; rest &= rest - 1 { // most of the time is spent here
			i.lane(w, bits.TrailingZeros32(rest))
		}
	}
	if err == nil {
		err, w.err = w.err, nil
	}
	g.pc++
	return err
}

// guarded are the threads of a group whose guard is true.
func (w *warp) guarded(i *inst, on uint32) uint32 {
	switch {
	case i.guard == 7 && !i.negated:
		return on
	case i.uniform && w.up>>i.guard&1 == 1 != i.negated:
		return on
	case i.uniform:
		return 0
	}
	return on & w.where(i.guard, i.negated)
}

// where are the threads in which a predicate is true, or false.
func (w *warp) where(predicate uint8, negated bool) (out uint32) {
	for l := range w.p {
		out |= uint32(w.p[l]>>predicate&1) << l
	}
	if negated {
		return ^out
	}
	return out
}

// fault is an error in the instruction that runs.
func (w *warp) fault(format string, args ...any) { w.stop(fmt.Errorf(format, args...)) }

// stop ends the launch with an error, if it is the first.
func (w *warp) stop(err error) {
	if w.err == nil {
		w.err = err
	}
}

func (w *warp) set(l, n int, v uint32) {
	if n != none {
		w.r[l][n] = v
	}
}

func (w *warp) setUniform(n int, v uint32) {
	if n != noUniform {
		w.u[n] = v
	}
}

// lanes are the threads of some, one after the other.
func lanes(on uint32) iter.Seq[int] {
	return func(yield func(int) bool) {
		for ; on != 0 && yield(bits.TrailingZeros32(on)); on &= on - 1 {
		}
	}
}

// first32 is the first thread of some.
func first32(on uint32) int { return bits.TrailingZeros32(on) }
