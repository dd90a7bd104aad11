package same

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"gnvcc/rewrite/fold"
	"gnvcc/rewrite/ptx"
	"gnvcc/rewrite/ptx/dataflow"
)

// Where a variant is the kernel's own code but for integers. A kernel that knows its block alone
// has other arithmetic for its indices, and nothing else: each other instruction stands in both, in
// the same order, with the same numbers, and reads what its copies' partners write. Then the
// compiler has computed nothing by itself, and contracted nothing otherwise: either would be an
// instruction that one of them has not, or that reads something else. Integers are exact however
// they are computed; but which is which has to be known, so that no two values are taken for each
// other. They correspond where they are computed alike; or where they are of the same special
// registers and parameters, and no other one that differs is of just these.
//
// That both are made of one source, by a compiler that is right, is taken for granted: branches
// that integers decide on are not compared.
//
// A kernel that knows an alignment loads in one what another one puts together, and when it likes.
// So a load has no place among the others: it is one where a value of it is asked for, of the same
// address and before the same stores.

// A copier pairs the instructions of two functions: its arrays have the default's, and the
// variant's.
type copier struct {
	g       [2]*graph
	f       [2]*function
	fixed   fold.Fixed
	index   [2][]bool       // by statement: arithmetic on integers that nothing was loaded for
	stores  [2][]int        // by statement: what was done to memory before, in the text
	partner map[int]int     // by statement of the variant
	blocks  map[[2]int]bool // of the default and the variant, that have such a pair
	waits   [2]bool         // something may show what other threads have written
	alikes  map[[2]write]bool
	assumed map[[2]write]bool   // alikes that were used before they were known
	differ  map[string][2][]int // by what they are made of: integers that are computed otherwise
	unclear bool                // two of those are of the same
}

// A write is one of the registers that a statement writes.
type write struct{ at, lane int }

// copies pairs the statements of the variant with those of the default, where it is a copy but for
// integers; nil where it is not.
func copies(def, variant *graph, fixed fold.Fixed) map[Statement]Statement {
	if len(def.funcs) != 1 || len(variant.funcs) != 1 || def.built.Entry != variant.built.Entry ||
		len(fixed.Params) > 0 { // a parameter may be the bits of a float
		return nil
	}
	c := &copier{g: [2]*graph{def, variant}, f: [2]*function{def.funcs[0], variant.funcs[0]},
		fixed: fixed, partner: map[int]int{}, alikes: map[[2]write]bool{},
		blocks: map[[2]int]bool{}, assumed: map[[2]write]bool{}, differ: map[string][2][]int{}}
	var list [2][]int
	for k, f := range c.f {
		c.index[k], c.stores[k] = f.indices(), make([]int, len(f.Stmts))
		used, stores := f.used(), 0
		for i, st := range f.Stmts {
			c.stores[k][i] = stores
			switch {
			case st.Kind != ptx.Inst || c.index[k][i] || !used[i] || f.loads(i) || f.loaded(i) >= 0:
			case string(f.Base(i)) == "call":
				return nil
			case !c.steers(k, i):
				list[k] = append(list[k], i)
				if !dataflow.Computes(string(f.Base(i))) {
					stores++
					c.waits[k] = c.waits[k] || f.waits(i)
				}
			}
		}
	}
	if len(list[0]) != len(list[1]) {
		return nil
	}
	for n := range list[0] {
		i, j := list[0][n], list[1][n]
		c.partner[j] = i
		c.blocks[[2]int{c.f[0].round.Block(i), c.f[1].round.Block(j)}] = true
	}
	out := map[Statement]Statement{}
	for n, i := range list[0] {
		j := list[1][n]
		if !c.same(i, j) {
			return nil
		}
		out[Statement{variant.funcs[0].Func, j}] = Statement{def.funcs[0].Func, i}
	}
	for pair := range c.assumed {
		c.unclear = c.unclear || !c.alikes[pair]
	}
	if c.unclear {
		return nil
	}
	return out
}

// counts are the operations that an index may be made by.
var counts = set("mov add sub mul mad shl shr shf and or xor not neg min max cvt cvta setp selp " +
	"div rem bfe bfi prmt lop3")

// indices tells of each statement whether it is arithmetic on integers that are made of parameters,
// special registers and numbers alone.
func (f *function) indices() []bool {
	out := make([]bool, len(f.Stmts))
	for i, st := range f.Stmts {
		op := f.Opcode(i)
		out[i] = st.Kind == ptx.Inst && !float(string(op)) && (counts[string(f.Base(i))] ||
			string(f.Base(i)) == "ld" && ptx.Space(op) == "param")
	}
	for again := true; again; {
		again = false
		for i := range f.Stmts {
			if out[i] && slices.ContainsFunc(f.read(i), func(reg string) bool {
				return slices.ContainsFunc(f.reach.Of(i, reg), func(d int) bool { return !out[d] })
			}) {
				out[i], again = false, true
			}
		}
	}
	return out
}

// loads tells of a load that reads what memory has, whenever it does.
func (f *function) loads(i int) bool {
	op := f.Opcode(i)
	space := ptx.Space(op)
	return f.Stmts[i].Kind == ptx.Inst && string(f.Base(i)) == "ld" && !f.Stmts[i].Guarded &&
		space != "param" && space != "local" && !ptx.Strong(op)
}

// waits tells of a statement behind which memory may have what other threads wrote: neither a write
// (written.go) nor a branch, nor a load as any.
func (f *function) waits(i int) bool {
	base := string(f.Base(i))
	return !writing[base] && base != "bra" && (base != "ld" || ptx.Strong(f.Opcode(i)))
}

// loaded is the load of its block whose number a statement hands on as it is; -1: none.
func (f *function) loaded(i int) int {
	if f.Stmts[i].Kind != ptx.Inst || string(f.Base(i)) != "mov" || f.Stmts[i].Guarded ||
		len(parts(f.ops[i][0])) != 1 || !f.reach.IsRegister(f.ops[i][1]) {
		return -1
	}
	defs := f.reach.Of(i, f.ops[i][1])
	if len(defs) != 1 || !f.loads(defs[0]) || defs[0] > i ||
		f.round.Block(defs[0]) != f.round.Block(i) {
		return -1
	}
	return defs[0]
}

// used tells of each statement whether it does anything, or another one reads what it computes: the
// bytes of a word (words.go) nobody does.
func (f *function) used() []bool {
	out := make([]bool, len(f.Stmts))
	var todo []int
	for i, st := range f.Stmts {
		if st.Kind == ptx.Inst && (float(string(f.Opcode(i))) || !f.loads(i) &&
			!dataflow.Computes(string(f.Base(i)))) {
			todo = append(todo, i)
		}
	}
	for len(todo) > 0 {
		i := todo[len(todo)-1]
		todo = todo[:len(todo)-1]
		if out[i] {
			continue
		}
		out[i] = true
		for _, reg := range f.read(i) {
			todo = append(todo, f.reach.Of(i, reg)...)
		}
	}
	return out
}

// read are the registers that a statement reads, its guard among them.
func (f *function) read(i int) (out []string) {
	for _, o := range f.sources(i) {
		name, _ := base(o)
		for _, p := range append(parts(o), name) {
			if p = strings.TrimPrefix(p, "!"); f.reach.IsRegister(p) {
				out = append(out, p)
			}
		}
	}
	if reg, _ := f.Guard(i); reg != nil {
		out = append(out, string(reg))
	}
	return out
}

// sources are a statement's operands without the one that it writes.
func (f *function) sources(i int) []string {
	switch string(f.Base(i)) {
	case "st", "red", "bra", "bar", "barrier", "membar", "fence", "ret", "exit", "trap", "prefetch",
		"prefetchu", "nanosleep", "sust", "stmatrix", "brx", "cp":
		return f.ops[i]
	}
	return f.ops[i][min(1, len(f.ops[i])):]
}

// steers tells of a branch that nothing but integers decide on, and of the end.
func (c *copier) steers(k, i int) bool {
	f := c.f[k]
	switch string(f.Base(i)) {
	case "ret", "exit":
	case "bra":
	default:
		return false
	}
	reg, _ := f.Guard(i)
	return reg == nil || !slices.ContainsFunc(f.reach.Of(i, string(reg)), func(d int) bool {
		return !c.index[k][d]
	})
}

// same tells whether statement i of the default and j of the variant do the same with the same.
func (c *copier) same(i, j int) bool {
	d, v := c.f[0], c.f[1]
	g, negated := d.Guard(i)
	h, too := v.Guard(j)
	if string(d.Opcode(i)) != string(v.Opcode(j)) || (g == nil) != (h == nil) || negated != too {
		return false
	}
	if !c.index[0][i] && d.where[i] != v.where[j] && d.where[i] != "" && v.where[j] != "" &&
		string(d.Base(i)) != "mov" {
		return false
	}
	if g != nil && !c.holds(i, string(g), j, string(h)) {
		return false
	}
	if base := string(d.Base(i)); base == "bra" {
		return true
	}
	of, with := d.sources(i), v.sources(j)
	if len(of) != len(with) || len(d.ops[i]) != len(v.ops[j]) {
		return false
	}
	alike := func(order int) bool {
		for n := range of {
			if !c.operand(i, of[n], j, with[exchanged(n, order)]) {
				return false
			}
		}
		return true
	}
	// Not those of a sum: with which of two products it is contracted is told by the operand.
	return alike(0) || float(string(d.Opcode(i))) && factors[string(d.Base(i))] && alike(1)
}

// factors are the operations of which the first two operands may be exchanged.
var factors = set("mul fma")

// operand compares two operands: addresses, lists, registers or numbers.
func (c *copier) operand(i int, a string, j int, b string) bool {
	if strings.HasPrefix(a, "[") && strings.HasPrefix(b, "[") {
		from, offset := base(a)
		to, distance := base(b)
		return offset == distance && c.holds(i, from, j, to)
	}
	of, with := parts(a), parts(b)
	if len(of) != len(with) {
		return false
	}
	for n := range of {
		if !c.holds(i, of[n], j, with[n]) {
			return false
		}
	}
	return true
}

// holds tells whether a register or number of statement i of the default holds what that of
// statement j of the variant does.
func (c *copier) holds(i int, a string, j int, b string) bool {
	if strings.HasPrefix(a, "!") != strings.HasPrefix(b, "!") {
		return false
	}
	a, b = strings.TrimPrefix(a, "!"), strings.TrimPrefix(b, "!")
	if !c.f[0].reach.Written(a) || !c.f[1].reach.Written(b) {
		return a == b
	}
	of, okOf := c.f[0].writes(i, a)
	with, okWith := c.f[1].writes(j, b)
	if !okOf || !okWith {
		return false
	}
	var own, other []write // indices and loads
	partners, defs := map[write]bool{}, map[write]bool{}
	for _, d := range of {
		if c.index[0][d.at] || c.f[0].loads(d.at) {
			own = append(own, d)
		} else {
			defs[d] = true
		}
	}
	for _, e := range with {
		if c.index[1][e.at] || c.f[1].loads(e.at) {
			other = append(other, e)
			continue
		}
		d, ok := c.partner[e.at]
		if !ok {
			return false
		}
		partners[write{d, e.lane}] = true
	}
	for n := range min(len(own), len(other)) { // of this turn of a loop, or of the one before
		if (own[n].at < i) != (other[n].at < j) {
			return false
		}
	}
	return maps.Equal(partners, defs) && c.alike(own, other)
}

// writes are those that a register of a statement may hold; of what hands a load's number on it is
// the load's. Not ok where the two may be of different turns of a loop.
func (f *function) writes(i int, reg string) (out []write, ok bool) {
	for _, d := range f.reach.Of(i, reg) {
		name := reg
		if from := f.loaded(d); from >= 0 {
			if from < i && i <= d {
				return nil, false
			}
			d, name = from, f.ops[d][1]
		}
		out = append(out, write{d, lane(f, d, name)})
	}
	return out, true
}

// lane is the place of a register among those that a statement writes.
func lane(f *function, i int, reg string) int {
	return slices.Index(strings.FieldsFunc(f.ops[i][0], func(r rune) bool {
		return strings.ContainsRune("{}, |", r)
	}), reg)
}

// alike tells of two lists of writes of integers that they write the same ones; of loads, too.
func (c *copier) alike(own, other []write) bool {
	if len(own) != len(other) {
		return false
	}
	for n, d := range own {
		v := other[n]
		key := [2]write{d, v}
		known, asked := c.alikes[key]
		if !asked {
			c.alikes[key] = true
			if c.f[0].loads(d.at) && c.f[1].loads(v.at) {
				known = c.reads(d, v)
			} else {
				known = d.lane == v.lane && len(c.f[0].ops[d.at]) > 1 && c.same(d.at, v.at)
			}
			c.alikes[key] = known
		} else if known {
			c.assumed[key] = true
		}
		if !known && !(c.index[0][d.at] && c.index[1][v.at] && c.apart([]int{d.at}, []int{v.at})) {
			return false
		}
	}
	return true
}

// scalar makes a load's opcode that of one of its registers alone.
var scalar = strings.NewReplacer(".nc", "", ".v2", "", ".v4", "", ".v8", "")

// reads tells of two loads that they read the same number at the same address, alone or with
// others: before the kernel writes anything, or between the same writes of the same block, as a
// loop writes before its second turn what is behind the load in the text.
func (c *copier) reads(d, v write) bool {
	var opcode, name [2]string
	var offset [2]int
	steady := [2]bool{}
	for k, w := range []write{d, v} {
		f, node := c.f[k], c.g[k].nodes[c.f[k].node[w.at]]
		op := f.Opcode(w.at)
		name[k], offset[k] = base(f.ops[w.at][1])
		offset[k] += w.lane * width(op)
		steady[k] = ptx.HasModifier(op, "nc") || c.g[k].fresh(node) && !c.waits[k]
		opcode[k] = scalar.Replace(string(op))
	}
	return opcode[0] == opcode[1] && offset[0] == offset[1] &&
		(steady[0] && steady[1] || c.stores[0][d.at] == c.stores[1][v.at] &&
			c.blocks[[2]int{c.f[0].round.Block(d.at), c.f[1].round.Block(v.at)}]) &&
		c.holds(d.at, name[0], v.at, name[1])
}

// apart tells of two integers that are computed otherwise, that they are of the same special
// registers and parameters, and the only ones that are of these.
func (c *copier) apart(own, other []int) bool {
	of := c.leaves(0, own)
	if of == "" || of != c.leaves(1, other) {
		return false
	}
	known, ok := c.differ[of]
	if !ok {
		c.differ[of] = [2][]int{own, other}
		return true
	}
	if !c.f[0].again(known[0], own, mostAgain) || !c.f[1].again(known[1], other, mostAgain) {
		c.unclear = true // which is which
	}
	return !c.unclear
}

// mostAgain is how many steps again looks back.
const mostAgain = 10

// again tells of integers that they are computed a second time, by the same instructions.
func (f *function) again(first, second []int, left int) bool {
	if slices.Equal(first, second) {
		return true
	}
	if len(first) != 1 || len(second) != 1 || left == 0 {
		return false
	}
	i, j := first[0], second[0]
	of, with := f.sources(i), f.sources(j)
	if string(f.Opcode(i)) != string(f.Opcode(j)) || f.Stmts[i].Guarded || f.Stmts[j].Guarded ||
		len(of) != len(with) {
		return false
	}
	for n := range of {
		if !f.reach.Written(of[n]) || !f.reach.Written(with[n]) {
			if of[n] != with[n] {
				return false
			}
		} else if !f.again(f.reach.Of(i, of[n]), f.reach.Of(j, with[n]), left-1) {
			return false
		}
	}
	return true
}

// leaves names the special registers and parameters that integers are made of, without those that
// the variant knows.
func (c *copier) leaves(k int, from []int) string {
	f, seen, out := c.f[k], map[int]bool{}, map[string]bool{}
	for todo := slices.Clone(from); len(todo) > 0; {
		i := todo[len(todo)-1]
		todo = todo[:len(todo)-1]
		if seen[i] {
			continue
		}
		seen[i] = true
		if string(f.Base(i)) == "ld" {
			name, offset := base(f.ops[i][1])
			n := slices.IndexFunc(f.Params, func(p ptx.Variable) bool { return p.Name == name })
			if !c.fixed.Params[n] {
				out[fmt.Sprint(n, "+", offset)] = true
			}
			continue
		}
		for _, reg := range f.read(i) {
			if f.reach.Written(reg) {
				todo = append(todo, f.reach.Of(i, reg)...)
			} else if !c.fixed.Dims[strings.TrimPrefix(reg, "%")] {
				out[reg] = true
			}
		}
	}
	return strings.Join(slices.Sorted(maps.Keys(out)), " ")
}

// ofCopies is the answer where the variant is a copy: each sum is its partner's.
func (c *choices) ofCopies(partner map[Statement]Statement) *Answer {
	out := &Answer{}
	for _, v := range c.variant.nodes {
		if v.kind == operation && approximate(v) {
			out.Approximate = append(out.Approximate, v.statement())
		}
		if scalable(v) && c.def.scales() {
			out.Products = append(out.Products, Sum{At: v.statement(),
				May: []Statement{partner[v.statement()]}})
		}
		if freeSum(v) && c.products(c.variant, v) > 0 {
			of := []Statement{partner[v.statement()]}
			out.Sums = append(out.Sums, Sum{v.statement(), of, of})
		}
	}
	c.finish(out)
	return out
}
