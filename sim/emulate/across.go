package emulate

// What threads of a warp tell one another, and the barriers of a block.

var acrossOps = map[uint16]func(*decoder, *inst){
	0x189: shfl, 0x006: vote, 0x086: vote, 0x1a1: match, 0x1c4: redux, 0x1c2: r2ur, 0x0ca: r2ur,
	0x11d: bar,
	0x11c: barrierResult,
}

// shfl: a register of another thread; the predicate says whether that one is in bounds.
func shfl(d *decoder, i *inst) {
	n, inside, from := int(d.bits(16, 8)), d.toPredicate(81), d.register(24)
	var lane, bounds source
	form := d.Form()
	if form == 1 || form == 2 {
		lane = d.register(32)
	} else {
		lane = fixed(d.bits(53, 5))
	}
	if form == 1 || form == 4 {
		bounds = d.register(64)
	} else {
		bounds = fixed(d.bits(40, 13))
	}
	how := d.bits(58, 2)
	i.warp = func(w *warp, on uint32) error {
		var got [32]uint32
		for l := range lanes(on) {
			b, c := int(lane(w, l)&31), bounds(w, l)
			clamp, segment := int(c&31), int(c>>8&31)
			low, high := l&segment, l&segment|clamp&^segment
			at, ok := l, false
			switch how {
			case 0:
				at = low | b&^segment
				ok = at <= high
			case 1:
				at = l - b
				ok = at >= high
			case 2:
				at = l + b
				ok = at <= high
			case 3:
				at = l ^ b
				ok = at <= high
			}
			if !ok {
				at = l
			}
			got[l] = from(w, at)
			inside(w, l, ok)
		}
		for l := range lanes(on) {
			w.set(l, n, got[l])
		}
		return nil
	}
}

// vote: in which threads a predicate is true; whether in all, in any, in as many.
func vote(d *decoder, i *inst) {
	to, some, how := d.to(), d.toPredicate(81), d.bits(72, 2)
	predicate, not := d.bits(87, 3), d.bit(90)
	d.skip(91, 1)
	i.once = false
	i.warp = func(w *warp, on uint32) error {
		yes := on & w.where(uint8(predicate), not)
		is := yes == on
		switch how {
		case 1:
			is = yes != 0
		case 2:
			is = yes == on || yes == 0
		}
		for l := range lanes(on) {
			to(w, l, yes)
			some(w, l, is)
		}
		return nil
	}
}

// match: which threads have the same number (.ANY), or whether all have (.ALL).
func match(d *decoder, i *inst) {
	n, all, any, wide := int(d.bits(16, 8)), d.toPredicate(81), d.bit(79), d.bit(73)
	size := 4
	if wide {
		size = 8
	}
	v := d.wide(arg{n: int(d.bits(24, 8))}, size)
	i.warp = func(w *warp, on uint32) error {
		var same [32]uint32
		for l := range lanes(on) {
			for o := range lanes(on) {
				if v(w, o) == v(w, l) {
					same[l] |= 1 << o
				}
			}
		}
		for l := range lanes(on) {
			if !any && same[l] != on {
				same[l] = 0
			}
			w.set(l, n, same[l])
			all(w, l, same[l] == on)
		}
		return nil
	}
}

// redux: all threads' numbers in one.
func redux(d *decoder, i *inst) {
	n, a := d.uniformAt(16), d.register(24)
	signed, op := d.bit(73), d.bits(78, 3)
	if op > 5 {
		d.refuse("its operation %d is not known", op)
	}
	i.warp = func(w *warp, on uint32) error {
		out := a(w, first32(on))
		for l := range lanes(on & (on - 1)) {
			switch v := a(w, l); op {
			case 0:
				out &= v
			case 1:
				out |= v
			case 2:
				out ^= v
			case 3:
				out += v
			case 4, 5:
				out = smallest(out, v, signed, op == 4)
			}
		}
		w.setUniform(n, out)
		return nil
	}
}

// r2ur: a register that is the same in all threads.
func r2ur(d *decoder, i *inst) {
	n, a := d.uniformAt(16), d.register(24)
	d.want(81, 3, 7)
	i.warp = func(w *warp, on uint32) error {
		w.setUniform(n, a(w, first32(on)))
		return nil
	}
}
