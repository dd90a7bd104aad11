package same

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"gnvcc/rewrite/fold"
	"gnvcc/rewrite/ptx"
)

// Which product a sum is contracted with is the compiler's choice, and it may choose otherwise in
// the variant. So no sum of the variant may be one that the default, by its structure, contracts in
// another way. What is asked here is whether two sums *may* be the same operation of the source: it
// follows from what their operands may hold, some steps down, whatever statement they are of.

// depth is how far down operands are compared: what is further down counts as alike.
const depth = 6

type choices struct {
	*matching
	late    []outcome // of the variant's nodes
	memo    map[[3]int]bool
	asked   map[question]bool // any, so far
	widened map[*graph]map[int][]int
	bared   map[*graph]map[list][]int
	// by graph, too
	selected map[*graph]*selections
	stored   map[string]map[string]bool // by space: the operations whose results either kernel stores
	places   map[string][]stored        // by operation
}

// A question is one of any's.
type question struct {
	v, d  list
	left  int
	zeros bool
}

// A stored value is one that a kernel stores: to which space, and from what its address is made.
type stored struct {
	g     *graph
	space string
	root  map[int]bool
}

func isSum(n *node) bool {
	return n.kind == operation && float(n.op) && (n.base == "add" || n.base == "sub" ||
		n.base == "fma")
}

// twice tells of x + x, which may be x * 2.
func twice(n *node) bool {
	return n.kind == operation && n.base == "add" && len(n.text) == 3 && n.text[1] == n.text[2]
}

// isProduct tells of what ptxas may contract with a sum.
func isProduct(n *node) bool { return n.kind == operation && fold.FreeProduct(n.fn, n.at) }

// freeSum tells of a sum that ptxas may contract.
func freeSum(n *node) bool {
	return n.kind == operation && n.base != "fma" && fold.FreeSum(n.fn, n.at)
}

// choices makes them.
func (m *matching) choices() *choices {
	c := &choices{matching: m, late: outcomes(m.variant, fold.Fixed{}, true), memo: map[[3]int]bool{},
		asked: map[question]bool{}, stored: map[string]map[string]bool{}, places: map[string][]stored{},
		widened:  map[*graph]map[int][]int{m.def: {}, m.variant: {}},
		bared:    map[*graph]map[list][]int{m.def: {}, m.variant: {}},
		selected: map[*graph]*selections{m.def: selectionsOf(m.def), m.variant: selectionsOf(m.variant)}}
	for _, g := range []*graph{m.def, m.variant} {
		for _, n := range g.nodes {
			if n.base != "st" && n.base != "atom" && n.base != "red" {
				continue
			}
			s := ptx.Space([]byte(n.op))
			if c.stored[s] == nil {
				c.stored[s] = map[string]bool{}
			}
			address := 0
			if n.base == "atom" {
				address = 1
			}
			root := g.roots(g.byName[n.fn.Name], n.at, n.text[address])
			for _, o := range n.ops {
				for _, k := range o {
					what := class(g.nodes[k])
					c.stored[s][what] = true
					c.places[what] = append(c.places[what], stored{g, s, root})
				}
			}
		}
	}
	return c
}

// choose compares all sums, and lists those that ptxas may contract.
func (m *matching) choose() (*Answer, error) {
	c := m.choices()
	var sums []int
	for i, d := range m.def.nodes {
		if isSum(d) {
			sums = append(sums, i)
		}
	}
	out := &Answer{}
	for i, v := range m.variant.nodes {
		if v.kind == operation && approximate(v) {
			out.Approximate = append(out.Approximate, v.statement())
		}
		if !isSum(v) {
			continue
		}
		var may, ordered []Statement
		for _, k := range sums {
			d := m.def.nodes[k]
			same, other := c.relate(i, k)
			if other {
				return nil, fmt.Errorf("%s may be what the default does by %s, contracted otherwise", v, d)
			}
			if v.base != "fma" && d.base != "fma" && (same || m.pair(i, k)) {
				may = append(may, d.statement())
				if c.ordered(i, k) {
					ordered = append(ordered, d.statement())
				}
			}
		}
		if freeSum(v) && c.products(m.variant, v) > 0 {
			out.Sums = append(out.Sums, Sum{v.statement(), may, ordered})
		}
	}
	if !m.def.built.Unfolded {
		out.Alone = m.folded()
	}
	if m.def.scales() || m.variant.scales() {
		out.Products = c.scaled()
	}
	c.finish(out)
	return out, nil
}

// finish lists the sums with two products, and the numbers that approximate instructions may begin
// with.
func (c *choices) finish(out *Answer) {
	for _, g := range []*graph{c.def, c.variant} {
		for _, n := range g.nodes {
			if freeSum(n) && c.products(g, n) > 1 {
				out.Both = append(out.Both, n.statement())
			}
		}
	}
	begin(c.variant, c.late, c.early)
	begin(c.def, outcomes(c.def, fold.Fixed{}, true), c.early)
	out.Early = slices.Sorted(maps.Keys(c.early))
}

// products is the number of a sum's operands that may be products.
func (c *choices) products(g *graph, n *node) int {
	count := 0
	for k := range n.ops {
		for _, o := range c.bare(g, n.ops[k]) {
			n := g.nodes[o]
			if isProduct(n) && !g.doubles(n) ||
				n.kind == load && c.stored[n.name]["mul"] && !g.fresh(n) {
				count++
				break
			}
		}
	}
	return count
}

// zeroBelow is -0 in single precision.
const zeroBelow = "0f80000000"

// Constants for which an operation gives its other operand, as PTX writes them.
var (
	ones = set("0f3f800000 0fbf800000 0d3ff0000000000000 0dbff0000000000000 " +
		"1 -1 1065353216 3212836864")
	// x + 0 is not x where x is -0
	added      = set(zeroBelow + " 0d8000000000000000")
	subtracted = set("0f00000000 0d0000000000000000")
)

// plain tells of a number with few bits, which different computations may well come to.
func plain(name string) bool {
	if len(name) == 18 && name[:2] == "0d" {
		return strings.HasSuffix(name, "00000000")
	}
	return len(name) != 10 || name[:2] != "0f" || strings.HasSuffix(name, "000")
}

func set(list string) map[string]bool {
	out := map[string]bool{}
	for _, w := range strings.Fields(list) {
		out[w] = true
	}
	return out
}

// may tells what an operand's constant may be, where an operation may be gone for it.
func (c *choices) may(g *graph, origins []int) outcome {
	if c.def.built.Unfolded {
		return outcome{}
	}
	if g == c.def {
		return either(origins, c.outcome)
	}
	return either(origins, c.late)
}

// bare are origins, without signs, and with what they become where an operand of theirs turns out
// to be 0 or 1.
func (c *choices) bare(g *graph, origins []int) []int {
	key := listOf(origins)
	if known, ok := c.bared[g][key]; ok {
		return known
	}
	plain := true
	for _, o := range origins {
		plain = plain && len(c.instead(g, o)) == 0
	}
	if plain {
		c.bared[g][key] = origins
		return origins
	}
	var out []int
	seen := map[int]bool{}
	var walk func(origins []int)
	walk = func(origins []int) {
		for _, o := range origins {
			if seen[o] {
				continue
			}
			seen[o] = true
			if g.nodes[o].base != "neg" {
				out = append(out, o)
			}
			walk(c.instead(g, o))
		}
	}
	walk(origins)
	c.bared[g][key] = out
	return out
}

// instead are the values that a node may be replaced by.
func (c *choices) instead(g *graph, o int) []int {
	n := g.nodes[o]
	if n.kind != operation {
		return nil
	}
	if known, ok := c.widened[g][o]; ok {
		return known
	}
	var out []int
	switch {
	case n.base == "neg":
		out = n.ops[0]
	case !float(n.op) || len(n.ops) < 2:
	case n.base == "mul":
		for k := range 2 {
			if c.may(g, n.ops[k]).may(ones) {
				out = append(out, n.ops[1-k]...)
			}
		}
	case n.base == "add", n.base == "sub":
		for k, list := range []map[string]bool{added, added} {
			if n.base == "sub" && k == 1 {
				list = subtracted
			}
			if c.may(g, n.ops[k]).may(list) {
				out = append(out, n.ops[1-k]...)
			}
		}
	case n.base == "min", n.base == "max":
		for k := range 2 {
			if c.may(g, n.ops[k]).constant {
				out = append(out, n.ops[1-k]...)
			}
		}
	case n.base == "div" && c.may(g, n.ops[1]).constant:
		out = n.ops[0]
	}
	c.widened[g][o] = out
	return out
}

// multiplies tells of a node that is a product, or may become one.
func (c *choices) multiplies(g *graph, o int) bool {
	n := g.nodes[o]
	switch {
	case n.kind != operation || !float(n.op):
		return false
	case n.base == "mul", twice(n):
		return true
	case n.base == "div":
		return c.may(g, n.ops[1]).constant
	case n.base == "fma":
		f := c.may(g, n.ops[2]) // x*x is never -0
		return f.may(added) || n.text[1] == n.text[2] && f.may(subtracted)
	}
	return false
}

// class is the operation of the source that a node may be.
func class(n *node) string {
	switch {
	case n.kind != operation:
		return ""
	case isSum(n):
		return "sum"
	}
	return n.base
}

// relate tells whether two sums may be the same operation, contracted alike, or otherwise.
func (c *choices) relate(i, k int) (same, other bool) {
	v, d := c.variant.nodes[i], c.def.nodes[k]
	if kindOf(v.op) != kindOf(d.op) {
		return false, false
	}
	switch {
	case c.slips(c.def, c.variant, d, v, false), c.slips(c.variant, c.def, v, d, true):
		other = true
	case v.base == "fma" && d.base == "fma":
		same = c.factors(v.ops, d.ops, depth) && c.some(v.ops[2], d.ops[2], depth)
		other = c.crossed(v, d)
	case v.base == "fma":
		other = c.half(c.variant, c.def, v, d, true)
	case d.base == "fma":
		other = c.half(c.def, c.variant, d, v, false)
	default:
		same = c.factors(v.ops, d.ops, depth)
	}
	return same, other
}

// real tells of a node that is a product already.
func real(n *node) bool { return n.base == "mul" || twice(n) }

// square tells of x*x.
func square(n *node) bool {
	return (n.base == "mul" || n.base == "fma") && n.text[1] == n.text[2]
}

// factors compares the first two operands, in either order.
func (c *choices) factors(v, d [][]int, left int) bool {
	return c.some(v[0], d[0], left) && c.some(v[1], d[1], left) ||
		c.some(v[0], d[1], left) && c.some(v[1], d[0], left)
}

// some tells whether any value of the one may be any of the other.
func (c *choices) some(v, d []int, left int) bool { return c.any(v, d, left, true) }

// any is some, and zeros says whether a 0 of both counts.
func (c *choices) any(v, d []int, left int, zeros bool) bool {
	q := question{listOf(v), listOf(d), left, zeros}
	known, ok := c.asked[q]
	if !ok {
		known = c.anyOf(c.held(c.variant, v), c.held(c.def, d), left, zeros)
		c.asked[q] = known
	}
	return known
}

// anyOf is any, for values as held gives them.
func (c *choices) anyOf(v, d []int, left int, zeros bool) bool {
	if len(v) == 0 || len(d) == 0 {
		return true
	}
	for _, a := range v {
		for _, b := range d {
			if (zeros || !nought(c.variant.nodes[a]) || !nought(c.def.nodes[b])) && c.alike(a, b, left) {
				return true
			}
		}
	}
	return false
}

// nought tells of a number that is 0, with either sign.
func nought(n *node) bool {
	return n.kind == constant && zero(n.name)
}

// rounding is factors for a product p, one of the two, of which it shows whether it is contracted:
// not so where a factor is 0. So sums that both begin with 0 are no copies of each other by that.
func (c *choices) rounding(p *node, v, d [][]int, left int) bool {
	if p.base == "div" { // 0 may be the divisor
		return c.factors(v, d, left)
	}
	return c.any(v[0], d[0], left, false) && c.any(v[1], d[1], left, false) ||
		c.any(v[0], d[1], left, false) && c.any(v[1], d[0], left, false)
}

// alike tells whether a value of the variant may be one of the default.
func (c *choices) alike(a, b, left int) bool {
	v, d := c.variant.nodes[a], c.def.nodes[b]
	switch {
	case v.kind == constant && d.kind == constant: // x - y*0.3 is contracted with -0.3
		return v.name == d.name || v.name == otherSign(d.name)
	case v.kind == constant:
		return c.outcome[b].mayBe(v.name) || d.kind == called
	case d.kind == constant:
		return c.late[a].mayBe(d.name) || v.kind == called
	case v.kind == called || d.kind == called:
		return true
	case v.kind == integer && d.kind == operation:
		return bitwise(d)
	case d.kind == integer && v.kind == operation:
		return bitwise(v)
	case v.kind == integer || d.kind == integer:
		return true
	case v.kind == operation && d.kind == operation, v.kind == choice, d.kind == choice:
	case v.kind == load && d.kind == load:
		return (v.name == d.name || v.name == "" || d.name == "") && meet(c.variant, c.def, v, d) &&
			!apart(v, d)
	case v.kind == load && d.kind == operation:
		return !c.variant.fresh(v) && c.forwarded(c.variant, v, d)
	case v.kind == operation && d.kind == load:
		return !c.def.fresh(d) && c.forwarded(c.def, d, v)
	case v.kind == d.kind:
		return v.name == d.name
	default:
		return false
	}
	if left <= 0 {
		return true
	}
	key := [3]int{a, b, left}
	if known, ok := c.memo[key]; ok {
		return known
	}
	var out bool
	if v.kind == choice || d.kind == choice {
		c.memo[key] = true // a selection of its own value
		out = c.sides(a, b, left-1)
	} else {
		out = c.operations(a, b, left)
	}
	c.memo[key] = out
	return out
}

// bitwise tells of an operation that may be done on integers as well.
func bitwise(n *node) bool {
	switch n.base {
	case "abs", "neg", "copysign", "cvt", "min", "max":
		return true
	}
	return !float(n.op)
}

func (c *choices) operations(a, b, left int) bool {
	v, d := c.variant.nodes[a], c.def.nodes[b]
	if kindOf(v.op) != kindOf(d.op) || approximate(v) != approximate(d) {
		return false
	}
	if isSum(v) && isSum(d) {
		// The first sum that is contracted otherwise is looked for: what goes into it is not.
		switch {
		case v.base == "fma" && d.base == "fma":
			if c.factors(v.ops, d.ops, left-1) && c.some(v.ops[2], d.ops[2], left-1) {
				return true
			}
		case v.base != "fma" && d.base != "fma":
			if c.factors(v.ops, d.ops, left-1) {
				return true
			}
		case d.base == "fma":
			for k := range 2 {
				if c.may(c.def, d.ops[k]).may(ones) && c.factors(v.ops, [][]int{d.ops[1-k], d.ops[2]},
					left-1) {
					return true
				}
			}
		default:
			for k := range 2 {
				if c.may(c.variant, v.ops[k]).may(ones) && c.factors([][]int{v.ops[1-k], v.ops[2]}, d.ops,
					left-1) {
					return true
				}
			}
		}
	}
	if twice(v) && d.base == "mul" || v.base == "mul" && twice(d) {
		return true
	}
	if c.multiplies(c.variant, a) && c.multiplies(c.def, b) {
		return c.factors(v.ops, d.ops, left-1)
	}
	if class(v) != class(d) || len(v.ops) != len(d.ops) || isSum(v) {
		return false
	}
	switch v.base {
	case "mul", "min", "max":
		return c.factors(v.ops, d.ops, left-1)
	case "atom", "tex", "shfl", "tld4", "suld":
		return true
	}
	for k := range v.ops {
		if !c.some(v.ops[k], d.ops[k], left-1) {
			return false
		}
	}
	return true
}

// forwarded tells whether a load of a kernel may find what an operation gave.
func (c *choices) forwarded(g *graph, from, n *node) bool {
	return c.forwards(g, from, class(n))
}

// forwards tells whether a load may find what operations of a class gave: a compiler hands on what
// was stored where it sees that the addresses are equal, so that they are made of the same
// parameter or variable.
func (c *choices) forwards(g *graph, from *node, class string) bool {
	if ptx.HasModifier([]byte(from.op), "nc") || from.name == "const" {
		return false
	}
	for _, s := range c.places[class] {
		if (s.space == from.name || s.space == "" || from.name == "") &&
			meet(g, s.g, from, &node{root: s.root}) {
			return true
		}
	}
	return false
}

// folded lists the products and sums of the default that a constant of the variant stands for.
func (m *matching) folded() []Statement {
	found := map[int]bool{}
	var walk func(origins []int)
	walk = func(origins []int) {
		for _, k := range origins {
			if n := m.def.nodes[k]; !found[k] && n.kind == operation && m.outcome[k].constant {
				found[k] = true
				for _, o := range n.ops {
					walk(o)
				}
			}
		}
	}
	for i, v := range m.variant.nodes {
		for a, ops := range v.ops {
			for _, k := range m.mates[i] {
				for b, in := range m.def.nodes[k].ops {
					if stands(v, a, b) && !m.narrow(i, k, a, b) {
						walk(m.dropped(in))
					}
				}
			}
			for _, o := range ops {
				if m.variant.nodes[o].kind != constant {
					continue
				}
				for _, k := range m.mates[i] {
					for b, in := range m.def.nodes[k].ops {
						if stands(v, a, b) {
							walk(in)
						}
					}
				}
			}
		}
	}
	m.decided(found)
	var out []Statement
	for k, n := range m.def.nodes {
		if found[k] && (isProduct(n) || freeSum(n)) {
			out = append(out, n.statement())
		}
	}
	return out
}

// stands tells whether a node's operand a may be operand b of one that matches.
func stands(v *node, a, b int) bool { return a == b || v.base == "st" || a < 2 && b < 2 }
