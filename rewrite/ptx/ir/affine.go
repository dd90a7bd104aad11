package ir

import (
	"fmt"
	"maps"
	"slices"
	"strings"
)

// What integers are, in terms of what they are computed from: a constant, and leaves (registers,
// special registers, numbers of turns) or products of leaves, each with a coefficient.
//
// It is meant modulo 2^64. What 32-bit instructions compute agrees with it modulo 2^32; a step from
// 32 bits to 64 asks for more, namely that the value is in the range of the narrower type, which is
// for the caller to see to (Arithmetic's widen).

// An Affine value has a coefficient for each product of leaves, which are sorted: "" for the
// constant, "%r13*%tid.y".
type Affine map[string]int64

// Number is a constant.
func Number(n int64) Affine { return Affine{}.Plus(Affine{"": n}, 1) }

// Plus is a + times*b.
func (a Affine) Plus(b Affine, times int64) Affine {
	out := maps.Clone(a)
	if out == nil {
		out = Affine{}
	}
	for k, n := range b {
		if out[k] += n * times; out[k] == 0 {
			delete(out, k)
		}
	}
	return out
}

func (a Affine) Times(b Affine) Affine {
	out := Affine{}
	for x, n := range a {
		for y, m := range b {
			all := append(Leaves(x), Leaves(y)...)
			slices.Sort(all)
			key := strings.Join(all, "*")
			if out[key] += n * m; out[key] == 0 {
				delete(out, key)
			}
		}
	}
	return out
}

// Leaves are those of a product.
func Leaves(key string) []string {
	if key == "" {
		return nil
	}
	return strings.Split(key, "*")
}

// Constant returns the value of what has no leaves.
func (a Affine) Constant() (int64, bool) {
	n, has := a[""]
	return n, len(a) == 0 || has && len(a) == 1
}

// Slope is what it grows by where a leaf grows by one; ok is false where that depends on the leaf
// itself.
func (a Affine) Slope(leaf string) (out Affine, ok bool) {
	out = Affine{}
	for key, n := range a {
		all := Leaves(key)
		rest := slices.DeleteFunc(slices.Clone(all), func(l string) bool { return l == leaf })
		switch len(all) - len(rest) {
		case 0:
		case 1:
			out[strings.Join(rest, "*")] = n
		default:
			return nil, false
		}
	}
	return out, true
}

// Without leaves out the products in which one of some leaves stands.
func (a Affine) Without(some ...string) Affine {
	out := maps.Clone(a)
	maps.DeleteFunc(out, func(key string, _ int64) bool {
		return slices.ContainsFunc(Leaves(key), func(l string) bool { return slices.Contains(some, l) })
	})
	return out
}

// String is the same for equal values.
func (a Affine) String() string {
	var parts []string
	for _, key := range slices.Sorted(maps.Keys(a)) {
		parts = append(parts, fmt.Sprintf("%d*%s", a[key], key))
	}
	return strings.Join(parts, "+")
}

// Arithmetic is what the instruction, on integers, gives, of its operands in order, from 1; ok is
// false where that is not affine in them. widen is a value of 32 bits as one of 64.
func (x *Inst) Arithmetic(operand func(n int) (Affine, bool),
	widen func(a Affine, signed bool) Affine) (out Affine, ok bool) {
	kind, modifiers := x.Type(), strings.Join(x.Words, ".")
	if !x.integral() {
		return nil, false
	}
	a, ok := operand(1)
	if !ok {
		return nil, false
	}
	switch x.Op {
	case "mov":
		return a, true
	case "cvta":
		return a, modifiers == "to.global.u64" || modifiers == "global.u64"
	case "cvt":
		switch modifiers {
		case "s64.s32", "u64.s32", "u64.u32", "s64.u32":
			return widen(a, kind == "s32"), true
		case "u32.u64", "s32.s64", "u32.s64", "s32.u64", "u32.u32", "s32.s32", "u32.s32", "s32.u32":
			return a, true
		}
		return nil, false
	case "neg":
		return Affine{}.Plus(a, -1), true
	case "shl", "or", "add", "sub", "mul", "mad":
	default:
		return nil, false
	}
	b, ok := operand(2)
	if !ok {
		return nil, false
	}
	v, constant := b.Constant()
	switch x.Op {
	case "shl":
		return a.Times(Number(1 << (v & 31))), constant && v >= 0 && v < 32
	case "or": // of bits that are not set
		return a.Plus(b, 1), constant && v >= 0 && v < 1<<20 && a.multiple(v+1)
	case "add":
		return a.Plus(b, 1), true
	case "sub":
		return a.Plus(b, -1), true
	}
	if x.Words[0] == "wide" {
		a, b = widen(a, kind == "s32"), widen(b, kind == "s32")
	}
	out = a.Times(b)
	if x.Op == "mad" {
		c, ok := operand(3)
		return out.Plus(c, 1), ok
	}
	return out, true
}

// integral reports whether it computes on integers of 32 or 64 bits without saturation or carry, and
// gives the low or the wide half of a product.
func (x *Inst) integral() bool {
	wide := len(x.Words) > 0 && x.Words[0] == "wide"
	switch x.Type() {
	case "u32", "s32":
	case "b32", "u64", "s64", "b64":
		if wide {
			return false
		}
	default:
		return false
	}
	return !x.Has("sat", "satfinite", "cc") && (x.Op != "mul" && x.Op != "mad" || wide || x.Words[0] == "lo")
}

// multiple reports whether it is a multiple of the least power of two from least on.
func (a Affine) multiple(least int64) bool {
	unit := int64(1)
	for unit < least {
		unit *= 2
	}
	for _, c := range a {
		if c%unit != 0 {
			return false
		}
	}
	return true
}
