package same

import (
	"fmt"
	"math"
	"slices"
	"strconv"
)

// What a sum or product of a few numbers may be is computed: sums of zeros are 0, and no factor of
// 1.

// computed finds what a node's constant may be, where its operands may be a few numbers each.
func (f *outcome) computed(n *node, all []outcome) {
	if n.kind != operation || len(n.ops) != 2 || n.op != n.base+".f32" && n.op != n.base+".rn.f32" {
		return
	}
	a, b := either(n.ops[0], all), either(n.ops[1], all)
	if a.any || b.any {
		return
	}
	was := *f
	f.any = false
	for _, v := range a.values {
		for _, w := range b.values {
			if v == "" || w == "" {
				continue
			}
			x, okX := single(v)
			y, okY := single(w)
			if !okX || !okY {
				*f = was
				return
			}
			switch n.base {
			case "add":
				x += y
			case "sub":
				x -= y
			case "mul":
				x *= y
			default:
				*f = was
				return
			}
			f.add(fmt.Sprintf("0f%08x", math.Float32bits(x)))
		}
	}
}

// begin collects the numbers that operands of approximate instructions may be made of alone: in the
// first round of a loop, say. Of those with few bits another one is no such number.
func begin(g *graph, all []outcome, out map[string]bool) {
	seen := map[int]bool{}
	var walk func(origins []int)
	walk = func(origins []int) {
		for _, o := range origins {
			n := g.nodes[o]
			if seen[o] || !all[o].constant {
				continue
			}
			seen[o] = true
			if n.kind == constant && len(n.name) == len(one32) && !plain(n.name) {
				out[n.name] = true
			}
			if n.kind == operation {
				for _, ops := range n.ops {
					walk(ops)
				}
			}
		}
	}
	for _, n := range g.nodes {
		if n.kind == operation && approximate(n) {
			for _, ops := range n.ops {
				if either(ops, all).constant {
					walk(ops)
				}
			}
		}
	}
}

// single is a number of PTX in single precision, but none of those that may be flushed, or are
// none.
func single(text string) (float32, bool) {
	if len(text) != len(one32) || text[:2] != "0f" {
		return 0, false
	}
	bits, err := strconv.ParseUint(text[2:], 16, 32)
	x := math.Float32frombits(uint32(bits))
	if size := math.Abs(float64(x)); size != 0 && size < 1e-37 || size > 1e37 {
		err = strconv.ErrRange
	}
	return x, err == nil && x == x
}

// doubles tells of x + x with numbers of the code for x, or what these are without fractions: it is
// exact, and a sum that is contracted with it gives the same.
func (g *graph) doubles(n *node) bool {
	return twice(n) && !slices.ContainsFunc(n.ops[0], func(o int) bool {
		x := g.nodes[o]
		if x.kind == operation && (x.op == "cvt.rzi.f32.f32" || x.op == "cvt.rni.f32.f32") &&
			len(x.ops[0]) == 1 {
			x = g.nodes[x.ops[0][0]]
		}
		_, ok := single(x.name)
		return x.kind != constant || !ok
	})
}
