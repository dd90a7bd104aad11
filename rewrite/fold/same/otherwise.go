package same

import "slices"

// Whether two sums may be one of the source, contracted otherwise.

// slips tells whether a contracted sum's factor may be 1, so that the product is its other factor:
// if that, or the addend, is a product, the sum may be contracted with it.
func (c *choices) slips(fg, og *graph, fused, sum *node, isVariant bool) bool {
	if fused.base != "fma" {
		return false
	}
	for k := range 2 {
		if !c.may(fg, fused.ops[k]).may(ones) {
			continue
		}
		product := false
		for _, o := range append(slices.Clone(c.bare(fg, fused.ops[1-k])), c.bare(fg, fused.ops[2])...) {
			product = product || c.multiplies(fg, o)
		}
		if !product {
			continue
		}
		// a sum of the two: its operands are those, or one of them is the product of the other's factors
		two := [][]int{fused.ops[1-k], fused.ops[2]}
		switch {
		case sum.base == "fma":
			if c.product(fg, two[0], two[1], sum, isVariant) ||
				c.product(fg, two[1], two[0], sum, isVariant) {
				return true
			}
		case isVariant && c.factors(two, sum.ops, depth-1),
			!isVariant && c.factors(sum.ops, two, depth-1):
			return true
		}
	}
	return false
}

// product tells whether a contracted sum of the other kernel may be of these two, contracted with
// the first.
func (c *choices) product(g *graph, first, second []int, sum *node, isVariant bool) bool {
	v, d := second, sum.ops[2]
	if !isVariant {
		v, d = d, v
	}
	if !c.some(v, d, depth-1) {
		return false
	}
	for _, o := range c.bare(g, first) {
		p := g.nodes[o]
		if p.kind == load && c.forwards(g, p, "mul") {
			return true
		}
		if !c.multiplies(g, o) {
			continue
		}
		// x + x is x * 2, and x / 4 is x * 0.25: their operands are not the factors
		if p.base != "mul" && p.base != "fma" || isVariant && c.factors(p.ops, sum.ops, depth-1) ||
			!isVariant && c.factors(sum.ops, p.ops, depth-1) {
			return true
		}
	}
	return false
}

// crossed tells whether two contracted sums may be a*b + e*f, of which each rounds the other
// product.
func (c *choices) crossed(v, d *node) bool {
	for _, o := range c.bare(c.variant, v.ops[2]) {
		p := c.variant.nodes[o]
		if !c.multiplies(c.variant, o) || c.variant.again(v, p) || !c.factors(p.ops, d.ops, depth-1) {
			continue
		}
		shows := c.rounding(p, p.ops, d.ops, depth-1)
		for _, e := range c.bare(c.def, d.ops[2]) {
			q := c.def.nodes[e]
			if !real(p) && !real(q) { // one of the two turned into a product
				continue
			}
			if c.multiplies(c.def, e) && (shows && c.factors(v.ops, q.ops, depth-1) ||
				c.rounding(q, v.ops, q.ops, depth-1)) {
				return true
			}
		}
	}
	return false
}

// again tells of a contracted sum that it adds the product that it is contracted with, x*y + x*y:
// it is the same number with either of the two.
func (g *graph) again(sum, product *node) bool {
	f := g.byName[sum.fn.Name]
	if product.base != "mul" || product.fn != sum.fn || len(sum.text) < 4 || len(product.text) < 3 {
		return false
	}
	for k := 1; k < 3; k++ {
		if sum.text[k] != product.text[k] ||
			!slices.Equal(f.reach.Of(sum.at, sum.text[k]), f.reach.Of(product.at, product.text[k])) {
			return false
		}
	}
	return true
}

// half tells whether a contracted sum and one that is not may be the same: one operand of the other
// is a product of the same factors.
func (c *choices) half(fg, sg *graph, fused, sum *node, isVariant bool) bool {
	for k := range 2 {
		for _, o := range c.bare(sg, sum.ops[k]) {
			p := sg.nodes[o]
			if !c.multiplies(sg, o) || sum.base == "sub" && !c.negated(fg, fused, k) ||
				square(p) && !squared(fg, fused) {
				continue
			}
			if isVariant {
				if c.rounding(p, fused.ops, p.ops, depth-1) && c.some(fused.ops[2], sum.ops[1-k], depth-1) {
					return true
				}
			} else if c.rounding(p, p.ops, fused.ops, depth-1) &&
				c.some(sum.ops[1-k], fused.ops[2], depth-1) {
				return true
			}
		}
	}
	return false
}
