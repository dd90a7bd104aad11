package emulate

import "math/bits"

// Barriers of a block. They count threads; a whole warp counts as 32, as it does on the GPU where a
// block's last warp is not full.

type counting uint8

const (
	noCount counting = iota
	counts
	allTrue
	anyTrue
)

// bar: BAR.SYNC, BAR.ARV, BAR.RED.
func bar(d *decoder, i *inst) {
	var number, need source
	switch d.Form() {
	case 5: // both stand in the word
		number, need = fixed(d.bits(54, 5)), fixed(d.bits(42, 12))
	case 2:
		number, need = d.register(32), fixed(d.bits(42, 12))
	case 1: // a register has both
		r := d.register(32)
		number = func(w *warp, l int) uint32 { return r(w, l) & 0xf }
		need = func(w *warp, l int) uint32 { return r(w, l) >> 16 & 0xfff }
	default:
		d.refuse("form %d is not known", d.Form())
		return
	}
	d.skip(80, 1) // .DEFER_BLOCKING
	kind := d.bits(77, 2)
	count := noCount
	var yes func(w *warp, l int) bool
	switch kind {
	case 0, 1:
	case 2:
		count = [...]counting{counts, allTrue, anyTrue, noCount}[d.bits(74, 2)]
		yes = d.condition(87)
	default:
		d.refuse("BAR.SCAN is not known")
	}
	i.flow = func(w *warp, g *group, on uint32) error {
		if on != g.on {
			w.part(g, g.on&^on, g.pc+1)
			g.pc--
		}
		l := first32(on)
		id := int(number(w, l))
		if id >= len(w.block.arrived) {
			w.fault("barrier %d", id)
			return w.err
		}
		if kind == 1 {
			w.block.arrived[id] += w.weight(on)
			g.pc++
			return nil
		}
		g.wait = wait{how: blocks, number: id, need: int(need(w, l)), count: count}
		for l := range lanes(on) {
			if yes != nil && yes(w, l) {
				g.wait.yes |= 1 << l
			}
		}
		return nil
	}
}

// weight is how many threads some of a warp count.
func (w *warp) weight(on uint32) int {
	if on == w.alive {
		return 32
	}
	return bits.OnesCount32(on)
}

// open lets the threads of those barriers go on to which all have come.
func (b *block) open() (opened bool, err error) {
	for id := range b.arrived {
		all, here, need, alive := b.arrived[id], 0, 0, 0
		for _, w := range b.warps {
			on := uint32(0)
			for _, g := range w.groups {
				if g.wait.how == blocks && g.wait.number == id {
					on, need = on|g.on, max(need, g.wait.need)
				}
			}
			if on != 0 {
				all, here = all+w.weight(on), here+bits.OnesCount32(on)
			}
			alive += bits.OnesCount32(w.alive)
		}
		if here == 0 || need == 0 && here < alive || need > 0 && all < need {
			continue
		}
		b.release(id)
		b.arrived[id] = 0
		opened = true
	}
	return opened, nil
}

// release gives the threads at a barrier what it has counted, and lets them go on: those of a warp
// at one place together.
func (b *block) release(id int) {
	yes, all := 0, 0
	for _, w := range b.warps {
		for _, g := range w.groups {
			if g.wait.how == blocks && g.wait.number == id {
				yes, all = yes+bits.OnesCount32(g.wait.yes), all+bits.OnesCount32(g.on)
			}
		}
	}
	for _, w := range b.warps {
		at := map[int]*group{}
		for _, g := range w.groups {
			if g.wait.how != blocks || g.wait.number != id {
				continue
			}
			for l := range 32 {
				if g.on>>l&1 == 0 {
					continue
				}
				switch g.wait.count {
				case counts:
					w.result[l] = uint32(yes)
				case allTrue:
					w.result[l] = uint32(boolean(yes == all))
				case anyTrue:
					w.result[l] = uint32(boolean(yes > 0))
				}
			}
			g.wait = wait{}
			g.pc++
			if o := at[g.pc]; o != nil {
				o.on |= g.on
				g.on = 0
				continue
			}
			at[g.pc] = g
		}
		w.meet() // forgets those that have none left
	}
}

// result: B2R.RESULT.
func barrierResult(d *decoder, i *inst) {
	d.want(77, 2, 2)
	to, yes := d.to(), d.toPredicate(81)
	i.lane = func(w *warp, l int) {
		to(w, l, w.result[l])
		yes(w, l, w.result[l] != 0)
	}
}
