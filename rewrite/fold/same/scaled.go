package same

import (
	"slices"

	"gnvcc/rewrite/fold"
)

// A product that is multiplied with a power of two next: ptxas makes one instruction of the two,
// FMUL.D2, which rounds once. Where the product overflows, or half of it is subnormal, two
// instructions have other bits. So it is with contraction: what may become a power of two, or come
// to stand beside its product, may be scaled in one kernel and not in the other.

// scalable tells of a product that ptxas may scale: one of single precision that names no rounding.
// (What it is multiplied with may name one.)
func scalable(n *node) bool {
	return n.kind == operation && fold.FreeFactor(n.fn, n.at)
}

// scales tells whether a kernel multiplies anything with such a power of two.
func (g *graph) scales() bool {
	return slices.ContainsFunc(g.nodes, func(n *node) bool {
		return n.kind == operation && n.base == "mul" && slices.ContainsFunc(n.ops, func(o []int) bool {
			return slices.ContainsFunc(o, func(k int) bool {
				return g.nodes[k].kind == constant && fold.PowerOfTwo(g.nodes[k].name)
			})
		})
	})
}

// scaled lists the variant's products that ptxas may scale, each with all of the default's that may
// be the same operation: a loop of the variant may stand for one that was unrolled, of whose turns
// some are scaled, and for its remainder.
func (c *choices) scaled() []Sum {
	var out []Sum
	for i, v := range c.variant.nodes {
		if !scalable(v) {
			continue
		}
		var may []Statement
		for k, d := range c.def.nodes {
			if scalable(d) && (slices.Contains(c.mates[i], k) ||
				kindOf(v.op) == kindOf(d.op) && c.factors(v.ops, d.ops, depth)) {
				may = append(may, d.statement())
			}
		}
		out = append(out, Sum{At: v.statement(), May: may})
	}
	return out
}
