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
	by      []int // the constants' nodes
	product bool  // ptxas may contract it with a sum
}

// neutrals finds them; rough: also those by numbers with other bits.
func (m *matching) neutrals(rough bool) map[int]neutral {
	out := map[int]neutral{}
	for i, n := range m.def.nodes {
		op := []byte(n.op)
		if n.kind != operation || len(n.ops) != 2 || !float(n.op) ||
			!rough && (ptx.HasModifier(op, "ftz") || ptx.HasModifier(op, "sat") || approximate(n)) {
			continue
		}
		of := neutral{product: isProduct(n)}
		for k := range n.ops {
			f := either(n.ops[k], m.fate)
			if other := f.rough || f.flushes; other && !rough ||
				!f.may(neutralTo(n.base, k)) && !other {
				continue
			}
			of.kept = append(of.kept, n.ops[1-k]...)
			of.by = append(of.by, n.ops[k]...)
		}
		if len(of.kept) > 0 {
			out[i] = of
		}
	}
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
