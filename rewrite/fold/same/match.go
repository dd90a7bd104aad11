package same

import (
	"fmt"
	"slices"
	"strings"

	"gnvcc/rewrite/fold"
	"gnvcc/rewrite/ptx"
)

// Each instruction of the variant must have one of the default that it is a copy of: the same
// opcode, from the same statement, and each operand can be only what that operand of the other can
// be. Instructions use each other in loops, so that all pairs are taken for good at first, and
// those are struck out, one after the other, of which an operand is not covered.

// mostPairs bounds the work to some seconds.
const mostPairs = 1 << 25

type matching struct {
	def, variant *graph
	fixed        fold.Fixed
	outcome      []outcome   // of the default's nodes
	forwarding   *forwarding // what its loads may be handed
	mates        [][]int     // by node of the variant
	paired       [][]uint64  // the same, as bits
	why          map[int]reason
	first        int // node of the variant that lost its last mate, -1: none
	early        map[string]bool
	found        map[int][]int   // foundBy, so far
	neutral      map[int]neutral // of the default's operations that may give an operand as it is
	wide         map[list][]int  // widened, so far
	never        map[wanted]bool // what among said no to: pairs are only struck out
	loose        bool            // numbers with other bits count as what they stand for
}

func (m *matching) pair(v, d int) bool {
	return m.paired[v] != nil && m.paired[v][d/64]&(1<<(d%64)) != 0
}

func match(def, variant *graph, fixed fold.Fixed) (*matching, error) {
	m := &matching{def: def, variant: variant, fixed: fixed,
		mates: make([][]int, len(variant.nodes)), paired: make([][]uint64, len(variant.nodes)),
		found: map[int][]int{}, why: map[int]reason{}, first: -1, early: map[string]bool{},
		wide: map[list][]int{}, never: map[wanted]bool{}}
	m.outcome, m.forwarding = roughened(def, fixed)
	if len(def.nodes)*len(variant.nodes) > mostPairs {
		return nil, fmt.Errorf("it is too large: %d and %d values", len(def.nodes), len(variant.nodes))
	}
	byOp := map[string][]int{}
	var beside []int // operations with a number that may have other bits
	for i, d := range def.nodes {
		if d.kind == operation || d.kind == choice {
			byOp[shape(d)] = append(byOp[shape(d)], i)
			if m.besideRough(d) {
				beside = append(beside, i)
			}
		}
	}
	for i, v := range variant.nodes {
		if v.kind != choice && v.kind != operation || m.guard(v) || changesSign(v) {
			continue
		}
		m.paired[i] = make([]uint64, (len(def.nodes)+63)/64)
		for _, k := range byOp[shape(v)] {
			d := def.nodes[k]
			if (!stays(v) || v.where == d.where || v.where == "" || d.where == "" || v.merged || d.merged) &&
				(len(v.ops) == len(d.ops) || v.base == "st") {
				m.paired[i][k/64] |= 1 << (k % 64)
				m.mates[i] = append(m.mates[i], k)
			}
		}
		if len(m.mates[i]) == 0 && v.kind != choice {
			return nil, fmt.Errorf("%s is not what the default does: there is no such instruction", v)
		}
		for _, k := range beside {
			if rewritten(v, def.nodes[k]) {
				m.paired[i][k/64] |= 1 << (k % 64)
				m.mates[i] = append(m.mates[i], k)
			}
		}
	}
	// What has a number with other bits beside it may be the original all the same. So these numbers
	// are allowed at first, and no pair may be lost when they are not.
	m.loose, m.neutral = true, m.neutrals()
	m.strike()
	if m.first < 0 {
		m.loose = false
		clear(m.wide)
		i := m.strike()
		if i < 0 {
			i = m.bare()
		}
		if i >= 0 {
			return nil, fmt.Errorf("%s may be what has a number with other bits%s", variant.nodes[i],
				m.reason(i))
		}
	}
	if m.first >= 0 {
		return nil, fmt.Errorf("%s is not what the default does%s", variant.nodes[m.first],
			m.reason(m.first))
	}
	return m, nil
}

// besideRough tells of an operation that a compiler may write as another one: for a number with
// other bits than the GPU's, or for any, if it is approximate itself.
func (m *matching) besideRough(d *node) bool {
	return arithmetic[d.base] && float(d.op) && slices.ContainsFunc(d.ops, func(in []int) bool {
		f := either(in, m.outcome)
		return f.rough || f.flushes || f.constant && approximate(d)
	})
}

var arithmetic, simple = set("add sub mul div fma"), set("add sub mul")

// rewritten tells whether an operation may be another one beside a number: x - 3 is x + -3, x / 4
// is x * 0.25, x * 2 is x + x, fma(x, 1, y) is x + y, and 1 / x is a reciprocal. No compiler writes
// a division or a multiply-add for anything else.
func rewritten(v, d *node) bool {
	return v.kind == operation && (simple[v.base] || v.base == "rcp" && d.base == "div") &&
		shape(v) != shape(d) && kindOf(v.op) == kindOf(d.op)
}

// strike strikes out the pairs that don't hold. It returns the first operation of the variant that
// has lost one; -1: none.
func (m *matching) strike() int {
	lost := -1
	for again := true; again; {
		again = false
		for i := range m.mates {
			turns := m.turns(i)
			kept := m.mates[i][:0]
			for _, k := range m.mates[i] {
				if m.holds(i, k) || slices.Contains(turns, k) {
					kept = append(kept, k)
					continue
				}
				m.paired[i][k/64] &^= 1 << (k % 64)
				again = true
				if lost < 0 && m.variant.nodes[i].kind != choice {
					lost = i
				}
			}
			if len(kept) == 0 && len(m.mates[i]) > 0 && m.first < 0 &&
				m.variant.nodes[i].kind != choice {
				m.first = i
			}
			m.mates[i] = kept
		}
	}
	return lost
}

// turns are the mates that an operation of the variant is one after the other. The rest of an
// unrolled loop is a loop there, and its sum adds to 0, or to itself: the default may have an
// instruction for each turn, and none that adds to both. So of one operand each value may be
// another mate's, as long as each of these has all other operands: each turn is still one of the
// default's, with its opcode and its product, and relate asks of all that may be the same operation
// whether one is treated otherwise. Not so where the compiler may have computed a number with other
// bits: there a pair must say all that its operands may be (strike).
func (m *matching) turns(i int) []int {
	v := m.variant.nodes[i]
	if !m.def.built.Unfolded || len(m.mates[i]) < 2 || v.kind != operation || v.base == "st" {
		return nil
	}
	var out []int
	for a := range v.ops {
		var some []int
		had := make([]bool, len(v.ops[a]))
		for _, k := range m.mates[i] {
			for order := range orders(v) {
				d := m.def.nodes[k]
				for n := range had {
					if m.within(v, d, exchanged(a, order), v.ops[a][n:n+1], d.ops[exchanged(a, order)]) &&
						m.differs(v, d, order, a) < 0 {
						had[n], some = true, append(some, k)
					}
				}
			}
		}
		if !slices.Contains(had, false) {
			out = append(out, some...)
		}
	}
	return out
}

// stays tells of instructions that a compiler does not move, so that their .loc is right. What it
// moves out of a loop has the .loc of what it comes to stand behind. Several stores that it makes
// one of have the .loc of one (node.merged).
func stays(n *node) bool {
	return n.base == "st" || n.base == "atom" || n.base == "red"
}

// guard tells of the comparison of a parameter with a constant: the variant asks whether the values
// are those that it knows.
func (m *matching) guard(v *node) bool {
	if v.base != "setp" {
		return false
	}
	for _, ops := range v.ops {
		for _, o := range ops {
			if k := m.variant.nodes[o].kind; k != parameter && k != constant {
				return false
			}
		}
	}
	return true
}

// A reason is why a node of the variant is no copy of one of the default: an operand of it.
type reason struct {
	d       *node
	operand int
}

// reason says why a node of the variant has no mate.
func (m *matching) reason(i int) string {
	why, has := m.why[i], ""
	for _, o := range m.variant.nodes[i].ops[why.operand] {
		if has += " " + m.variant.nodes[o].String(); len(has) > 200 {
			break
		}
	}
	return fmt.Sprintf(": operand %d (%s) is none of %s", why.operand+1, strings.TrimSpace(has), why.d)
}

// shape is what two nodes must have in common: the opcode. A comparison may be the other way
// round, and stores of several values be one.
func shape(n *node) string {
	switch n.base {
	case "setp", "set":
		return n.base + " " + kindOf(n.op)
	case "st":
		return "st " + ptx.Space([]byte(n.op))
	case "selp":
		return fmt.Sprint("selp ", width([]byte(n.op)))
	}
	return n.op
}

// kindOf is an opcode's floating-point type and whether it flushes.
func kindOf(op string) string {
	for _, t := range floats {
		if ptx.HasModifier([]byte(op), t) {
			return fmt.Sprint(t, ptx.HasModifier([]byte(op), "ftz"))
		}
	}
	return ""
}

// holds tells whether a pair's operands are covered. The two of a sum or a product may be
// exchanged. Where both are NaN, the result is 0x7fffffff in single precision, whichever they are
// (CUDA C++ Programming Guide, floating-point standard); in double precision no payload is
// promised, and either compiler may exchange operands without that it shows.
func (m *matching) holds(i, k int) bool {
	v, d := m.variant.nodes[i], m.def.nodes[k]
	switch {
	case v.base == "cvt" && fromInteger(v.op):
		return true // exactly what the integer gives
	case v.kind == operation && shape(v) != shape(d) && !m.loose:
		return m.no(i, d, 0)
	case v.base == "st" || v.kind == operation && shape(v) != shape(d):
		for a := range v.ops {
			some := v.base != "st" && m.number(v.ops[a])
			for b := range d.ops {
				some = some || m.covered(v, d, a, b)
			}
			if !some {
				return m.no(i, d, a)
			}
		}
		return true
	}
	bad := m.differs(v, d, 0, -1)
	if bad < 0 || orders(v) == 2 && m.differs(v, d, 1, -1) < 0 {
		return true
	}
	return m.no(i, d, bad)
}

// differs is the first operand but one that is not covered in an order; -1: none.
func (m *matching) differs(v, d *node, order, but int) int {
	for a := range v.ops {
		if a != but && !m.covered(v, d, a, exchanged(a, order)) {
			return a
		}
	}
	return -1
}

// orders are the ways in which the operands of a node may stand: 2, where two may be exchanged.
func orders(n *node) int {
	switch n.base {
	case "add", "mul", "min", "max", "fma", "setp":
		return 2
	}
	return 1
}

// exchanged is where operand a of a node is in one of another order.
func exchanged(a, order int) int {
	if a < 2 {
		return a ^ order
	}
	return a
}

// number tells of an operand that is one in the code.
func (m *matching) number(from []int) bool {
	return len(from) == 1 && m.variant.nodes[from[0]].kind == constant
}

func (m *matching) no(i int, d *node, operand int) bool {
	m.why[i] = reason{d, operand}
	return false
}

// fromInteger tells of a conversion of an integer to a float.
func fromInteger(op string) bool {
	words := strings.Split(op, ".")
	last := words[len(words)-1]
	return last[0] == 's' || last[0] == 'u'
}

// covered tells whether all that operand a of the variant's node may hold, operand b of the
// default's may. So it is, too, where both are selections that match: what each of the two sides
// may hold, that side may, and the predicates are alike. That tells the number of one side from
// what the other side may be computed to.
func (m *matching) covered(v, d *node, a, b int) bool {
	return m.within(v, d, b, v.ops[a], d.ops[b]) || v.chosen[a] != nil && d.chosen[b] != nil &&
		m.within(v, d, b, v.chosen[a], d.chosen[b])
}

func (m *matching) within(v, d *node, operand int, from, in []int) bool {
	if v.base == "st" && !m.computes(m.variant, from) && !m.computes(m.def, in) &&
		(m.loose || !m.folds(from, in)) {
		return true // nothing was computed: a copy, or integers
	}
	from, in = m.variant.signless(from), m.def.signless(in)
	if m.among(from, in, d, operand) {
		return true
	}
	wide := m.widened(in)
	return len(wide) > len(in) && m.among(from, wide, d, operand)
}

// narrow tells whether an operand of a pair is covered without that anything is dropped.
func (m *matching) narrow(i, k, a, b int) bool {
	v, d := m.variant.nodes[i], m.def.nodes[k]
	from, in := m.variant.signless(v.ops[a]), m.def.signless(d.ops[b])
	return len(m.widened(in)) == len(in) || m.among(from, in, d, b)
}

// A wanted list is one that among was asked about, with what matters of the operand (constant).
type wanted struct {
	from, in              list
	approximate, dividend bool
}

// among tells whether each value of the one list may be one of the other.
func (m *matching) among(from, in []int, d *node, operand int) bool {
	w := wanted{listOf(from), listOf(in), approximate(d), dividend(d, operand)}
	if m.never[w] {
		return false
	}
	ok := m.all(from, in, d, operand)
	if !ok {
		m.never[w] = true
	}
	return ok
}

// all is among, looked at.
func (m *matching) all(from, in []int, d *node, operand int) bool {
	for _, o := range from {
		ok := m.variant.nodes[o].kind == constant && m.constant(m.variant.nodes[o], d, operand, in)
		for k := 0; k < len(in) && !ok; k++ {
			ok = m.covers(o, in[k])
		}
		if !ok {
			return false
		}
	}
	return true
}

// folds tells of a number in the variant that the compiler may have computed, with other bits,
// where the default has a load.
func (m *matching) folds(from, in []int) bool {
	return slices.ContainsFunc(from, func(o int) bool {
		return m.variant.nodes[o].kind == constant
	}) && slices.ContainsFunc(in, func(k int) bool {
		return m.def.nodes[k].kind == load && (m.outcome[k].rough || m.outcome[k].flushes)
	})
}

func changesSign(n *node) bool { return n.kind == operation && n.base == "neg" && float(n.op) }

// signless are origins with what changes of sign are made of in place of these: a compiler may move
// a sign through products and sums, and no bits are others by that.
func (g *graph) signless(origins []int) []int {
	isSign := func(o int) bool { return changesSign(g.nodes[o]) }
	key := listOf(origins)
	if known, ok := g.signs[key]; ok {
		return known
	}
	if !slices.ContainsFunc(origins, isSign) {
		g.signs[key] = origins
		return origins
	}
	var out []int
	seen := map[int]bool{}
	for todo := slices.Clone(origins); len(todo) > 0; {
		o := todo[len(todo)-1]
		todo = todo[:len(todo)-1]
		switch {
		case seen[o]:
		case isSign(o):
			todo = append(todo, g.nodes[o].ops[0]...)
		default:
			out = append(out, o)
		}
		seen[o] = true
	}
	g.signs[key] = out
	return out
}

func (m *matching) computes(g *graph, origins []int) bool {
	for _, o := range origins {
		if g.nodes[o].kind == operation {
			return true
		}
	}
	return false
}

// constant tells whether a constant of the variant may stand where the default has these. Into an
// approximate instruction it may come where it does so now; as ptxas may do something else with it,
// Answer.Early has it. A dividend of 1 it divides as any other: div.approx multiplies it with the
// divisor's reciprocal.
func (m *matching) constant(c, d *node, operand int, in []int) bool {
	literal, only, derived, flushed, rough := false, true, false, false, false
	for _, k := range in {
		n := m.def.nodes[k]
		rough = rough || m.outcome[k].rough
		flushed = flushed || m.outcome[k].flushes
		literal = literal || n.kind == constant && n.name == c.name
		only = only && n.kind == constant
		derived = derived || n.kind != constant && m.outcome[k].constant
	}
	if m.loose {
		return literal || derived || rough || flushed
	}
	one := dividend(d, operand) && c.name == one32
	if approximate(d) && (!one || rough) {
		if literal && !(only && len(in) == 1) && !plain(c.name) && len(c.name) == len(one32) {
			m.early[c.name] = true
			return true
		}
		return literal && only && len(in) == 1
	}
	if rough { // what was computed with other bits may come to 0 as well
		return literal && !plain(c.name)
	}
	return literal || derived && !flushed
}

// dividend tells of what div.approx divides as any other, if it is 1.
func dividend(d *node, operand int) bool {
	return d.base == "div" && operand == 0 && !ptx.HasModifier([]byte(d.op), "ftz")
}

// one32 is 1 in single precision.
const one32 = "0f3f800000"

// covers tells whether a value of the variant may be one of the default.
func (m *matching) covers(o, k int) bool {
	v, d := m.variant.nodes[o], m.def.nodes[k]
	switch {
	case v.kind == operation && d.kind == load:
		return slices.ContainsFunc(m.foundBy(k), func(k int) bool { return m.pair(o, k) })
	case v.kind == load && d.kind == load:
		return m.reads(v, d) || slices.ContainsFunc(m.foundBy(k), func(k int) bool {
			return m.def.nodes[k].kind == load && m.reads(v, m.def.nodes[k])
		})
	case v.kind != d.kind:
		return v.kind == special && d.kind == integer || v.kind == integer && d.kind == special
	}
	switch v.kind {
	case operation, choice:
		return m.pair(o, k)
	case integer:
		return true
	case constant:
		return false // see constant
	}
	return v.name == d.name
}

// reads tells whether a load of the variant may be one of the default.
func (m *matching) reads(v, d *node) bool {
	return (v.name == d.name || v.name == "" || d.name == "") && meet(m.variant, m.def, v, d) &&
		!apart(v, d)
}

// meet tells whether two loads may be of the same memory.
func meet(vg, dg *graph, v, d *node) bool {
	if v.root[-1] || d.root[-1] {
		return true
	}
	for a := range v.root {
		for b := range d.root {
			if vg.nodes[a].name == dg.nodes[b].name {
				return true
			}
		}
	}
	return false
}

// crosses tells of what compares its operands, or makes integers of them.
func crosses(d *node) bool {
	if words := strings.Split(d.op, "."); d.kind == operation && d.base == "cvt" {
		return !float("." + words[len(words)-2])
	}
	return d.kind == integer || d.kind == operation && (d.base == "setp" || d.base == "set")
}

// lost is an error where the default compares, or converts to an integer, what the compiler may
// have computed itself in the variant, with other bits: nothing in the variant shows it. What was
// computed may have been stored and loaded.
func (m *matching) lost() error {
	for _, d := range m.def.nodes {
		if !crosses(d) {
			continue
		}
		for _, o := range d.ops {
			for _, k := range o {
				if kind := m.def.nodes[k].kind; (kind == operation || kind == load) &&
					(m.outcome[k].rough || m.outcome[k].flushes) {
					return fmt.Errorf("%s may be made of a constant: %s", d, m.def.nodes[k])
				}
			}
		}
	}
	return nil
}
