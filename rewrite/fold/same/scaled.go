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
