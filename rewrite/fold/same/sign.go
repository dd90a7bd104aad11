package same

import (
	"slices"
	"strings"
)

// Where a compiler may have moved a change of sign to: it goes through products and quotients, and
// through no sum.

// ordered tells of two differences that match that the minuend of one is that of the other: none of
// their operands may have taken in a sign, which would exchange them. x*y - z*w is exchanged to
// (-z)*w - (-x)*y, in which both products have another sign; where no kernel has one in them, they
// have not. Numbers among their factors have none as long as they are the source's own: the variant
// may know what stands for a factor of the default, with its sign.
func (c *choices) ordered(i, k int) bool {
	v, d := c.variant.nodes[i], c.def.nodes[k]
	if v.base != "sub" || d.base != "sub" || !c.pair(i, k) || !c.holds(i, k) {
		return false
	}
	for n := range 2 {
		plain := !negative(c.variant, v.ops[n], depth) && !negative(c.def, d.ops[n], depth)
		if !plain && !(unsigned(c.variant, v.ops[n], nil, deepSigns) &&
			unsigned(c.def, d.ops[n], c.outcome, deepSigns)) {
			return false
		}
	}
	return true
}

// deepSigns is how many products of products unsigned looks into.
const deepSigns = 6

// unsigned tells that no value of an operand has taken in a change of sign: it is made, by products
// and quotients alone, of what was loaded, sums, and numbers above 0. A compiler moves no sign
// through a sum: x - y and -(y - x) are different zeros where x is y. In the default nothing that
// it is made of may be a constant in the variant.
func unsigned(g *graph, origins []int, outcomes []outcome, left int) bool {
	if left == 0 || len(origins) == 0 {
		return false
	}
	for _, o := range origins {
		n := g.nodes[o]
		switch {
		case n.kind == constant:
			if !above0(n.name) {
				return false
			}
			continue
		case outcomes != nil && outcomes[o].constant:
			return false
		case n.kind == load, n.kind == parameter:
			continue
		case n.kind != operation || !float(n.op):
			return false
		}
		switch n.base {
		case "mul", "div":
			if !unsigned(g, n.ops[0], outcomes, left-1) || !unsigned(g, n.ops[1], outcomes, left-1) {
				return false
			}
		case "add", "sub", "fma":
			if slices.ContainsFunc(slices.Concat(n.ops...), func(o int) bool {
				return g.nodes[o].kind == constant && zero(g.nodes[o].name)
			}) { // 0 - x is a change of sign
				return false
			}
		default:
			return false
		}
	}
	return true
}

// above0 tells of a floating-point number of PTX that it has no sign and is not 0.
func above0(name string) bool {
	return (strings.HasPrefix(name, "0f") || strings.HasPrefix(name, "0d")) && len(name) > 2 &&
		name[2] >= '0' && name[2] <= '7' && !zero(name)
}

// zero tells of 0 and -0.
func zero(name string) bool {
	return subtracted[name] || added[name] || name == "0"
}

// squared tells whether a contracted sum's product may be a square, perhaps with a sign.
func squared(g *graph, n *node) bool {
	a, b := n.ops[0], n.ops[1]
	return slices.Equal(a, b) || opposite(g, a, b) || opposite(g, b, a)
}

// opposite tells whether a is -b.
func opposite(g *graph, a, b []int) bool {
	return len(a) == 1 && (g.nodes[a[0]].base == "neg" && slices.Equal(g.nodes[a[0]].ops[0], b) ||
		g.nodes[a[0]].kind == constant || g.nodes[a[0]].kind == integer)
}

// negated tells whether a contracted sum may be a difference whose operand k was the product: the
// other one, or a factor, has the other sign.
func (c *choices) negated(g *graph, fused *node, k int) bool {
	if k == 0 {
		return negative(g, fused.ops[2], depth)
	}
	if slices.Equal(fused.ops[0], fused.ops[1]) { // a square has no sign
		return false
	}
	return negative(g, fused.ops[0], depth) || negative(g, fused.ops[1], depth)
}

// negative tells whether any of these may have taken in a change of sign.
func negative(g *graph, origins []int, left int) bool {
	if left == 0 || len(origins) == 0 {
		return true
	}
	for _, o := range origins {
		switch n := g.nodes[o]; {
		case n.base == "neg", n.kind == constant && !subtracted[n.name], n.kind == integer,
			n.kind == called:
			return true
		case n.kind == operation && (n.base == "mul" || n.base == "div"):
			if negative(g, n.ops[0], left-1) || negative(g, n.ops[1], left-1) {
				return true
			}
		}
	}
	return false
}
