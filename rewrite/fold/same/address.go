package same

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"gnvcc/rewrite/ptx"
)

// Which of a structure's fields, or of an element's numbers, a load reads: x or y of two points are
// no operands of the same operation, wherever the points lie. A load of the source reads the same
// address in both kernels, so that two loads whose addresses can't be equal are of different ones.
// What is known of an address is a parameter or variable that it begins with, and what the rest is
// modulo a number: p + 16*i + 4 is 4 modulo 16, whatever i is, also i + 1 in an unrolled loop.
//
// So with the number that an address is computed from: of x[nodes[8*i]] and x[nodes[8*i+1]] each
// reads another one.
//
// An integer of 32 bits may wrap, so that of it only the modulus' power of two is kept. An address
// doesn't: what leaves its object nobody may compute.

// A residue is what is known of an integer: it is rest modulo modulus; exactly rest where that is
// 0.
type residue struct {
	known         bool // something was found
	base          string
	modulus, rest int64
}

var nothing = residue{known: true, modulus: 1}

func gcd(a, b int64) int64 {
	for b != 0 {
		a, b = b, a%b
	}
	return max(a, -a)
}

// of brings the rest into 0 to the modulus.
func (r residue) of() residue {
	const much = 1 << 40 // products of two such don't overflow much further on
	switch {
	case r.modulus > much, r.rest > much, r.rest < -much:
		return nothing
	case r.modulus > 0:
		r.rest = (r.rest%r.modulus + r.modulus) % r.modulus
	}
	return r
}

// join is for a value that is one of two.
func (r residue) join(s residue) residue {
	switch {
	case !r.known || r == s:
		return s
	case !s.known:
		return r
	case r.base != s.base:
		return nothing
	}
	return residue{true, r.base, gcd(gcd(r.modulus, s.modulus), r.rest-s.rest), r.rest}.of()
}

func (r residue) plus(s residue) residue {
	if !r.known || !s.known {
		return residue{}
	}
	if r.base != "" && s.base != "" {
		return nothing
	}
	return residue{true, r.base + s.base, gcd(r.modulus, s.modulus), r.rest + s.rest}.of()
}

// times is for a product, of which one factor has to be known.
func (r residue) times(s residue) residue {
	switch {
	case !r.known || !s.known:
		return residue{}
	case r.base != "" || s.base != "":
		return nothing
	case r.modulus == 0:
		return residue{true, "", s.modulus * max(r.rest, -r.rest), s.rest * r.rest}.of()
	case s.modulus == 0:
		return s.times(r)
	}
	return nothing
}

// short is what is left of it in 32 bits, which may have wrapped.
func (r residue) short() residue {
	switch {
	case !r.known:
		return r
	case r.base != "" && !variable(r.base):
		return nothing
	case r.modulus == 0 && int64(int32(r.rest)) == r.rest:
		return r
	case r.modulus == 0:
		return nothing
	}
	return residue{true, r.base, r.modulus & -r.modulus & (1<<32 - 1), r.rest}.of()
}

// object is the variable of a name: all arrays of shared memory whose size the launch says are one.
func (g *graph) object(name string) string {
	v := g.built.Module.Global(name)
	if v != nil && v.Space == "shared" &&
		strings.Contains(string(g.built.Module.Bytes()[v.Span.Start:v.Span.End]), ".extern") {
		return "dynamic"
	}
	return name
}

// variable tells of a base that it is a variable's address, which has 32 bits in shared memory, and
// no parameter.
func variable(base string) bool { return base != "" && (base[0] < '0' || base[0] > '9') }

// residues finds them for all integers of a kernel. They only become coarser, so that it ends.
func (g *graph) residues() {
	g.rests = make([]residue, len(g.nodes))
	for again := true; again; {
		again = false
		for i, n := range g.nodes {
			if now := g.rests[i].join(g.residueOf(n)); now != g.rests[i] {
				g.rests[i], again = now, true
			}
		}
	}
	for _, n := range g.nodes {
		if n.kind == load {
			n.place, n.index = g.placeOf(n), g.indexOf(n)
		}
	}
}

// indexOf finds the load whose number the address of another is computed from: of x[nodes[8*i+k]]
// it is nodes[8*i+k].
func (g *graph) indexOf(n *node) *node {
	name, _ := base(n.text[1])
	if !g.byName[n.fn.Name].reach.IsRegister(name) {
		return nil
	}
	var index *node
	seen := map[int]bool{}
	rest := slices.Clone(g.origins(g.byName[n.fn.Name], n.at, name))
	for len(rest) > 0 {
		o := rest[len(rest)-1]
		rest = rest[:len(rest)-1]
		if seen[o] {
			continue
		}
		seen[o] = true
		switch of := g.nodes[o]; of.kind {
		case constant, parameter, special:
		case load:
			if index != nil {
				return nil
			}
			index = of
		case integer:
			for _, ops := range of.ops {
				if len(ops) == 0 {
					return nil
				}
				rest = append(rest, ops...)
			}
		default:
			return nil
		}
	}
	return index
}

func (g *graph) residueOf(n *node) residue {
	switch n.kind {
	case constant:
		k, err := strconv.ParseInt(n.name, 0, 64)
		if err != nil {
			return nothing
		}
		return residue{known: true, rest: k}.of()
	case parameter:
		return residue{known: true, base: n.name}
	case special:
		if !strings.HasPrefix(n.name, "%") {
			return residue{known: true, base: g.object(n.name)}
		}
		return nothing
	case integer:
	default:
		return nothing
	}
	op := []byte(n.op)
	in := make([]residue, len(n.ops))
	for k, o := range n.ops {
		for _, x := range o {
			in[k] = in[k].join(g.rests[x])
		}
		if len(o) == 0 { // never written, or nobody knows
			in[k] = nothing
		}
	}
	out := nothing
	switch {
	case n.base == "add" && len(in) == 2:
		out = in[0].plus(in[1])
	case n.base == "sub" && len(in) == 2:
		out = in[0].plus(in[1].times(residue{known: true, rest: -1}))
	case n.base == "mul" && len(in) == 2 && !ptx.HasModifier(op, "hi"):
		out = in[0].times(in[1])
	case n.base == "mad" && len(in) == 3 && !ptx.HasModifier(op, "hi"):
		out = in[0].times(in[1]).plus(in[2])
	case n.base == "shl" && len(in) == 2 && in[1].modulus == 0 && in[1].rest < 32:
		out = in[0].times(residue{known: true, rest: 1 << max(in[1].rest, 0)})
	case n.base == "cvt" && len(in) == 1:
		out = in[0]
		if !wide(op) {
			out = out.short()
		}
		return out
	}
	if !wide(op) {
		return out.short()
	}
	return out
}

// wide tells of an operation that gives 64 bits.
func wide(op []byte) bool {
	words := strings.Split(string(op), ".")
	if words[0] == "cvt" {
		return strings.HasSuffix(words[len(words)-2], "64")
	}
	return strings.HasSuffix(words[len(words)-1], "64") || ptx.HasModifier(op, "wide")
}

// placeOf is what is known of where a load reads.
func (g *graph) placeOf(n *node) residue {
	name, offset := base(n.text[1])
	f := g.byName[n.fn.Name]
	out := residue{}
	if !f.reach.IsRegister(name) {
		out = residue{known: true, base: g.object(name)}
	} else {
		for _, o := range g.origins(f, n.at, name) {
			out = out.join(g.rests[o])
		}
	}
	if !out.known || out.base == "" {
		return nothing
	}
	return out.plus(residue{known: true, rest: int64(offset + n.lane*width([]byte(n.op)))})
}

// apart tells of two loads, one of each kernel, that can't be of the same address, or that can't
// have it from the same number in memory.
func apart(v, d *node) bool {
	return elsewhere(v, d) || v.index != nil && d.index != nil && elsewhere(v.index, d.index)
}

// elsewhere tells of two loads that can't be of the same address.
func elsewhere(v, d *node) bool {
	a, b := v.place, d.place
	if variable(a.base) && variable(b.base) && a.base != b.base {
		return true // what begins with one never ends in another
	}
	if !a.known || !b.known || a.base == "" || a.base != b.base {
		return false
	}
	m := gcd(a.modulus, b.modulus)
	if m == 0 {
		return a.rest != b.rest
	}
	// Bytes of one are never bytes of the other, also where one load is wider.
	w := int64(max(width([]byte(v.op)), width([]byte(d.op))))
	gap := ((a.rest-b.rest)%m + m) % m
	return gap >= w && m-gap >= w
}

func (r residue) String() string { return fmt.Sprintf("%s+%d mod %d", r.base, r.rest, r.modulus) }
