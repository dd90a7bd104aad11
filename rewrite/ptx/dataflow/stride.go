package dataflow

import "gnvcc/rewrite/ptx"

// How far apart are the addresses of neighbouring threads? For people, who read why another
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

// slopeAt is the slope of what an instruction gives. What is the same for the threads of a row is a
// leaf of its own.
func slopeAt(f *ptx.Func, i int, of map[string]slope) slope {
	const thread, same = "%tid.x", "same"
	var in []Affine
	flat := true
	for _, o := range f.Operands(i, nil) {
		v := Affine{same: 1}
		if n, ok := Literal(string(f.Bytes(o))); ok {
			v = Number(n)
		}
		f.Names(o, func(name ptx.Span) bool {
			switch word := string(f.Bytes(name)); {
			case word == thread:
				v = Affine{thread: 1}
			case of[word].is:
				v = Affine{thread: of[word].by, same: 1}
			case of[word].known:
				v = nil
			}
			return v != nil
		})
		flat = flat && (len(in) == 0 || v != nil && v[thread] == 0)
		in = append(in, v)
	}
	if flat {
		return slope{known: true, is: true}
	}
	out, ok := Arithmetic(string(f.Opcode(i)), func(n int) (Affine, bool) {
		return in[min(n, len(in)-1)], n < len(in) && in[n] != nil
	}, func(a Affine, _ bool) Affine { return a })
	by, _ := out.Slope(thread)
	n, constant := by.Constant()
	if !ok || !constant {
		return slope{known: true}
	}
	return slope{true, true, n}
}
