package hazard

import (
	"strconv"
	"strings"

	"gnvcc/rewrite/ptx"
	"gnvcc/rewrite/ptx/dataflow"
)

// What values depend on: the thread's place in its block, or data that the kernel has read.

// depends is a set.
type depends uint8

const (
	onThread depends = 1 << iota // %tid, %laneid
	onData                       // memory other than parameters, other lanes, clocks
)

// depend returns what an operand depends on, over all its definitions; which way the control flow
// took is not counted.
func (k *kernelView) depend(operand string) depends {
	if operand == "" || operand[0] != '%' && len(k.walk.Origins.Defs(operand)) == 0 {
		return 0
	}
	if k.dependence == nil {
		k.spread()
	}
	if d, ok := k.dependence[operand]; ok {
		return d
	}
	switch name, _, _ := strings.Cut(operand, "."); name {
	case "%tid", "%laneid":
		return onThread
	case "%ntid", "%ctaid", "%nctaid":
		return 0
	}
	if len(k.walk.Origins.Defs(operand)) > 0 {
		return 0 // so far
	}
	return onData
}

// spread works it out.
func (k *kernelView) spread() {
	k.dependence = make(map[string]depends)
	dataflow.Forward(k.Func, k.dependence, func(a, b depends) depends { return a | b },
		func(i int) (from depends) {
			switch base := string(k.Base(i)); base {
			case "ld", "ldu":
				if !strings.HasPrefix(string(k.Opcode(i)), "ld.param") {
					from = onData
				}
			case "atom", "shfl", "vote", "match", "redux", "activemask", "tex", "tld4", "suld", "call",
				"elect", "ldmatrix", "mma", "wmma":
				from = onData
			default:
				k.Effects(i, func(name ptx.Span, read, _ bool) {
					if read {
						from |= k.depend(string(k.Bytes(name)))
					}
				})
			}
			return from
		})
}

// slice collects the registers that an operand is computed from.
func (k *kernelView) slice(operand string, into map[string]bool) {
	if operand == "" || operand[0] != '%' && len(k.walk.Origins.Defs(operand)) == 0 ||
		into[operand] || len(into) > 300 {
		return
	}
	into[operand] = true
	for _, i := range k.walk.Origins.Defs(operand) {
		k.Effects(i, func(name ptx.Span, read, _ bool) {
			if read {
				k.slice(string(k.Bytes(name)), into)
			}
		})
	}
}

// A thread is one of a block, for which conditions are worked out.
type thread struct{ tid, ntid [3]int64 }

// evaluate works an operand out for one thread; ok is false where it depends on anything else than
// constants and the thread's place.
func (k *kernelView) evaluate(operand string, t thread, depth int) (n int64, ok bool) {
	if n, ok := k.walk.Origins.Constant(operand); ok {
		return n, true
	}
	k.effort--
	if depth == 0 || operand == "" || operand[0] != '%' || k.effort < 0 {
		return 0, false
	}
	if name, axis, ok := strings.Cut(operand, "."); ok {
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
	if operand == "%laneid" {
		return (t.tid[0] + t.ntid[0]*(t.tid[1]+t.ntid[1]*t.tid[2])) & 31, true
	}
	defs := k.walk.Origins.Defs(operand)
	if len(defs) != 1 || k.Stmts[defs[0]].Guarded {
		return 0, false
	}
	i := defs[0]
	ops := k.operands(i)
	if len(ops) < 2 || ops[0] != operand {
		return 0, false
	}
	var in []int64
	for _, text := range ops[1:] {
		v, ok := k.evaluate(text, t, depth-1)
		if !ok {
			return 0, false
		}
		in = append(in, v)
	}
	return dataflow.Compute(k.Opcode(i), in...)
}

// differs tells whether a predicate is true for some threads of the block and false for others, in
// each of the shapes.
func (k *kernelView) differs(predicate string) bool {
	shapes := k.shapes
	if len(shapes) == 0 {
		shapes = [][3]int{{64, 1, 1}, {256, 1, 1}, {32, 8, 1}, {16, 16, 1}}
		if n, exact := k.Threads(); exact {
			shapes = nil
			for _, d := range k.Directives {
				if d.Name == ".reqntid" {
					shape := [3]int{1, 1, 1}
					for i, word := range strings.Split(d.Args, ",") {
						shape[min(i, 2)], _ = strconv.Atoi(strings.TrimSpace(word))
					}
					shapes = append(shapes, shape)
				}
			}
		} else if n > 0 && n < 256 {
			return false // smaller than the usual ones: not known
		}
	}
	k.effort = 200_000 // steps: conditions are short
	for _, s := range shapes {
		yes, no := false, false
		for at := 0; at < s[0]*s[1]*s[2] && at < 1024; at++ {
			t := thread{[3]int64{int64(at % s[0]), int64(at / s[0] % s[1]), int64(at / s[0] / s[1])},
				[3]int64{int64(s[0]), int64(s[1]), int64(s[2])}}
			n, ok := k.evaluate(predicate, t, 12)
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
