package fold

import (
	"strconv"
	"strings"

	"gnvcc/rewrite/ptx"
)

// A value is what may become of a register or parameter. What is found only rises: none, given,
// then known or never, then maybe.
type value uint8

const (
	none  value = iota // nothing was found yet
	given              // a constant that stands in the code: it is the same in every variant
	known              // made of constants and of what is fixed alone: a loop's counter
	never              // no compiler can know it: it comes from memory, or from the thread's number
	maybe              // anything: known on one way and not on another
)

// join is for two ways to one value.
func join(a, b value) value {
	switch {
	case a == none || a == b:
		return b
	case b == none:
		return a
	case max(a, b) == known:
		return known
	}
	return maybe
}

// firm tells of an argument that is the same constant in every variant, or a constant in none.
func (v value) firm() bool { return v == given || v == never || v == none }

// Float tells whether an instruction computes in floating point, by its last type.
func Float(op []byte) bool {
	for _, t := range []string{"f32", "f64", "f16", "f16x2", "bf16", "bf16x2", "f32x2"} {
		if ptx.HasModifier(op, t) {
			return true
		}
	}
	return false
}

// operand is the value of an operand of statement i of f: a register, a special register, a
// constant, or several in braces.
func (a *analysis) operand(f *state, i int, text string) value {
	text = strings.TrimSpace(text)
	switch {
	case text == "":
		return maybe
	case text[0] == '{':
		all := none
		for _, part := range strings.Split(strings.Trim(text, "{}"), ",") {
			all = join(all, a.operand(f, i, part))
		}
		return all
	case text[0] != '%' && !f.reach.Written(text): // inline assembly's registers need no %
		if c := text[0]; c >= '0' && c <= '9' || c == '-' {
			return given
		}
		return maybe // the address of a variable
	}
	if f.reach.Written(text) {
		all, defs := none, f.reach.Of(i, text)
		plain, data := true, false // constants of the code, and what no compiler knows
		for _, d := range defs {
			all = join(all, f.made[d])
			plain, data = plain && f.made[d].firm(), data || f.made[d] == never
		}
		if all == given && f.fewer(i, text, defs) {
			return known
		}
		if len(defs) < 2 || all != given && !(plain && data) {
			return all
		}
		alike := len(a.fixed.Params) == 0 && len(a.fixed.Dims) == 0 && f.rounds.Alike(i, text, defs)
		switch {
		case all == given && !alike: // two constants: which one, may become known
			return known
		case data && alike:
			return never
		}
		return all
	}
	name, axis, _ := strings.Cut(text[1:], ".")
	if a.fixed.Dims[name+"."+axis] || axis == "" && (name == "ntid" || name == "nctaid") {
		return known
	}
	switch name {
	case "ntid", "nctaid", "tid", "ctaid", "laneid", "warpid", "smid", "clock", "clock64", "globaltimer":
		return never
	}
	return maybe
}

// result is what an instruction, statement at, makes of its operands.
func (a *analysis) result(f *state, at int, base string, op []byte, ops []string) value {
	in := make([]value, 0, 4)
	low, high := maybe, none
	some := false // that no compiler knows
	for _, o := range ops {
		v := a.operand(f, at, o)
		in = append(in, v)
		low, high, some = min(low, v), max(high, v), some || v == never
	}
	switch {
	case low == none:
		return none
	case len(in) == 1 && (base == "mov" || base == "cvta"):
		if in[0] == never && !f.keeps(at, op, ops) {
			return maybe
		}
		return in[0]
	case high <= known:
		return known
	}
	one := value(maybe) // never, where there are no others
	if low >= never && high == never {
		one = never
	}
	switch base {
	case "cvt", "neg":
		if base == "neg" || !narrows(op) {
			return one
		}
	case "add", "sub", "mul", "fma", "div", "sqrt", "rsqrt", "rcp", "abs", "ex2", "lg2", "sin", "cos",
		"tanh", "copysign":
		switch {
		case Float(op) && some: // x*0 and x-x are no constants there
			return never
		case (base == "add" || base == "sub") && some && low <= known:
			// of two that are not known, one may be the other
			return never
		case base == "mul" && some && nonZero(ops) && f.keeps(at, op, ops):
			return never
		}
	case "mad":
		if Float(op) && some {
			return never
		}
		return one // ctaid * ntid + tid
	case "min", "max":
		if Float(op) && some && high == never && low != known {
			return never
		}
	case "selp":
		if in[0] == never && in[1] == never {
			return never
		}
	case "shfl":
		return in[0]
	case "atom", "tex", "tld4", "suld", "ldu":
		return never
	}
	return maybe
}

// narrows tells whether a conversion cuts an integer's upper bits off: of 256 * x nothing may be
// left.
func narrows(op []byte) bool {
	words := strings.Split(string(op), ".")
	to, from := words[len(words)-2], words[len(words)-1]
	if strings.Contains(to, "f") || strings.Contains(from, "f") {
		return false
	}
	a, errA := strconv.Atoi(to[1:])
	b, errB := strconv.Atoi(from[1:])
	return errA != nil || errB != nil || a < b
}

// nonZero tells whether one of two factors is a constant other than 0.
func nonZero(ops []string) bool {
	for _, o := range ops {
		if n, err := strconv.ParseInt(strings.TrimSpace(o), 0, 64); err == nil && n != 0 {
			return true
		}
	}
	return false
}
