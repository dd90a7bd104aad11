package dataflow

import (
	"strconv"

	"gnvcc/rewrite/ptx"
)

// How far apart are the addresses of neighbouring threads? For people, who are told why another
// block is faster: nothing is decided by it. Every register gets the number of bytes (or elements,
// before they are scaled) by which it grows from one thread to the next one of a row, where that is
// a constant; the analysis is forward, and gives up on all that is not linear.

type slope struct {
	known bool // seen at all
	is    bool // a constant
	by    int64
}

func (s slope) join(o slope) slope {
	switch {
	case !s.known:
		return o
	case !o.known || s == o:
		return s
	}
	return slope{known: true}
}

// Stride is the number of bytes by which the addresses of most loads and stores of global memory
// grow from one thread of a row to the next, 0 where that is not known.
func Stride(f *ptx.Func) int {
	of := map[string]slope{}
	Forward(f, of, slope.join, func(i int) slope { return slopeAt(f, i, of) })
	return mostStrides(f, of)
}

func mostStrides(f *ptx.Func, of map[string]slope) int {
	count := map[int64]int{}
	best := int64(0)
	for i := range f.Stmts {
		op := f.Opcode(i)
		if base := string(f.Base(i)); f.Stmts[i].Kind != ptx.Inst || base != "ld" && base != "st" ||
			!ptx.HasModifier(op, "global") {
			continue
		}
		for _, o := range f.Operands(i, nil) {
			base, _, ok := f.Address(o)
			if !ok {
				continue
			}
			// the same address for all threads of a row is no stride
			if s := of[string(base)]; s.is && s.by > 0 {
				if count[s.by]++; count[s.by] > count[best] {
					best = s.by
				}
			}
		}
	}
	return int(best)
}

// slopeAt is the slope of what an instruction gives.
func slopeAt(f *ptx.Func, i int, of map[string]slope) slope {
	ops := f.Operands(i, nil)
	var in []slope
	flat := true
	for n, o := range ops {
		if n == 0 {
			continue
		}
		s := slope{known: true, is: true}
		f.Names(o, func(name ptx.Span) bool {
			switch word := string(f.Bytes(name)); {
			case word == "%tid.x":
				s.by = 1
			case of[word].known:
				s = of[word]
			}
			flat = flat && s.is && s.by == 0
			return true
		})
		in = append(in, s)
	}
	unknown := slope{known: true}
	number := func(n int) (int64, bool) {
		v, err := strconv.ParseInt(string(f.Bytes(ops[n])), 0, 32)
		return v, err == nil
	}
	times := func(a, b int) slope {
		for _, p := range [][2]int{{a, b}, {b, a}} {
			if v, ok := number(p[0] + 1); ok && in[p[1]].is {
				return slope{true, true, in[p[1]].by * v}
			}
		}
		if in[a].is && in[b].is && in[a].by == 0 && in[b].by == 0 {
			return in[a]
		}
		return unknown
	}
	plus := func(a, b slope, sign int64) slope {
		if !a.is || !b.is {
			return unknown
		}
		return slope{true, true, a.by + sign*b.by}
	}
	switch base := string(f.Base(i)); {
	case flat:
		return slope{known: true, is: true}
	case (base == "mov" || base == "cvt" || base == "cvta") && len(in) == 1:
		return in[0]
	case base == "add" && len(in) == 2:
		return plus(in[0], in[1], 1)
	case base == "sub" && len(in) == 2:
		return plus(in[0], in[1], -1)
	case base == "mul" && len(in) == 2 && !ptx.HasModifier(f.Opcode(i), "hi"):
		return times(0, 1)
	case base == "mad" && len(in) == 3 && !ptx.HasModifier(f.Opcode(i), "hi"):
		return plus(times(0, 1), in[2], 1)
	case base == "shl" && len(in) == 2:
		if v, ok := number(2); ok && v >= 0 && v < 32 && in[0].is {
			return slope{true, true, in[0].by << v}
		}
	}
	return unknown
}
