package same

import (
	"slices"
	"strings"
)

// What ptxas contracted is known of the machine code, and then the sum is a contracted one, as if
// cicc had made it: the one compiler may contract in one kernel what the other does in the other
// one.

// fuse makes contracted sums of those that ptxas contracted with a product.
func (g *graph) fuse(contracted map[Statement]Statement) {
	var products []int
	for s, of := range contracted {
		f := g.byName[s.Func.Name]
		if f == nil || f.Func != s.Func || of.Func != s.Func {
			continue
		}
		sum, okSum := f.node[s.Index]
		product, okProduct := f.node[of.Index]
		if !okSum || !okProduct || !g.contract(g.nodes[sum], product) {
			continue
		}
		products = append(products, product)
	}
	used := map[int]bool{}
	for _, n := range g.nodes {
		for k := range n.ops {
			for _, o := range slices.Concat(n.ops[k], n.chosen[k]) {
				used[o] = true
			}
		}
	}
	for _, p := range products {
		if !used[p] {
			g.nodes[p].kind = unused
		}
	}
}

// An operand is one of a node's.
type operand struct {
	ops, chosen []int
	arg         string
	alike       uint8
}

// contract makes n, a sum one of whose operands is a product, a contracted one.
func (g *graph) contract(n *node, product int) bool {
	p := g.nodes[product]
	k := slices.IndexFunc(n.ops, func(o []int) bool { return slices.Equal(o, []int{product}) })
	kind := strings.TrimPrefix(n.op, n.base)
	if k < 0 || k > 1 || n.base != "add" && n.base != "sub" || p.base != "mul" || len(p.ops) != 2 ||
		kind != strings.TrimPrefix(p.op, p.base) || twice(n) {
		return false
	}
	of := func(n *node, k int) operand {
		g.alike(n, k)
		return operand{n.ops[k], n.chosen[k], n.args[k], n.alike[k]}
	}
	a, b, c := of(p, 0), of(p, 1), of(n, 1-k)
	switch {
	case n.base == "sub" && k == 0:
		g.opposite(n, &c)
	case n.base == "sub" && len(b.ops) == 1 && g.nodes[b.ops[0]].kind == constant:
		g.opposite(n, &b)
	case n.base == "sub":
		g.opposite(n, &a)
	}
	n.op, n.base = "fma.rn"+kind, "fma"
	n.ops = [][]int{a.ops, b.ops, c.ops}
	n.chosen = [][]int{a.chosen, b.chosen, c.chosen}
	n.args = []string{a.arg, b.arg, c.arg}
	n.alike = []uint8{a.alike, b.alike, c.alike}
	n.text = slices.Concat(n.text[:1], n.args)
	return true
}

// opposite gives an operand the other sign, as cicc does where it contracts a difference.
func (g *graph) opposite(n *node, o *operand) {
	if len(o.ops) == 1 && g.nodes[o.ops[0]].kind == constant {
		o.arg, o.chosen = otherSign(g.nodes[o.ops[0]].name), nil
		o.ops = []int{g.leafOf(constant, o.arg)}
		return
	}
	g.nodes = append(g.nodes, &node{kind: operation, fn: n.fn, at: n.at, base: "neg",
		op: "neg" + strings.TrimPrefix(n.op, n.base), text: []string{"", o.arg}, ops: [][]int{o.ops},
		chosen: [][]int{o.chosen}, args: []string{o.arg}, alike: []uint8{o.alike}, where: n.where})
	o.ops, o.chosen = []int{len(g.nodes) - 1}, nil
}

// otherSign is a floating-point number of PTX with the other sign.
func otherSign(name string) string {
	const digits = "0123456789abcdef"
	if len(name) < 3 || name[:2] != "0f" && name[:2] != "0d" {
		return name
	}
	d := strings.IndexByte(digits, name[2])
	if d < 0 {
		return name
	}
	return name[:2] + string(digits[d^8]) + name[3:]
}
