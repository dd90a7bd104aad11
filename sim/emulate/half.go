package emulate

// Arithmetic of half precision, two numbers in a register; and constants that ptxas loads by it.

var halfOps = map[uint16]func(*decoder, *inst){0x035: hfma2, 0x031: hfma2}

// hfma2 is known where it multiplies zeros: that is how ptxas loads a constant.
func hfma2(d *decoder, i *inst) {
	to, a := d.to(), d.a()
	d.skip(72, 2)
	b, c := d.b(), d.at32()
	if d.Form() != 2 || a.n != none || b.n != none || d.Bits(72, 2) != 1 {
		d.refuse("arithmetic of half precision is not known")
		return
	}
	v := c.value
	for _, h := range []uint64{uint64(v & 0xffff), uint64(v >> 16)} {
		if half.isNaN(h) {
			d.refuse("a constant that is no number of half precision")
		}
	}
	i.lane = func(w *warp, l int) { to(w, l, v) }
}
