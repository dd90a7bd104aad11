package same

import (
	"slices"

	"gnvcc/rewrite/ptx"
)

// Where the kernel divides by a parameter that is 1 in the variant, the variant has the dividend. A
// compiler drops an operation for a constant that changes no bits of the other operand, and for no
// other one: x * 1, x / 1, x + -0, x - 0, and x * -1 where a sign may be moved. What then stands
// beside a sum and did not is choice.go's question (instead). Four things change bits all the same:
//
//   - The constant may be the compiler's: an approximate instruction, or a contracted sum, can give
//     another number on the GPU. So rough constants are none of these, and Answer.Alone has what
//     the constant is computed of.
//   - Where subnormals are flushed, x * 1 is 0 for one, and x is not.
//   - x / 1 by an approximate division need not be x.
//   - a*b * 1 + c may be contracted by ptxas to the same in both, but for what is rounded: with
//     a*b*1, a*b is rounded first. So what may be a product is not dropped in front of another one.

// A neutral is an operation of the default that may give one of its operands as it is.
type neutral struct {
	kept    []int // where that is so: the nodes that it may be
	rough   []int // the same, where other bits would be given by that
	by      []int // the constants' nodes, of kept
	product bool  // ptxas may contract it with a sum
}

// neutrals finds them.
func (m *matching) neutrals() map[int]neutral {
	out := map[int]neutral{}
	for i, n := range m.def.nodes {
		op := []byte(n.op)
		if n.kind != operation || len(n.ops) != 2 || !float(n.op) {
			continue
		}
		other := ptx.HasModifier(op, "ftz") || ptx.HasModifier(op, "sat") || approximate(n)
		of := neutral{product: isProduct(n)}
		for k := range n.ops {
			switch f := either(n.ops[k], m.outcome); {
			case f.rough, f.flushes, other && f.may(neutralTo(n.base, k)):
				of.rough = append(of.rough, n.ops[1-k]...)
			case f.may(neutralTo(n.base, k)):
				of.kept = append(of.kept, n.ops[1-k]...)
				of.by = append(of.by, n.ops[k]...)
			}
		}
		if len(of.kept)+len(of.rough) > 0 {
			out[i] = of
		}
	}
	return out
}

// bare is an operation of the variant that may have an operand without the number with other bits
// that stands beside it in the default; -1: none.
func (m *matching) bare() int {
	known := map[list][]int{}
	for i, v := range m.variant.nodes {
		for a, ops := range v.ops {
			from := m.variant.signless(ops)
			for _, k := range m.mates[i] {
				for b, in := range m.def.nodes[k].ops {
					if stands(v, a, b) && slices.ContainsFunc(m.behindRough(in, known), func(k int) bool {
						return slices.ContainsFunc(from, func(o int) bool { return m.covers(o, k) })
					}) {
						m.why[i] = reason{m.def.nodes[k], a}
						return i
					}
				}
			}
		}
	}
	return -1
}

// behindRough are the nodes that stand beside numbers with other bits, where nothing but operations
// that may be neutral are between them and some origins.
func (m *matching) behindRough(origins []int, known map[list][]int) []int {
	key := listOf(origins)
	if out, ok := known[key]; ok {
		return out
	}
	type step struct {
		o     int
		rough bool
	}
	var out []int
	seen := map[step]bool{}
	var walk func(origins []int, rough bool)
	walk = func(origins []int, rough bool) {
		for _, o := range m.def.signless(origins) {
			if s := (step{o, rough}); !seen[s] {
				seen[s] = true
				if rough {
					out = append(out, o)
				}
				walk(m.neutral[o].kept, rough)
				walk(m.neutral[o].rough, true)
			}
		}
	}
	walk(origins, false)
	known[key] = out
	return out
}

// neutralTo are the constants for operand k of an operation that leave the other operand as it is,
// but for its sign.
func neutralTo(base string, k int) map[string]bool {
	switch {
	case base == "mul", base == "div" && k == 1:
		return ones
	case base == "add", base == "sub" && k == 0:
		return added
	case base == "sub":
		return subtracted
	}
	return nil
}

// widened are origins of the default, with what is left where those that are neutral are dropped.
func (m *matching) widened(origins []int) []int {
	key := listOf(origins)
	if known, ok := m.wide[key]; ok {
		return known
	}
	out := slices.Clone(origins)
	m.drop(origins, false, func(o int) {
		if !slices.Contains(out, o) {
			out = append(out, o)
		}
	})
	m.wide[key] = out
	return out
}

// drop tells of all that stands behind neutral operations. product: one of those in front of these
// origins is a product.
func (m *matching) drop(origins []int, product bool, left func(o int)) {
	type step struct {
		o       int
		product bool
	}
	seen := map[step]bool{}
	var walk func(origins []int, product bool)
	walk = func(origins []int, product bool) {
		for _, o := range m.def.signless(origins) {
			s := step{o, product}
			if seen[s] {
				continue
			}
			seen[s] = true
			if !product || m.loose || m.plainly(o) {
				left(o)
			}
			if of, ok := m.neutral[o]; ok {
				walk(of.kept, product || of.product)
				if m.loose {
					walk(of.rough, product || of.product)
				}
			}
		}
	}
	walk(origins, product)
}

// plainly tells of a value that no compiler takes for a product.
func (m *matching) plainly(o int) bool {
	switch n := m.def.nodes[o]; n.kind {
	case parameter, constant, special:
		return true
	case load:
		return ptx.HasModifier([]byte(n.op), "nc") || n.name == "const" || m.def.fresh(n)
	case operation:
		switch n.base {
		case "add", "sub", "fma", "mul", "div", "sqrt", "cvt":
			return !isProduct(n)
		}
	}
	return false // a sign, say, or the larger one of two: what is behind it may be a product
}

// dropped are the constants' nodes of the neutral operations among some origins, and behind those.
func (m *matching) dropped(origins []int) (by []int) {
	m.drop(origins, false, func(o int) { by = append(by, m.neutral[o].by...) })
	return by
}
