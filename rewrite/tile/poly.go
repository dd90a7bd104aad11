package tile

import (
	"fmt"
	"maps"
	"slices"
	"strings"
)

// A poly is an integer polynomial, modulo 2^64, in values that are the same for all threads of a
// block (registers at a loop's beginning), in a thread's place in its block, and in the number of
// turns that a loop has made. The key is a product of such values, sorted: "" for the constant,
// "%r13*%tid.y".
//
// A register of 32 bits stands for its value with the sign extended. What 32-bit instructions
// compute agrees with the polynomial modulo 2^32; a step to 64 bits asks for more, and is noted
// (widening).
type poly map[string]int64

// Of the values in a polynomial these are not the same for all threads at any time.
const turnsName = "turns"

var placeNames = [3]string{"%tid.x", "%tid.y", "%tid.z"}

// limitTerms bounds polynomials: addresses have some six terms.
const limitTerms = 24

func constant(n int64) poly {
	if n == 0 {
		return poly{}
	}
	return poly{"": n}
}

func (p poly) add(q poly, times int64) poly {
	out := maps.Clone(p)
	if out == nil {
		out = poly{}
	}
	for k, n := range q {
		if out[k] += n * times; out[k] == 0 {
			delete(out, k)
		}
	}
	return out
}

func (p poly) times(q poly) poly {
	out := poly{}
	for a, n := range p {
		for b, m := range q {
			key := product1(a, b)
			if out[key] += n * m; out[key] == 0 {
				delete(out, key)
			}
		}
	}
	return out
}

func product1(a, b string) string {
	switch {
	case a == "":
		return b
	case b == "":
		return a
	}
	all := append(strings.Split(a, "*"), strings.Split(b, "*")...)
	slices.Sort(all)
	return strings.Join(all, "*")
}

// isConstant returns the value of a polynomial without terms but the constant.
func (p poly) isConstant() (int64, bool) {
	n, has := p[""]
	return n, len(p) == 0 || has && len(p) == 1
}

// slope is what a polynomial grows by where a value grows by one; ok is false where that depends on
// the value itself.
func (p poly) slope(name string) (out poly, ok bool) {
	out = poly{}
	for key, n := range p {
		var rest []string
		times := 0
		for _, f := range strings.Split(key, "*") {
			if f == name {
				times++
			} else if f != "" {
				rest = append(rest, f)
			}
		}
		switch times {
		case 0:
		case 1:
			out[strings.Join(rest, "*")] = n
		default:
			return nil, false
		}
	}
	return out, true
}

// without leaves out the terms in which one of the names stands.
func (p poly) without(names ...string) poly {
	out := poly{}
	for key, n := range p {
		if !slices.ContainsFunc(strings.Split(key, "*"), func(f string) bool {
			return slices.Contains(names, f)
		}) {
			out[key] = n
		}
	}
	return out
}

// has tells whether a name stands in a polynomial.
func (p poly) has(name string) bool {
	for key := range p {
		if slices.Contains(strings.Split(key, "*"), name) {
			return true
		}
	}
	return false
}

// uniform tells whether all threads have the same value at the same time, in every turn.
func (p poly) uniform() bool {
	return !p.has(turnsName) && !p.has(placeNames[0]) && !p.has(placeNames[1]) &&
		!p.has(placeNames[2])
}

// String is the same for equal polynomials.
func (p poly) String() string {
	var parts []string
	for _, key := range slices.Sorted(maps.Keys(p)) {
		parts = append(parts, fmt.Sprintf("%d*%s", p[key], key))
	}
	return strings.Join(parts, "+")
}
