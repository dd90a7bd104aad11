package repeat

import (
	"errors"
	"slices"
	"strconv"
	"strings"

	"gnvcc/graph"
	"gnvcc/rewrite/ptx"
	"gnvcc/rewrite/ptx/dataflow"
)

// Loops, and how their turns are counted. A turn is counted where one branch, which each turn
// comes to, goes on by comparing an integer that grows by the same number from turn to turn with
// one that stays:
//
//	add.s32 %r12, %r12, 2;
//	setp.lt.s32 %p3, %r12, %r9;
//	@%p3 bra $L__BB0_2;
//
// Let w be what the turn before would have compared: its tests see w+s, w+2s, ... With the
// distance d = b-w, without a sign, and w < b, that is how far apart they really are, so that d >
// (n-1)*s says that the next n-1 tests go on, and that none of the sums overflows. Where the loop
// goes on as long as the two differ, d > (n-1)*s alone says it: no k*s up to there is d.

// A loop is one of a kernel's.
type loop struct {
	m      *ptx.Module
	f      *ptx.Func
	reach  *dataflow.Reaching
	after  [][]int
	before [][]int
	idom   []int
	of     []int // by statement: its block
	head   int
	body   []int  // its blocks, in the order of the text
	in     []bool // by block
	own    []bool // by block: in no loop inside this one
	inner  bool
	labels map[string]int // the blocks that they begin
	trip   *trip
}

// A trip is how a loop's turns are counted.
type trip struct {
	block  int    // whose last instruction is the test
	at     int    // the comparison
	reg    string // what grows, at a turn's beginning
	offset int64  // added to that, less by: w
	step   int64
	by     string // the register that is added in place of a number, "": none
	less   bool   // w is by less
	bound  string // register or number
	load   string // how the bound is loaded, "": it is there
	stay   string // the comparison under which the loop goes on
	kind   string // its type
}

// read lists a kernel's loops, in the order of their heads.
func read(m *ptx.Module, f *ptx.Func) ([]*loop, error) {
	reach, err := dataflow.ReachingOf(f)
	if err != nil {
		return nil, err
	}
	blocks := reach.Blocks
	after := dataflow.Successors(blocks)
	base := loop{m: m, f: f, reach: reach, after: after, before: graph.Reverse(after),
		idom: graph.Dominators(after, 0), of: make([]int, len(f.Stmts)), labels: map[string]int{}}
	for b, at := range blocks {
		for i := at.First; i < at.Last; i++ {
			base.of[i] = b
			if s := f.Stmts[i]; s.Kind == ptx.Label && s.Depth == 0 {
				base.labels[string(f.Opcode(i))] = b
			}
		}
	}
	var out []*loop
	for _, found := range graph.Loops(after) {
		l := base
		l.head, l.body = found.Head, slices.Sorted(slices.Values(found.Body))
		l.in, l.own, l.inner = make([]bool, len(blocks)), make([]bool, len(blocks)), true
		for _, b := range l.body {
			l.in[b], l.own[b] = true, true
		}
		out = append(out, &l)
	}
	for _, l := range out {
		for _, other := range out {
			if other != l && l.in[other.head] { // also one that is entered at several places
				l.inner = false
				for _, b := range other.body {
					l.own[b] = false
				}
			}
		}
	}
	return out, nil
}

func (l *loop) statements() (n int) {
	for range l.all {
		n++
	}
	return n
}

// all goes through its statements, in the order of the text.
func (l *loop) all(yield func(i int) bool) {
	for _, b := range l.body {
		for i := l.reach.Blocks[b].First; i < l.reach.Blocks[b].Last; i++ {
			if !yield(i) {
				return
			}
		}
	}
}

// whole says why the loop can't be copied, nil where it can.
func (l *loop) whole() error {
	f := l.f
	if b := l.head; b > 0 && l.in[b-1] && l.falls(b-1) {
		return errors.New("its end runs into its beginning")
	}
	if first := l.reach.Blocks[l.head].First; f.Stmts[first].Kind != ptx.Label {
		return errors.New("its beginning has no label")
	}
	for _, b := range l.before[l.head] {
		if last := l.reach.Blocks[b].Last - 1; f.Stmts[last].Kind == ptx.Inst &&
			string(f.Base(last)) == "brx" {
			return errors.New("a table of branches leads to it")
		}
	}
	for _, b := range l.body {
		if b != l.head && slices.ContainsFunc(l.before[b], func(from int) bool { return !l.in[from] }) {
			return errors.New("it is entered at several places")
		}
		at, depth := l.reach.Blocks[b], 0
		for i := at.First; i < at.Last; i++ {
			s := f.Stmts[i]
			switch {
			case s.Kind == ptx.Open:
				depth++
			case s.Kind == ptx.Close:
				depth--
			case s.Kind == ptx.Inst && string(f.Base(i)) == "brx":
				return errors.New("a table of branches stands in it")
			case s.Kind == ptx.Direction && string(f.Opcode(i)) != ".pragma",
				s.Kind == ptx.Decl && (depth == 0 || !l.perCopy(i)):
				return errors.New("it has " + string(f.Opcode(i)) + " in it")
			}
			if depth < 0 || int(s.Depth) != depth && s.Kind != ptx.Open && s.Kind != ptx.Close {
				return errors.New("branches cross a scope in it")
			}
		}
		if depth != 0 {
			return errors.New("branches cross a scope in it")
		}
		for _, next := range l.after[b] {
			if s := f.Stmts[l.reach.Blocks[next].First]; s.Depth > 0 || s.Kind == ptx.Close {
				return errors.New("branches cross a scope in it")
			}
		}
	}
	return l.together()
}

// perCopy tells of a declaration in a scope that may stand in each copy: a variable in memory is
// one for all turns.
func (l *loop) perCopy(i int) bool {
	vars, err := l.f.Declared(i)
	return err == nil && !slices.ContainsFunc(vars, func(v ptx.Variable) bool {
		return v.Space != "reg" && v.Space != "param"
	})
}

// falls tells whether a block may run into the next one.
func (l *loop) falls(b int) bool {
	last := l.reach.Blocks[b].Last - 1
	s := l.f.Stmts[last]
	return s.Kind != ptx.Inst || s.Guarded || !l.f.Leaves(last)
}

// sure tells whether every turn that comes to statement u has been at statement d before, in the
// same turn.
func (l *loop) sure(d, u int) bool {
	if l.of[d] == l.of[u] {
		return d < u
	}
	return l.over(l.of[d], l.of[u])
}

// over tells whether every way to a block leads over another one.
func (l *loop) over(b, to int) bool {
	for ; to >= 0; to = l.idom[to] {
		if to == b {
			return true
		}
	}
	return false
}

// everyTurn tells of a block that each turn comes to once, if it goes on to another one.
func (l *loop) everyTurn(b int) bool {
	if !l.own[b] {
		return false
	}
	for _, from := range l.before[l.head] {
		if l.in[from] && !l.over(b, from) {
			return false
		}
	}
	return true
}

// count finds how the turns are counted; trip stays nil where they are not.
func (l *loop) count() {
	for _, b := range l.body {
		last := l.reach.Blocks[b].Last - 1
		if succs := l.after[b]; len(succs) != 2 || l.in[succs[0]] == l.in[succs[1]] || !l.everyTurn(b) ||
			string(l.f.Base(last)) != "bra" {
			continue
		}
		if l.trip = l.counted(b, last); l.trip != nil {
			return
		}
	}
}

// counted reads a branch that leaves the loop.
func (l *loop) counted(b, last int) *trip {
	f := l.f
	guard, negated := f.Guard(last)
	to, ok := l.labels[string(f.Bytes(f.Operands(last, nil)[0]))]
	if guard == nil || !ok {
		return nil
	}
	d := l.made(last, string(guard))
	if d < 0 || string(f.Base(d)) != "setp" {
		return nil
	}
	words, ops := strings.Split(string(f.Opcode(d)), "."), f.Operands(d, nil)
	if len(words) != 3 || len(ops) != 3 || string(f.Bytes(ops[0])) != string(guard) {
		return nil
	}
	t := &trip{block: b, at: d, kind: words[2]}
	bits := map[string]int{"s32": 32, "u32": 32, "b32": 32, "s64": 64, "u64": 64, "b64": 64}[t.kind]
	relation := words[1]
	negation, known := negations[relation]
	if bits == 0 || !known {
		return nil
	}
	if l.in[to] == negated { // goes on where the comparison does not hold
		relation = negation
	}
	grows, bound := string(f.Bytes(ops[1])), string(f.Bytes(ops[2]))
	if t.load, ok = l.stays(d, bound); !ok {
		grows, bound, relation = bound, grows, mirrored[relation]
		if t.load, ok = l.stays(d, bound); !ok {
			return nil
		}
	}
	at, ok := l.linear(d, grows, bits, 0)
	if !ok {
		return nil
	}
	step, ok := l.step(at.reg, bits)
	if !ok || at.by != "" && at.by != step.by {
		return nil
	}
	t.reg, t.step, t.by, t.bound, t.stay = at.reg, step.number, step.by, bound, relation
	t.offset, t.less = at.number-step.number, step.by != "" && at.by == ""
	up := t.step > 0 || t.by != ""
	if relation == "eq" || (relation == "lt" || relation == "le") && !up ||
		(relation == "gt" || relation == "ge") && up || t.by != "" && bits != 32 {
		return nil
	}
	return t
}

// negations are those of the comparisons of integers, those without a sign under the names of the
// others: the type tells.
var negations = map[string]string{"eq": "ne", "ne": "eq", "lt": "ge", "le": "gt", "gt": "le",
	"ge": "lt"}
var mirrored = map[string]string{"eq": "eq", "ne": "ne", "lt": "gt", "le": "ge", "gt": "lt",
	"ge": "le"}

// made is the one statement of the same turn that gives a register the value that statement i
// reads, -1: none.
func (l *loop) made(i int, reg string) int {
	defs := l.reach.Of(i, reg)
	if len(defs) != 1 || !l.in[l.of[defs[0]]] || l.f.Stmts[defs[0]].Guarded || !l.sure(defs[0], i) {
		return -1
	}
	return defs[0]
}

// stays tells of an operand that is the same in all turns: a number, a register that is not
// written in the loop, or an argument, which the loop loads in each turn: then load does so in
// front of it.
func (l *loop) stays(i int, operand string) (load string, ok bool) {
	if _, err := strconv.ParseInt(operand, 0, 64); err == nil {
		return "", true
	}
	if !l.reach.Written(operand) {
		return "", false
	}
	if !l.written(operand) {
		return "", true
	}
	d := l.made(i, operand)
	if d < 0 || string(l.f.Base(d)) != "ld" || ptx.Space(l.f.Opcode(d)) != "param" {
		return "", false
	}
	ops := l.f.Operands(d, nil)
	name, _, ok := l.f.Address(ops[1])
	if len(ops) != 2 || !ok || string(l.f.Bytes(ops[0])) != operand ||
		!slices.ContainsFunc(l.f.Params, func(p ptx.Variable) bool { return p.Name == string(name) }) {
		return "", false
	}
	return string(l.f.Opcode(d)) + " %s, " + string(l.f.Bytes(ops[1])) + ";", true
}

// written tells whether the loop writes a register.
func (l *loop) written(reg string) bool {
	return slices.ContainsFunc(l.reach.Of(-1, reg), func(d int) bool { return l.in[l.of[d]] })
}

const (
	deepest = 20
	widest  = 1 << 20 // of a step, and of what is added to it
)

// A linear is a register's value at the turn's beginning, with a number and perhaps another
// register added.
type linear struct {
	reg, by string
	number  int64
}

// linear reads an operand of statement i as such a sum.
func (l *loop) linear(i int, operand string, bits, deep int) (out linear, ok bool) {
	if deep > deepest || !l.reach.IsRegister(operand) {
		return out, false
	}
	if d := l.made(i, operand); d >= 0 {
		return l.sum(d, bits, deep+1)
	}
	// as it was at the beginning: what writes it in the loop does so behind i, in the same turn
	for _, d := range l.reach.Of(-1, operand) {
		if l.in[l.of[d]] && l.leads(d, i) {
			return out, false
		}
	}
	return linear{reg: operand}, l.written(operand)
}

// sum reads what a statement makes in that way.
func (l *loop) sum(d, bits, deep int) (out linear, ok bool) {
	f := l.f
	op, ops := string(f.Opcode(d)), f.Operands(d, nil)
	text := func(k int) string { return string(f.Bytes(ops[k])) }
	if op == "cvt.u32.u64" && bits == 32 && len(ops) == 2 { // there and back
		if wide := l.made(d, text(1)); wide >= 0 {
			if op := string(f.Opcode(wide)); op == "cvt.u64.u32" || op == "cvt.s64.s32" {
				return l.linear(wide, string(f.Bytes(f.Operands(wide, nil)[1])), bits, deep)
			}
		}
		return out, false
	}
	base, kind, _ := strings.Cut(op, ".")
	width := strings.TrimLeft(kind, "bus")
	if width != strconv.Itoa(bits) || len(kind) != len(width)+1 {
		return out, false
	}
	if base == "mov" && len(ops) == 2 {
		return l.linear(d, text(1), bits, deep)
	}
	if base != "add" && base != "sub" || len(ops) != 3 {
		return out, false
	}
	from, other := text(1), text(2)
	if base == "add" {
		if _, ok := l.linear(d, from, bits, deep); !ok {
			from, other = other, from
		}
	}
	if out, ok = l.linear(d, from, bits, deep); !ok {
		return out, false
	}
	n, err := strconv.ParseInt(other, 0, 64)
	if err != nil {
		load, still := l.stays(d, other)
		if !still || load != "" || base == "sub" || out.by != "" {
			return out, false
		}
		out.by = other
		return out, true
	}
	if base == "sub" {
		n = -n
	}
	out.number += n
	return out, out.number <= widest && out.number >= -widest
}

// step is what a register grows by in each turn: a number, or a register.
func (l *loop) step(reg string, bits int) (out linear, ok bool) {
	at := -1
	for _, d := range l.reach.Of(-1, reg) {
		if !l.in[l.of[d]] {
			continue
		}
		if at >= 0 || l.f.Stmts[d].Guarded || !l.everyTurn(l.of[d]) {
			return out, false
		}
		at = d
	}
	if at < 0 {
		return out, false
	}
	ops := l.f.Operands(at, nil)
	if len(ops) == 0 || string(l.f.Bytes(ops[0])) != reg {
		return out, false
	}
	out, ok = l.sum(at, bits, 0)
	return out, ok && out.reg == reg && (out.number == 0) == (out.by != "")
}

// leads tells whether a way leads from statement d to statement u within one turn.
func (l *loop) leads(d, u int) bool {
	to := l.of[u]
	return l.of[d] == to && d < u || to != l.head && l.in[to] && ptx.Onward(l.reach.Blocks,
		l.after[l.of[d]], func(b int) bool { return b == l.head || !l.in[b] })[to]
}
