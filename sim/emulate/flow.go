package emulate

// Threads that part and meet. BSSY notes who takes part in a convergence barrier, BSYNC waits for
// all of them that have neither ended nor left it (BREAK). A barrier is kept by thread, not by
// warp: two groups of a warp may be in the same function at once.

var flowOps = map[uint16]func(*decoder, *inst){
	0x118: nop, 0x146: nop, 0x15d: sleep, 0x11a: ignore, 0x1ab: ignore, 0x192: ignore, 0x18f: ignore,
	0x147: branch, 0x144: call, 0x150: indirect, 0x149: indirect, 0x14d: exit,
	0x145: bssy, 0x141: bsync, 0x142: leave, 0x148: warpsync, 0x155: barrierToRegister,
	0x156: registerToBarrier,
}

func nop(d *decoder, i *inst) {
	i.flow = func(_ *warp, g *group, _ uint32) error { g.pc++; return nil }
}

// sleep, ignore: what costs time, and orders accesses that are in order here.
func sleep(d *decoder, i *inst)  { d.skip(16, 89); nop(d, i) }
func ignore(d *decoder, i *inst) { d.skip(16, 89); nop(d, i) }

// always refuses a predicate beside the guard.
func (d *decoder) always(at uint) { d.want(at, 4, 7) }

// target is the place to which a branch goes, as an index.
func (d *decoder) target() int {
	by := d.signed(34, 48)<<8 | int64(d.bits(16, 8))
	return d.Offset/16 + 1 + int(by/4)
}

// part sends some threads of a group elsewhere, and lets the others go on.
func (w *warp) part(g *group, taken uint32, to int) {
	switch taken {
	case 0:
		g.pc++
	case g.on:
		g.pc = to
	default:
		w.groups = append(w.groups, &group{pc: to, on: taken})
		g.on &^= taken
		g.pc++
	}
}

// branch: BRA, BRA with a predicate, BRA.U with one of the warp's; BRA.DIV goes to what serves
// threads that have parted: here those of its mask wait for one another instead.
func branch(d *decoder, i *inst) {
	to, how := d.target(), d.bits(32, 2)
	switch how {
	case 2:
		d.skip(87, 5)
		mask := d.uniformAt(24)
		i.flow = func(w *warp, g *group, on uint32) error {
			g.wait = wait{how: meets, with: w.u[mask]}
			return nil
		}
	case 0, 1:
		n, not := d.bits(87, 3), d.bit(90)
		i.flow = func(w *warp, g *group, on uint32) error {
			taken := on & w.where(uint8(n), not)
			if how == 1 {
				taken = 0
				if w.up>>n&1 == 1 != not {
					taken = on
				}
			}
			w.part(g, taken, to)
			return nil
		}
	default:
		d.refuse("BRA.CONV is not known")
	}
}

func call(d *decoder, i *inst) {
	d.always(87)
	d.skip(86, 1) // .NOINC: the hardware's counter of calls
	if d.Form() != 4 {
		d.refuse("a call through a register is not known")
	}
	to := d.target()
	if to == d.Offset/16 || to < 0 {
		d.refuse("a call of another section is not known")
	}
	i.flow = func(w *warp, g *group, on uint32) error { w.part(g, on, to); return nil }
}

// indirect: RET and BRX, to the address in a pair of registers. Addresses count from the beginning
// of the section.
func indirect(d *decoder, i *inst) {
	d.always(87)
	d.skip(85, 2) // .NODEC
	base := int64(d.Offset) + 16 + (d.signed(34, 48)<<8|int64(d.bits(16, 8)))*4
	to := d.pair(d.a(), nil)
	i.flow = func(w *warp, g *group, on uint32) error {
		for on != 0 {
			at := base + int64(to(w, first32(on)))
			same := uint32(0)
			for l := range lanes(on) {
				if base+int64(to(w, l)) == at {
					same |= 1 << l
				}
			}
			on &^= same
			if same == g.on {
				g.pc = int(at / 16)
				return nil
			}
			w.groups = append(w.groups, &group{pc: int(at / 16), on: same})
			g.on &^= same
		}
		g.pc++
		return nil
	}
}

func exit(d *decoder, i *inst) {
	n, not := d.bits(87, 3), d.bit(90)
	i.flow = func(w *warp, g *group, on uint32) error {
		on &= w.where(uint8(n), not)
		w.alive &^= on
		g.on &^= on
		g.pc++
		return nil
	}
}

func bssy(d *decoder, i *inst) {
	d.always(87)
	d.skip(32, 32) // where it is waited for
	n := d.bits(16, 4)
	i.warp = func(w *warp, on uint32) error {
		for l := range lanes(on) {
			w.b[l][n] = on
		}
		return nil
	}
}

func bsync(d *decoder, i *inst) {
	d.always(87)
	n := d.bits(16, 4)
	i.flow = func(w *warp, g *group, on uint32) error {
		if on != g.on {
			w.part(g, g.on&^on, g.pc+1)
			g.pc--
		}
		g.wait = wait{how: meets, sync: int(n) + 1}
		return nil
	}
}

// leave: BREAK.
func leave(d *decoder, i *inst) {
	d.always(87)
	n := d.bits(16, 4)
	i.warp = func(w *warp, on uint32) error {
		for l := range lanes(w.b[first32(on)][n]) {
			w.b[l][n] &^= on
		}
		return nil
	}
}

func barrierToRegister(d *decoder, i *inst) {
	d.skip(86, 5)
	clear, n, to := d.bit(84), d.bits(24, 4), d.to()
	i.lane = func(w *warp, l int) {
		to(w, l, w.b[l][n])
		if clear {
			w.b[l][n] = 0
		}
	}
}

func registerToBarrier(d *decoder, i *inst) {
	n, from := d.bits(24, 4), d.raw(d.at32())
	i.lane = func(w *warp, l int) { w.b[l][n] = from(w, l) }
}

// warpsync: WARPSYNC of a mask, or of all.
func warpsync(d *decoder, i *inst) {
	d.always(87)
	mask := func(*warp, int) uint32 { return ^uint32(0) }
	switch {
	case d.bit(86):
		d.refuse("WARPSYNC.COLLECTIVE is not known")
	case d.Form() == 1:
		mask = d.raw(d.a())
	default:
		if v := uint32(d.bits(32, 32)); v != 0 {
			mask = func(*warp, int) uint32 { return v }
		}
	}
	i.flow = func(w *warp, g *group, on uint32) error {
		g.wait = wait{how: meets, with: mask(w, first32(on))}
		return nil
	}
}

// meet lets groups go on together that wait for one another at one place, where none is missing
// that is alive.
func (w *warp) meet() (met bool) {
	for n := 0; n < len(w.groups); n++ {
		g := w.groups[n]
		if g.on == 0 {
			w.groups = append(w.groups[:n], w.groups[n+1:]...)
			n--
			continue
		}
		if g.wait.how != meets {
			continue
		}
		here, with := uint32(0), w.expects(g)
		for _, o := range w.groups {
			if o.on != 0 && o.wait.how == meets && o.pc == g.pc && w.expects(o) == with {
				here |= o.on
			}
		}
		if with&w.alive&^here != 0 {
			continue
		}
		for _, o := range w.groups {
			if o != g && o.on&^here == 0 {
				o.on = 0
			}
		}
		g.on, g.wait, met = here, wait{}, true
		g.pc++
	}
	return met
}

// expects are the threads with which a group wants to go on: of a convergence barrier those that
// have not left it by now.
func (w *warp) expects(g *group) uint32 {
	if n := g.wait.sync; n > 0 {
		return w.b[first32(g.on)][n-1]
	}
	return g.wait.with
}
