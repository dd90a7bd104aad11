package hazard

import (
	"slices"
	"strings"

	"gnvcc/rewrite/ptx"
	"gnvcc/rewrite/ptx/ir"
)

// depend works out what registers depend on: the thread's place in its block, or data that the kernel
// has read (memory other than parameters, other lanes, clocks), over all their definitions; which
// way the control flow took is not counted.
func (k *kernelView) depend() {
	var all []int
	for b := range k.Blocks {
		all = append(all, b)
	}
	never := func(int, *ir.Spread) bool { return false }
	k.thread = k.Spread(all, func(i int, on *ir.Spread) bool {
		return !k.reads(i) && (on.Reads(i) || k.mentions(i, "%tid", "%laneid"))
	}, never)
	k.read = k.Spread(all, func(i int, on *ir.Spread) bool {
		return k.reads(i) || on.Reads(i) || k.mentions(i, "") || slices.ContainsFunc(k.Accesses(i),
			func(a ir.Access) bool { return a.Read && len(k.Defs(a.Reg)) == 0 })
	}, never)
}

// reads reports whether what a statement gives is data.
func (k *kernelView) reads(i int) bool {
	switch x := k.Inst(i); x.Op {
	case "ld", "ldu":
		return len(x.Words) == 0 || !strings.HasPrefix(x.Words[0], "param")
	case "atom", "shfl", "vote", "match", "redux", "activemask", "tex", "tld4", "suld", "call",
		"elect", "ldmatrix", "mma", "wmma":
		return true
	}
	return false
}

// mentions reports whether a statement reads one of some special registers; "" stands for those that
// are not of the launch's shape.
func (k *kernelView) mentions(i int, names ...string) (is bool) {
	k.Symbols(i, func(n ptx.Span) bool {
		name, _, _ := strings.Cut(string(k.Bytes(n)), ".")
		switch {
		case names[0] != "":
			is = slices.Contains(names, name)
		case !slices.Contains([]string{"%tid", "%laneid", "%ntid", "%ctaid", "%nctaid"}, name):
			is = name[0] == '%'
		}
		return !is
	})
	return is
}

// onThread and onData report what an operand depends on.
func (k *kernelView) onThread(o ir.Operand) bool { return depends(k.thread, o) }
func (k *kernelView) onData(o ir.Operand) bool   { return depends(k.read, o) }

func depends(on *ir.Spread, o ir.Operand) bool { return o.Reg != ir.None && on.Varying[o.Reg] }

// slice collects the registers that one is computed from.
func (k *kernelView) slice(r ir.Reg, into map[ir.Reg]bool) {
	if r == ir.None || into[r] || len(into) > 300 {
		return
	}
	into[r] = true
	for _, i := range k.Defs(r) {
		for _, a := range k.Accesses(i) {
			if a.Read {
				k.slice(a.Reg, into)
			}
		}
	}
}

// A thread is one of a block, for which conditions are worked out.
type thread struct{ tid, ntid [3]int64 }

// evaluate works an operand out for one thread; ok is false where it depends on anything else than
// constants and the thread's place.
func (k *kernelView) evaluate(o ir.Operand, t thread, depth int) (n int64, ok bool) {
	if n, ok := k.Constant(o); ok {
		return n, true
	}
	k.effort--
	if depth == 0 || k.effort < 0 {
		return 0, false
	}
	if name, axis, ok := strings.Cut(o.Text, "."); ok && o.Reg == ir.None {
		at := strings.Index("xyz", axis)
		if at < 0 || len(axis) != 1 {
			return 0, false
		}
		switch name {
		case "%tid":
			return t.tid[at], true
		case "%ntid":
			return t.ntid[at], true
		}
		return 0, false
	}
	if o.Text == "%laneid" {
		return (t.tid[0] + t.ntid[0]*(t.tid[1]+t.ntid[1]*t.tid[2])) & 31, true
	}
	i := k.Sole(o.Reg)
	if i < 0 || len(k.Inst(i).Args) < 2 || k.Inst(i).Args[0].Reg != o.Reg {
		return 0, false
	}
	var in []int64
	for _, o := range k.Inst(i).Args[1:] {
		v, ok := k.evaluate(o, t, depth-1)
		if !ok {
			return 0, false
		}
		in = append(in, v)
	}
	return k.Inst(i).Compute(in...)
}

// differs reports whether a predicate is true for some threads of the block and false for others, in
// each of the shapes.
func (k *kernelView) differs(predicate ir.Reg) bool {
	shapes := k.shapes
	if len(shapes) == 0 {
		shapes = [][3]int{{64, 1, 1}, {256, 1, 1}, {32, 8, 1}, {16, 16, 1}}
		if block, exact := k.Bounds(); exact {
			shapes = [][3]int{block}
		} else if n, _ := k.Threads(); n > 0 && n < 256 {
			return false // smaller than the usual ones: not known
		}
	}
	k.effort = 200_000 // steps: conditions are short
	for _, s := range shapes {
		yes, no := false, false
		for at := 0; at < s[0]*s[1]*s[2] && at < 1024; at++ {
			t := thread{[3]int64{int64(at % s[0]), int64(at / s[0] % s[1]), int64(at / s[0] / s[1])},
				[3]int64{int64(s[0]), int64(s[1]), int64(s[2])}}
			n, ok := k.evaluate(ir.Operand{Reg: predicate}, t, 12)
			if !ok {
				return false
			}
			yes, no = yes || n != 0, no || n == 0
		}
		if !yes || !no {
			return false
		}
	}
	return len(shapes) > 0
}
