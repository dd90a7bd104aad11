package contract

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"gnvcc/rewrite/ptx"
)

// Which sum of the kernel one of a variant is: one at the same place in the source, whose operands
// can be the same. Where several are, what is done with all of them must be one thing. An operand
// that the variant knows more about may have become anything, so that it tells nothing.

// A Kernel is a kernel by -fmad=0 with line information, and what nvcc's own build does with its
// sums (Own).
type Kernel struct {
	Module *ptx.Module
	Entry  string
	Sums   Sums
	Known  func(f *ptx.Func, i int, operand string) bool // what a variant may know (rewrite/fold)
}

// Match says what the sums of a variant are to be contracted with, so that it rounds as nvcc's own
// build of the kernel does. variant is compiled by -fmad=0, with line information.
func Match(k Kernel, variant *ptx.Module) (Sums, error) {
	reach, err := variant.Reach(k.Entry)
	if err != nil {
		return nil, err
	}
	out := Sums{}
	for n, f := range reach.Funcs {
		if !f.Body || n > 0 && f.Entry {
			continue
		}
		sums, ok := k.Sums[f.Name]
		if !ok {
			return nil, fmt.Errorf("the kernel does not call %s", f.Name)
		}
		of, err := k.function(k.Module.Func(f.Name), sums)
		if err != nil {
			return nil, err
		}
		b, err := read(f, filesOf(variant))
		if err != nil {
			return nil, err
		}
		list, err := of.match(b)
		if err != nil {
			return nil, err
		}
		if len(list) > 0 {
			out[f.Name] = list
		}
	}
	return out, nil
}

// A function is one that the kernel reaches, or itself.
type function struct {
	*body
	sums  map[int]int // With, by statement
	at    map[string][]int
	known func(i int, operand string) bool

	variant *body
	was, is census
	block   []int // of each statement
	there   map[int]bool
}

func (k Kernel) function(f *ptx.Func, sums []Sum) (*function, error) {
	b, err := read(f, filesOf(k.Module))
	if err != nil {
		return nil, err
	}
	out := &function{body: b, sums: map[int]int{}, at: map[string][]int{},
		known: func(i int, operand string) bool { return k.Known(f, i, operand) }}
	for _, s := range sums {
		out.sums[s.Stmt] = s.With
		where := b.where[s.Stmt].at
		out.at[where] = append(out.at[where], s.Stmt)
	}
	return out, nil
}

// match gives the sums of a variant's function that are contracted.
func (k *function) match(b *body) ([]Sum, error) {
	if same(k.body, b) {
		return k.listed()
	}
	k.variant = b
	if err := k.present(b, k.vanishing()); err != nil {
		return nil, err
	}
	p, merged := k.pairs(b, false), k.pairs(b, true)
	var out []Sum
	for i, st := range b.f.Stmts {
		if st.Kind != ptx.Inst || !b.isSum(i) {
			continue
		}
		with, err := p.sum(i)
		if err != nil {
			return nil, err
		}
		if err := merged.lost(i, with); err != nil {
			return nil, err
		}
		if with != Alone {
			out = append(out, Sum{i, with})
		}
	}
	return out, nil
}

// same tells of two functions that are one text.
func same(a, b *body) bool {
	return len(a.f.Stmts) == len(b.f.Stmts) && string(a.f.Text()) == string(b.f.Text())
}

// listed are the contracted sums of a function that is as the kernel has it.
func (k *function) listed() (out []Sum, err error) {
	for i, with := range k.sums {
		switch with {
		case Alone:
		case Unclear:
			return nil, fmt.Errorf("how %s is contracted in the kernel can't be told", Text(k.f, i))
		default:
			out = append(out, Sum{i, with})
		}
	}
	slices.SortFunc(out, func(a, b Sum) int { return a.Stmt - b.Stmt })
	return out, nil
}

// vanishing are the contracted sums that a variant's compiler may compute: it rounds the product,
// and nothing is there that would show it.
func (k *function) vanishing() (out []int) {
	for i, with := range k.sums {
		if with == Alone || !k.mayKnow(i, k.ops[i][1]) || !k.mayKnow(i, k.ops[i][2]) {
			continue
		}
		p := k.product(i, 1+max(with, 0))
		if p < 0 || k.mayKnow(p, k.ops[p][1]) && k.mayKnow(p, k.ops[p][2]) {
			out = append(out, i)
		}
	}
	slices.Sort(out)
	return out
}

// mayKnow tells whether a variant may know an operand.
func (k *function) mayKnow(i int, operand string) bool {
	if !strings.HasPrefix(operand, "%") {
		return true
	}
	return k.known(i, operand) && slices.ContainsFunc(k.sources(i, operand), func(s source) bool {
		return s.def < 0 || k.folds(s.def)
	})
}

// mayHold tells whether a variant may have a number in an operand's place.
func (k *function) mayHold(i int, operand, number string) bool {
	if strings.HasPrefix(operand, "%") && !k.known(i, operand) {
		return false
	}
	return slices.ContainsFunc(k.sources(i, operand), func(s source) bool {
		if s.def >= 0 {
			return k.folds(s.def)
		}
		return strings.HasPrefix(s.text, "%") || size(s.text) == size(number)
	})
}

// size is a number without its sign.
func size(number string) string {
	n := strings.ToLower(number)
	if len(n) < 3 || n[0] != '0' || n[1] != 'f' && n[1] != 'd' {
		return n
	}
	digit := strings.IndexByte("0123456789abcdef", n[2])
	return fmt.Sprint(n[:2], digit&7, n[3:])
}

type pairs struct {
	k      *function
	v      *body
	kl, vl leafs
	// what is at different places may be one: a compiler that computes a value once gives it the
	// place of one of those who asked for it
	merged bool
}

func (k *function) pairs(v *body, merged bool) *pairs {
	return &pairs{k: k, v: v, merged: merged, kl: leafs{body: k.body, kernel: k, merged: merged},
		vl: leafs{body: v, merged: merged}}
}

// sum gives what a variant's sum is to be contracted with.
func (p *pairs) sum(i int) (with int, err error) {
	found := map[int]int{} // by what is to be done, one that says so
	exact, all := map[int]int{}, true
	for _, s := range p.candidates(i) {
		// Of two operands that are no constants a compiler does not exchange the places.
		for _, crossed := range []bool{false, true} {
			if p.mayBe(i, s, crossed) {
				is := p.outcome(i, s, crossed)
				if found[is] = s; !crossed && p.exactly(i, s, 0) {
					exact[is] = s
				}
				all = all && p.k.settled(s)
				break
			}
		}
	}
	// Where each of them is there as often as it should be, it is the one that it looks like.
	if len(found) > 1 && len(exact) == 1 && all {
		found = exact
	}
	if len(found) == 0 {
		if p.v.product(i, 1) >= 0 || p.v.product(i, 2) >= 0 || p.contracted(i) {
			return 0, fmt.Errorf("%s (%s) is not found in the kernel", Text(p.v.f, i), p.v.where[i].at)
		}
		return Alone, nil
	}
	if len(found) > 1 {
		return 0, fmt.Errorf("%s (%s) may be several sums of the kernel, and they are contracted in different ways%s",
			Text(p.v.f, i), p.v.where[i].at, p.several(found))
	}
	for with = range found {
	}
	if with == Unclear {
		return 0, fmt.Errorf("%s (%s): how it is contracted in the kernel (%s) can't be told",
			Text(p.v.f, i), p.v.where[i].at, Text(p.k.f, found[with]))
	}
	return with, nil
}

// contracted tells whether any sum at the place of a variant's is, or may be.
func (p *pairs) contracted(i int) bool {
	return slices.ContainsFunc(p.candidates(i), func(s int) bool { return p.k.sums[s] != Alone })
}

func (p *pairs) several(found map[int]int) string {
	var out []string
	for with, s := range found {
		out = append(out, fmt.Sprintf("%d by %s", with, Text(p.k.f, s)))
	}
	slices.Sort(out)
	return ": " + strings.Join(out, ", ")
}

// lost is an error where a variant's sum may be one, at the same time, of another place, with which
// another thing is done: that one is missing there.
func (p *pairs) lost(i, with int) error {
	if p.v.product(i, 1) < 0 && p.v.product(i, 2) < 0 || !p.v.where[i].known() {
		return nil
	}
	for s := range p.k.sums {
		if at := p.k.where[s]; !at.known() || at.at == p.v.where[i].at || p.k.settled(s) {
			continue
		}
		for _, crossed := range []bool{false, true} {
			if !p.mayBe(i, s, crossed) {
				continue
			}
			if p.outcome(i, s, crossed) != with {
				return fmt.Errorf("%s (%s) may be one with %s (%s), which is contracted in another way",
					Text(p.v.f, i), p.v.where[i].at, Text(p.k.f, s), p.k.where[s].at)
			}
			break
		}
	}
	return nil
}

// exactly tells of two sums or products that they are made alike, as far as is followed.
func (p *pairs) exactly(v, s, depth int) bool {
	if string(p.v.f.Opcode(v)) != string(p.k.f.Opcode(s)) {
		return false
	}
	for n := range 2 {
		x, y := p.v.ops[v][1+n], p.k.ops[s][1+n]
		i, minus := p.v.one(v, x)
		k, sign := p.k.one(s, y)
		if i >= 0 && k >= 0 && (p.v.isSum(i) && p.k.isSum(k) || p.v.isProduct(i) && p.k.isProduct(k)) {
			if minus != sign || p.v.where[i].at != p.k.where[k].at ||
				depth < deepest && !p.exactly(i, k, depth+1) {
				return false
			}
			continue
		}
		of, in := p.vl.of(v, x), p.kl.of(s, y)
		of.any = false
		if !of.within(in) {
			return false
		}
	}
	return true
}

// candidates are the kernel's sums at the place of a variant's.
func (p *pairs) candidates(i int) []int {
	where := p.v.where[i]
	if !where.known() {
		return slices.Sorted(maps.Keys(p.k.sums))
	}
	list := slices.Concat(p.k.at[where.at], p.k.at[""])
	exactly := slices.DeleteFunc(slices.Clone(list), func(s int) bool {
		return p.k.where[s].known() && p.k.where[s] != where
	})
	if slices.ContainsFunc(exactly, func(s int) bool { return p.k.where[s].known() }) {
		return exactly
	}
	return list
}

// mayBe tells whether a variant's sum may be one of the kernel's, with its operands crossed or not.
func (p *pairs) mayBe(v, s int, crossed bool) bool {
	if manner(p.v.f.Opcode(v)) != manner(p.k.f.Opcode(s)) || !p.signs(v, s, crossed) {
		return false
	}
	return p.operand(v, 1, s, 1+across(0, crossed), 0) && p.operand(v, 2, s, 1+across(1, crossed), 0)
}

// signs tells whether a sum or difference may be another one. What is known of a product may turn
// the one into the other: x + y * -2 is x - y * 2.
func (p *pairs) signs(v, s int, crossed bool) bool {
	if string(p.v.f.Base(v)) == string(p.k.f.Base(s)) {
		return !crossed || string(p.v.f.Base(v)) == "add"
	}
	for n := range 2 {
		if o := p.k.ops[s][1+n]; p.k.mayKnow(s, o) {
			return true
		} else if d, minus := p.k.one(s, o); minus || d >= 0 && p.k.isProduct(d) && p.k.someKnown(d) {
			return true
		}
	}
	return slices.ContainsFunc(p.v.ops[v][1:], func(o string) bool {
		_, minus := p.v.one(v, o)
		return minus
	})
}

func (k *function) someKnown(i int) bool {
	return slices.ContainsFunc(k.ops[i][1:], func(o string) bool { return k.mayKnow(i, o) })
}

func across(n int, crossed bool) int {
	if crossed {
		return 1 - n
	}
	return n
}

// outcome is what is to be done with a variant's sum that is one of the kernel's.
func (p *pairs) outcome(v, s int, crossed bool) int {
	with := p.k.sums[s]
	if with < 0 {
		return with
	}
	in := across(with, crossed)
	if p.v.product(v, 1+in) >= 0 {
		return in
	}
	if p.isFactor(v, 1+in, s, 1+with) {
		return Alone // the product with 1
	}
	return Unclear
}

// product is the statement that an operand of a sum is the product of, -1 where it is none.
func (b *body) product(i, operand int) int {
	d, _ := b.one(i, b.ops[i][operand])
	if d >= 0 && b.isProduct(d) && strings.TrimSuffix(manner(b.f.Opcode(i)), ".sat") ==
		manner(b.f.Opcode(d)) {
		return d
	}
	return -1
}

// isFactor tells that a variant's operand is a factor of the product that the kernel's is: the
// other one can be known, and then is 1 or -1.
func (p *pairs) isFactor(v, operand, s, of int) bool {
	product := p.k.product(s, of)
	if product < 0 {
		return false
	}
	for n := range 2 {
		if p.k.mayKnow(product, p.k.ops[product][1+n]) && p.vl.of(v, p.v.ops[v][operand]).within(
			p.kl.of(product, p.k.ops[product][2-n])) {
			return true
		}
	}
	return false
}

// deepest is how far up operands are compared.
const deepest = 6

// operand tells whether an operand of a variant's statement may be one of the kernel's.
func (p *pairs) operand(v, a, s, b, depth int) bool {
	x, y := p.v.ops[v][a], p.k.ops[s][b]
	if !strings.HasPrefix(x, "%") {
		return p.k.mayHold(s, y, x)
	}
	k, _ := p.k.one(s, y)
	if k < 0 || !p.k.isSum(k) && !p.k.isProduct(k) || depth == deepest {
		return p.vl.of(v, x).meets(p.kl.of(s, y))
	}
	// One that is computed so is nothing else, but for what is known of it.
	i, _ := p.v.one(v, x)
	if i >= 0 && p.alike(i, k, depth) {
		return true
	}
	of := p.kl.of(s, y)
	if i >= 0 && len(of.some) == 1 && !of.any {
		return false
	}
	return p.vl.of(v, x).meets(of)
}

// alike tells whether a sum or product of the variant may be one of the kernel's.
func (p *pairs) alike(i, k, depth int) bool {
	if at, of := p.v.where[i], p.k.where[k]; !p.merged && at.known() && of.known() &&
		at.at != of.at {
		return false
	}
	switch {
	case p.v.isSum(i) && p.k.isSum(k):
	case p.v.isProduct(i) && p.k.isProduct(k):
	default:
		return false
	}
	for _, crossed := range []bool{false, true} {
		if p.v.isSum(i) && !p.signs(i, k, crossed) {
			continue
		}
		if p.operand(i, 1, k, 1+across(0, crossed), depth+1) &&
			p.operand(i, 2, k, 1+across(1, crossed), depth+1) {
			return true
		}
	}
	return false
}
