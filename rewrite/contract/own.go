package contract

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"gnvcc/rewrite/ptx"
)

// What nvcc's own build does with the sums of a kernel, told of the kernel as cicc makes it with
// -fmad=0. The two texts differ only in what is contracted: so each value gets a colour, a hash of
// how it is computed, in which fma(a, b, c) is the sum of a product; and the sums of one colour
// that the one text has, the other must have. A sum is contracted where all of its colour are.

// Unclear, in place of an operand, says of a sum that it can't be told.
const Unclear = -2

// turns is how far a colour sees, in statements. Two values that differ only farther away than that
// count as one, and what is done with them must be alike.
const turns = 24

// A colour is a hash of how a value is computed, but for its sign.
type colour uint64

type signed struct {
	colour
	minus bool
}

type colours struct {
	*body
	of  []colour // by statement
	now []colour
}

func mix(parts ...uint64) colour {
	const prime = 0x9e3779b97f4a7c15
	h := uint64(0xcbf29ce484222325)
	for _, p := range parts {
		h ^= p
		h *= prime
		h ^= h >> 29
	}
	return colour(h)
}

func hashText(s string) uint64 {
	h := uint64(14695981039346656037)
	for i := range len(s) {
		h = (h ^ uint64(s[i])) * 1099511628211
	}
	return h
}

// coloured gives a function's colours.
func coloured(b *body) *colours {
	c := &colours{body: b, of: make([]colour, len(b.f.Stmts)), now: make([]colour, len(b.f.Stmts))}
	writes := make([]bool, len(b.f.Stmts))
	for i, st := range b.f.Stmts {
		if st.Kind != ptx.Inst {
			continue
		}
		b.f.Effects(i, func(_ ptx.Span, _, write bool) { writes[i] = writes[i] || write })
		c.of[i] = mix(hashText(c.kind(i)))
	}
	for range turns {
		for i := range b.f.Stmts {
			if writes[i] {
				c.now[i] = c.statement(i)
			}
		}
		c.of, c.now = c.now, c.of
	}
	return c
}

func (c *colours) statement(i int) colour {
	switch {
	case c.isSum(i), c.isFused(i):
		a, b := c.summands(i)
		return c.sum(i, a, b)
	case c.isProduct(i):
		p := c.product(i)
		return mix(uint64(p.colour), bit(p.minus))
	}
	parts := []uint64{hashText(c.kind(i))}
	if c.f.Stmts[i].Guarded {
		reg, not := c.f.Guard(i)
		parts = append(parts, uint64(c.operand(i, string(reg), false).colour), bit(not))
	}
	from := 1
	if len(c.ops[i]) == 1 {
		from = 0
	}
	for _, o := range c.ops[i][min(from, len(c.ops[i])):] {
		v := c.any(i, o)
		parts = append(parts, uint64(v.colour), bit(v.minus))
	}
	return mix(parts...)
}

func bit(b bool) uint64 {
	if b {
		return 1
	}
	return 0
}

func (c *colours) sum(i int, a, b signed) colour {
	x, y := mix(uint64(a.colour), bit(a.minus)), mix(uint64(b.colour), bit(b.minus))
	return mix(hashText("sum "+manner(c.f.Opcode(i))), uint64(min(x, y)), uint64(max(x, y)))
}

// summands are what a sum adds; the product of a contracted one is the first.
func (c *colours) summands(i int) (a, b signed) {
	if c.isFused(i) {
		return c.product(i), c.operand(i, c.ops[i][3], true)
	}
	a, b = c.operand(i, c.ops[i][1], true), c.operand(i, c.ops[i][2], true)
	b.minus = b.minus != (string(c.f.Base(i)) == "sub")
	return a, b
}

// product is the colour of a product, also of that in a contracted sum.
func (c *colours) product(i int) signed {
	x, y := c.operand(i, c.ops[i][1], false), c.operand(i, c.ops[i][2], false)
	kind := strings.TrimSuffix(manner(c.f.Opcode(i)), ".sat")
	return signed{mix(hashText("product "+kind), uint64(min(x.colour, y.colour)),
		uint64(max(x.colour, y.colour))), x.minus != y.minus}
}

// any is the colour of an operand of any form.
func (c *colours) any(i int, text string) signed {
	if !strings.ContainsAny(text, "{[(") {
		return c.operand(i, text, false)
	}
	parts := []uint64{}
	for _, w := range words(text) {
		v := c.operand(i, w, false)
		parts = append(parts, uint64(v.colour), bit(v.minus))
	}
	return signed{mix(parts...), false}
}

// words are the names and numbers in an operand, and what stands between them.
func words(text string) []string {
	var out []string
	begin := 0
	inside := func(ch byte) bool {
		return ch == '%' || ch == '_' || ch == '$' || ch == '.' || '0' <= ch && ch <= '9' ||
			'a' <= ch|0x20 && ch|0x20 <= 'z'
	}
	for k := 1; k <= len(text); k++ {
		if k == len(text) || inside(text[k]) != inside(text[k-1]) {
			if w := strings.TrimSpace(text[begin:k]); w != "" {
				out = append(out, w)
			}
			begin = k
		}
	}
	return out
}

// operand is the colour of what an operand may hold. whole: that of products by their factors, as
// they stand in contracted sums.
func (c *colours) operand(i int, text string, whole bool) signed {
	list := c.sources(i, text)
	of := make([]signed, 0, len(list))
	for _, s := range list {
		v := signed{minus: s.minus}
		switch {
		case s.def < 0:
			v.colour = mix(hashText(s.text))
		case whole && c.isProduct(s.def):
			p := c.product(s.def)
			v = signed{p.colour, s.minus != p.minus}
		default:
			v.colour = mix(uint64(c.of[s.def]), uint64(c.output(s.def, s.text)))
		}
		of = append(of, v)
	}
	if len(of) == 1 {
		return of[0]
	}
	minus := len(of) > 0 && !slices.ContainsFunc(of, func(v signed) bool { return !v.minus })
	parts := make([]uint64, 0, len(of))
	for _, v := range of {
		parts = append(parts, uint64(mix(uint64(v.colour), bit(v.minus != minus))))
	}
	slices.Sort(parts)
	return signed{mix(slices.Compact(parts)...), minus}
}

// output says which of a statement's results a register is.
func (c *colours) output(i int, register string) int {
	if c.ops[i][0] == register {
		return 0
	}
	return 1 + slices.Index(words(c.ops[i][0]), register)
}

// A done is what becomes of the sums of one colour.
type done struct {
	strict            []int // sums, and explicit fmas of the strict text
	explicit          int
	fused, own, alone int // of nvcc's own: fmas, sums that ptxas contracts, others
	unclear           int
	products          map[colour]bool // that are in contracted ones
}

// Sums are those of what a kernel reaches, by function.
type Sums map[string][]Sum

// Own gives what nvcc's own build does with each sum of what a kernel reaches: with which operand's
// product it contracts it, Alone, or Unclear. strict is the kernel by -fmad=0, own as nvcc makes
// it; ptxas tells what was done with a sum that own leaves open.
func Own(strict, own *ptx.Module, entry string,
	ptxas func(f *ptx.Func, stmt int) int) (Sums, error) {
	reach, err := strict.Reach(entry)
	if err != nil {
		return nil, err
	}
	out := Sums{}
	for n, f := range reach.Funcs {
		if !f.Body || n > 0 && f.Entry {
			continue
		}
		of := own.Func(f.Name)
		if of == nil || !of.Body {
			return nil, errOther
		}
		s, err := read(f, nil)
		if err != nil {
			return nil, err
		}
		o, err := read(of, nil)
		if err != nil {
			return nil, err
		}
		if out[f.Name], err = decide(coloured(s), coloured(o), ptxas); err != nil {
			return nil, err
		}
	}
	return out, nil
}

var errOther = errors.New("without contraction cicc makes other code of the kernel")

// others counts a function's arithmetic of other types, of which nothing is written.
func (b *body) others() map[string]int {
	out := map[string]int{}
	for i, st := range b.f.Stmts {
		if st.Kind == ptx.Inst && floating(b.f.Opcode(i)) && !contracts(b.f.Opcode(i)) {
			out[string(b.f.Base(i))]++
		}
	}
	return out
}

func decide(s, o *colours, ptxas func(f *ptx.Func, stmt int) int) ([]Sum, error) {
	if !maps.Equal(s.others(), o.others()) {
		return nil, errors.New("cicc contracts numbers of half precision, or several at a time")
	}
	all := map[colour]*done{}
	get := func(c colour) *done {
		if all[c] == nil {
			all[c] = &done{products: map[colour]bool{}}
		}
		return all[c]
	}
	var sums []int
	for i := range s.f.Stmts {
		switch {
		case s.f.Stmts[i].Kind != ptx.Inst:
		case s.isSum(i):
			sums = append(sums, i)
			fallthrough
		case s.isFused(i):
			d := get(s.of[i])
			d.strict = append(d.strict, i)
			if s.isFused(i) {
				d.explicit++
			}
		}
	}
	for i := range o.f.Stmts {
		switch {
		case o.f.Stmts[i].Kind != ptx.Inst:
		case o.isFused(i):
			d := get(o.of[i])
			d.fused++
			d.products[o.product(i).colour] = true
		case o.isSum(i):
			d := get(o.of[i])
			with := Alone
			if !ptx.NamesRounding(o.f.Opcode(i)) {
				with = ptxas(o.f, i)
			}
			switch with {
			case Alone:
				d.alone++
			case Unclear:
				d.unclear++
			default:
				d.own++
				d.products[o.operand(i, o.ops[i][1+with], true).colour] = true
			}
		}
	}
	for _, d := range all {
		if len(d.strict) != d.fused+d.own+d.alone+d.unclear || d.fused < d.explicit {
			return nil, errOther
		}
	}
	out := make([]Sum, 0, len(sums))
	for _, i := range sums {
		out = append(out, Sum{i, all[s.of[i]].with(s, i)})
	}
	return out, nil
}

// with is what is done with a sum of a colour.
func (d *done) with(s *colours, i int) int {
	fused := d.fused + d.own
	switch {
	case fused == d.explicit && d.unclear == 0:
		return Alone
	case fused != len(d.strict) || len(d.products) != 1:
		return Unclear
	}
	with := Unclear
	for k := range 2 {
		if p := s.operand(i, s.ops[i][1+k], true); d.products[p.colour] {
			if with >= 0 && s.ops[i][1] != s.ops[i][2] {
				return Unclear // of two that look alike
			}
			with = k
		}
	}
	return with
}

// Text is a sum for people.
func Text(f *ptx.Func, i int) string {
	return fmt.Sprint(strings.TrimSuffix(strings.Join(strings.Fields(statement(f, i)), " "), ";"))
}
