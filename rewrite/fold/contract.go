package fold

import (
	"fmt"
	"strings"

	"gnvcc/rewrite/ptx"
	"gnvcc/rewrite/ptx/dataflow"
)

// What a variant could contract. With -fmad a product and the sum that it goes into become one
// instruction, which rounds once. Which products do is the compilers' choice: those that stand
// beside their sum. So a variant has other bits where
//
//	x*y + d    x and y become constants: the product is one, rounded, and the sum rounds again
//	a*b*s + d  s becomes 1: a*b stands beside the sum, which it did not
//	p *= x[k] in a loop, then p + d: the loop becomes straight, and the last product stands beside the sum
//	d / y + e  y becomes 2: a division by it is a product
//	a*b*y + d, then y = -y, in a loop from y = 1: each y becomes a number
//
// A launch with zeros for d does not show any of these. Contracts refuses them by the PTX as it is
// built. What it can't tell is which of two products a sum is contracted with: that is looked at
// when the variant is there (same).

// A shape is a set of what a register may hold, in the variants of a kernel.
type shape uint16

const (
	data    shape = 1 << iota // what no compiler knows
	neutral                   // 0, 1 or -1: a product with it is exact
	number                    // another constant that stands in the code
	chosen                    // what may become one of those
	fixable                   // what may become any constant
	product                   // a product that has not been added to anything yet
	exposed                   // what may become a bare product, and is none now
	unit                      // of numbers in the code: 1 or -1
	above                     // and 0
	below                     // and -0
	among                     // one of several values: which one, may become known
)

// constant tells whether a value may be a constant in a variant whose product rounds.
func (s shape) constant() bool { return s&(number|chosen|fixable) != 0 }

// several is the shape of what has one of several values: which one, may become known.
func (s shape) several() shape {
	if s&number != 0 && s != number {
		s |= chosen
	}
	if s&number != 0 && s&neutral != 0 {
		s |= fixable // a loop's counter
	}
	if s&product != 0 {
		s |= exposed
	}
	return s | among
}

// may tells whether a value may become a number of those that leave the other operand as it is.
func (s shape) may(what shape) bool { return s&fixable != 0 || s&among != 0 && s&what != 0 }

// opposite is the shape of the value with the other sign.
func (s shape) opposite() shape {
	out := s &^ (above | below)
	if s&above != 0 {
		out |= below
	}
	if s&below != 0 {
		out |= above
	}
	return out
}

// A contraction is what is known of one function.
type contraction struct {
	f      *ptx.Func
	params map[string]shape
	// what functions are called with, and return: by the name that cicc gives to the place
	sent        map[string]shape
	reach       *dataflow.Reaching
	rounds      *Rounds
	alone       bool           // nothing is fixed: loops are unrolled
	made        []shape        // by statement: of what it writes
	local       shape          // what was stored to local memory
	behind      map[int]memory // loads of other memory: where the kernel may have stored before
	constraints *Constraints
	apart       map[string]bool
}

// Contracts returns an error where a variant of the kernel could round other sums once, or twice,
// than the kernel does. apart is the number of products that stand in another block than a sum of
// theirs: more than none is an error where a value is fixed, as that may rid it of the branch.
func Contracts(m *ptx.Module, entry string, fixed Fixed) (apart int, err error) {
	reach, err := m.Reach(entry)
	if err != nil {
		return 0, fmt.Errorf("it is not known which sums of %s a variant would contract: %w", entry, err)
	}
	var all []*contraction
	sent := map[string]shape{}
	for _, f := range reach.Funcs {
		if !f.Body {
			continue
		}
		c := &contraction{
			f: f, params: map[string]shape{}, sent: sent, made: make([]shape, len(f.Stmts)),
			apart: map[string]bool{}, behind: map[int]memory{},
		}
		for i := range f.Params {
			c.params[f.Params[i].Name] = data
			if !f.Entry {
				c.params[f.Params[i].Name] = 0
			} else if fixed.Params[i] {
				c.params[f.Params[i].Name] = fixable
			}
		}
		if c.reach, err = dataflow.ReachingOf(f); err != nil {
			return 0, fmt.Errorf("it is not known which sums of %s a variant would contract: %w", entry,
				err)
		}
		c.rounds = RoundsOf(f, c.reach.Blocks)
		c.follow()
		c.alone = len(fixed.Params) == 0 && len(fixed.Dims) == 0
		c.constraints = NewConstraints(f, c.reach, func(i int, operand string) bool {
			return c.operand(i, operand, fixed)&(neutral|number|chosen|fixable) == 0
		})
		all = append(all, c)
	}
	for again := true; again; { // shapes only grow
		again = false
		for _, c := range all {
			for c.round(fixed) {
				again = true
			}
		}
	}
	for _, c := range all {
		if err := c.check(); err != nil {
			return 0, err
		}
		apart += len(c.apart)
	}
	if apart > 0 && (len(fixed.Params) > 0 || len(fixed.Dims) > 0) {
		return apart, fmt.Errorf(
			"a sum of %s is not contracted with its product, which stands before a branch that may go",
			entry)
	}
	return apart, nil
}

// A memory is state spaces in which the compiler may hand a load what was stored.
type memory uint8

const (
	shared memory = 1 << iota
	global
)

// spaces are the places in contraction.sent of what is stored to a space.
var spaces = map[memory]string{shared: "shared memory", global: "global memory"}

// memoryOf gives the spaces that a load or store may be of: both where its address is generic.
func memoryOf(op []byte) memory {
	switch ptx.Space(op) {
	case "shared": // another block's, too
		return shared
	case "global":
		return global
	case "":
		return shared | global
	}
	return 0
}

// follow finds the loads that some way leads to from a store or a call; of a function that is
// called, all.
func (c *contraction) follow() {
	var before memory
	if !c.f.Entry {
		before = shared | global
	}
	along(c.reach.Blocks, before, func(i int, stored memory) memory {
		switch string(c.f.Base(i)) {
		case "ld":
			c.behind[i] |= stored & memoryOf(c.f.Opcode(i))
		case "st":
			stored |= memoryOf(c.f.Opcode(i))
		case "call":
			stored = shared | global
		}
		return stored
	})
}

// keep adds what a store leaves in memory, and tells whether that is new.
func (c *contraction) keep(i int, value string, fixed Fixed) (grown bool) {
	to := memoryOf(c.f.Opcode(i))
	for m, name := range spaces {
		if to&m == 0 {
			continue
		}
		before := c.sent[name]
		for _, v := range strings.Split(strings.Trim(value, "{}"), ",") {
			c.sent[name] |= c.operand(i, v, fixed).several()
		}
		grown = grown || c.sent[name] != before
	}
	return grown
}

// found is what a load may be handed of what was stored before it.
func (c *contraction) found(at int) (out shape) {
	for m, name := range spaces {
		if c.behind[at]&m != 0 {
			out |= c.sent[name]
		}
	}
	return out
}

// round looks at each instruction once, and tells whether anything new was found.
func (c *contraction) round(fixed Fixed) bool {
	f, local, grown := c.f, c.local, false
	if !f.Entry {
		for i := range f.Params {
			c.params[f.Params[i].Name] |= c.sent[fmt.Sprint("param", i)].several()
		}
	}
	for i, st := range f.Stmts {
		if st.Kind != ptx.Inst {
			continue
		}
		var ops []string
		for _, o := range f.Operands(i, nil) {
			ops = append(ops, string(f.Bytes(o)))
		}
		if len(ops) < 2 {
			continue
		}
		if string(f.Base(i)) == "st" {
			if ptx.Space(f.Opcode(i)) == "param" {
				name := strings.TrimPrefix(place(ops[0]), "func_")
				sent := c.sent[name]
				c.sent[name] |= c.operand(i, ops[1], fixed) &^ (product | exposed)
				grown = grown || c.sent[name] != sent
			}
			if !ptx.HasModifier(f.Opcode(i), "local") {
				grown = c.keep(i, ops[1], fixed) || grown
				continue
			}
			for _, v := range strings.Split(strings.Trim(ops[1], "{}"), ",") {
				c.local |= c.operand(i, v, fixed)
			}
			continue
		}
		out := c.made[i] | c.result(i, string(f.Base(i)), f.Opcode(i), ops[1:], fixed)
		if c.constraints.Constrain(i) {
			out |= fixable
		}
		if out != c.made[i] {
			c.made[i], grown = out, true
		}
	}
	grown = c.constraints.Look() || grown
	c.local = c.local.several()
	return c.local != local || grown
}

// operand is the shape of an operand of statement i.
func (c *contraction) operand(i int, text string, fixed Fixed) shape {
	text = strings.TrimSpace(text)
	if text == "" {
		return data
	}
	if text[0] == '{' {
		all := shape(0)
		for _, part := range strings.Split(strings.Trim(text, "{}"), ",") {
			all |= c.operand(i, part, fixed) &^ (product | exposed)
		}
		return all
	}
	if text[0] != '%' && !c.reach.Written(text) { // inline assembly's registers need no %
		switch digits := strings.TrimPrefix(text, "-"); {
		case zero(text) && strings.ContainsAny(digits[2:3], "89"):
			return neutral | below
		case digits == "0", zero(text):
			return neutral | above
		case digits == "1", isNeutral(digits):
			return neutral | unit
		case digits != "" && digits[0] >= '0' && digits[0] <= '9':
			return number
		}
		return data // an address
	}
	if c.reach.Written(text) {
		all, defs := shape(0), c.reach.Of(i, text)
		several := len(defs) > 1
		for _, d := range defs {
			all |= c.made[d]
			several = several || c.f.Stmts[d].Guarded // it may keep what it had
		}
		switch {
		case !several || all == all.several():
			return all
		case !c.alone || !c.rounds.Alike(i, text, defs):
			return all.several()
		case all&product != 0:
			return all | exposed // a loop that becomes straight leaves its product beside the sum
		}
		return all
	}
	name, axis, _ := strings.Cut(text[1:], ".")
	if fixed.Dims[name+"."+axis] {
		return fixable
	}
	if name == "ntid" || name == "nctaid" || name == "tid" || name == "ctaid" || name == "laneid" {
		return data
	}
	return 0 // nothing was found yet
}

// exactFactors are 0, 1 and -1, as PTX writes them.
var exactFactors = names(
	"0f00000000 0f80000000 0f3f800000 0fbf800000 0d0000000000000000 0d8000000000000000 0d3ff0000000000000 0dbff0000000000000")

func isNeutral(text string) bool { return exactFactors[strings.ToLower(text)] }

// result is the shape of what an instruction gives.
func (c *contraction) result(at int, base string, op []byte, ops []string, fixed Fixed) shape {
	in := make([]shape, len(ops))
	all, none := shape(0), false
	for i, o := range ops {
		in[i] = c.operand(at, o, fixed)
		all, none = all|in[i], none || in[i] == 0
	}
	switch base {
	case "ld":
		switch {
		case ptx.Space(op) == "param":
			if s, ok := c.params[place(ops[0])]; ok {
				return s
			}
			return data | c.sent[place(ops[0])].several() // what a function returns
		case ptx.HasModifier(op, "local"):
			return data | c.local // an array whose indices become known is one no longer
		case c.behind[at] != 0 && !ptx.HasModifier(op, "nc") && !ptx.HasModifier(op, "volatile"):
			return (data | c.found(at)).several() // the compiler may hand on what was stored there
		}
		return data
	case "neg":
		return all.opposite()
	case "mov", "abs":
		return all
	case "cvt":
		return all &^ (product | exposed)
	}
	if none {
		return 0
	}
	known := shape(0)
	switch {
	case all&fixable != 0:
		known = fixable
	case all&chosen != 0:
		known = chosen
	case all&(neutral|number) != 0:
		known = number
	}
	for _, s := range in {
		// Of data nothing is known; nor, in integers, of data or 0: the start of a loop that runs.
		if s&(neutral|number|chosen|fixable) == 0 ||
			s&^(unit|above|below|among) == data|neutral && !Float(op) {
			known = 0
		}
	}
	out := known
	if known == chosen {
		out |= among | unit | above | below
	}
	if all&(data|product|exposed) != 0 {
		out |= data
	}
	switch {
	case base == "selp" && len(in) == 3:
		if out = (in[0] | in[1]).several(); out&number != 0 {
			out |= chosen
		}
	default:
		out |= exposes(base, op, in)
	}
	return out
}

// exposes is what of a product an operation gives, or may give where an operand becomes a number.
func exposes(base string, op []byte, in []shape) (out shape) {
	all := shape(0)
	for _, s := range in {
		all |= s
	}
	switch {
	case base == "mul" && len(in) == 2 && contractible(op):
		for i := range in { // times 1
			if in[i]&(product|exposed) != 0 && in[1-i].may(unit) {
				out |= exposed
			}
		}
		out |= product
	case base == "div" && len(in) == 2 && Float(op) && (in[1].may(unit) || in[1]&chosen != 0):
		out |= exposed // by a power of two
	case (base == "add" || base == "sub") && len(in) == 2 && contractible(op):
		for i := range in { // and 0
			nothing := below
			if base == "sub" && i == 0 {
				nothing = above
			}
			if in[i]&(product|exposed) != 0 && in[1-i].may(nothing) {
				out |= exposed
			}
		}
	case base == "fma" && len(in) == 3 && Float(op) && in[2].may(below):
		out |= exposed
	case (base == "min" || base == "max") && Float(op) && all&product != 0 &&
		all&(fixable|chosen) != 0: // and no number
		out |= exposed
	}
	return out
}

// check says what a variant could contract in another way.
func (c *contraction) check() error {
	f := c.f
	for i, st := range f.Stmts {
		if st.Kind != ptx.Inst || !Float(f.Opcode(i)) {
			continue
		}
		var ops []string
		for _, o := range f.Operands(i, nil) {
			ops = append(ops, strings.TrimSpace(string(f.Bytes(o))))
		}
		base := string(f.Base(i))
		var sums []string
		switch {
		case base == "fma" && len(ops) == 4:
			a, b := c.operand(i, ops[1], Fixed{}), c.operand(i, ops[2], Fixed{})
			if a.constant() && b.constant() && (a|b)&(chosen|fixable) != 0 && !isNeutral(ops[3]) {
				return fmt.Errorf(
					"a product that goes into a sum (%s) may become constant: it would be rounded, and is not now",
					c.text(i))
			}
			if a&(product|exposed) != 0 && b.may(unit) || b&(product|exposed) != 0 && a.may(unit) {
				return fmt.Errorf(
					"a factor of a sum (%s) may become 1, and the sum be contracted in another way", c.text(i))
			}
			if c.operand(i, ops[3], Fixed{})&(product|exposed) != 0 &&
				((a|b)&(chosen|fixable) != 0 || a.may(unit) || b.may(unit)) {
				return fmt.Errorf(
					"a factor of a sum (%s) may become 1, and the sum be contracted with its other product",
					c.text(i))
			}
			sums = ops[3:]
		case (base == "add" || base == "sub") && len(ops) == 3 && contractible(f.Opcode(i)):
			sums = ops[1:]
		}
		for _, o := range sums {
			switch s := c.operand(i, o, Fixed{}); {
			case s&product != 0 && s&(chosen|fixable) != 0:
				return fmt.Errorf(
					"a product that goes into a sum (%s) may become constant: it would be rounded, and may not be now", c.text(i))
			case s&exposed != 0:
				return fmt.Errorf("a sum (%s) may get a product to be contracted with", c.text(i))
			case s&product != 0 && c.elsewhere(i, o):
				c.apart[o] = true
			}
		}
	}
	return nil
}

// elsewhere tells whether a product that statement i adds stands in another block than i.
func (c *contraction) elsewhere(i int, reg string) bool {
	for _, d := range c.reach.Of(i, reg) {
		if c.made[d]&product != 0 && c.rounds.block[d] != c.rounds.block[i] {
			return true
		}
	}
	return false
}

func (c *contraction) text(i int) string {
	st := c.f.Stmts[i]
	return strings.Join(strings.Fields(
		strings.TrimSuffix(string(c.f.Bytes(ptx.Span{Start: st.Start, End: st.End})), ";")), " ")
}
