package same

import (
	"slices"
	"strings"

	"gnvcc/rewrite/ptx"
)

// Selections tell values apart that are chosen from the same two: sine and cosine are both one of
// two polynomials, by whether a number is odd,
//
//	selp.f32 s, cospoly, sinpoly, odd;
//	selp.f32 c, sinpoly, cospoly, odd;
//
// so that neither's origins alone tell them apart. Where two selections give one value, and their
// predicates are the same, both give what stands on the same side. So they are distinguished where
// neither side of the one may be that side of the other.
//
// A compiler may turn a predicate round, and exchange the sides. So predicates count as the same
// only where they ask whether an integer is a number, and are written alike, down to floating point
// and memory, to which no compiler adds a 1 for a predicate's sake. And the default's must not be
// one that the variant may know, be it from a constant or from a branch: then the selection may be
// gone, and the one in its place another.

// selections are what is known of operands' selections.
type selections struct {
	with    map[list][]int // the operands' origins, with selections among them
	held    map[list][]int // the same, without signs
	keys    map[int]string // of selections' predicates
	outcome []outcome      // without comparisons for selections alone; nil: not asked
}

func selectionsOf(g *graph) *selections {
	s := &selections{with: map[list][]int{}, held: map[list][]int{}, keys: map[int]string{}}
	for _, n := range g.nodes {
		for k := range min(len(n.ops), len(n.chosen)) {
			if n.chosen[k] != nil {
				s.with[listOf(n.ops[k])] = n.chosen[k]
			}
		}
	}
	return s
}

// held are origins as bare gives them, with selections as values of their own.
func (c *choices) held(g *graph, origins []int) []int {
	s := c.selected[g]
	key := listOf(origins)
	if known, ok := s.held[key]; ok {
		return known
	}
	var out []int
	seen := map[int]bool{}
	var walk func(origins []int)
	walk = func(origins []int) {
		if with, ok := s.with[listOf(origins)]; ok {
			origins = with
		}
		for _, o := range origins {
			if seen[o] {
				continue
			}
			seen[o] = true
			if n := g.nodes[o]; n.base == "neg" {
				walk(n.ops[0])
			} else {
				out = append(out, o)
				walk(c.instead(g, o))
			}
		}
	}
	walk(origins)
	s.held[key] = out
	return out
}

// sides tells whether a value of the variant may be one of the default, where one of the two is a
// selection, or both are.
func (c *choices) sides(a, b, left int) bool {
	v, d := c.variant.nodes[a], c.def.nodes[b]
	if v.kind == choice && d.kind == choice && c.together(a, b) {
		return c.some(v.ops[0], d.ops[0], left) || c.some(v.ops[1], d.ops[1], left)
	}
	one, two := [][]int{{a}}, [][]int{{b}}
	if v.kind == choice {
		one = v.ops[:2]
	}
	if d.kind == choice {
		two = d.ops[:2]
	}
	for _, v := range one {
		for _, d := range two {
			if c.some(v, d, left) {
				return true
			}
		}
	}
	return false
}

// together tells of two selections that their predicates are the same.
func (c *choices) together(a, b int) bool {
	if key := c.predicate(c.variant, a); key == "" || key != c.predicate(c.def, b) {
		return false
	}
	s := c.selected[c.def]
	if s.outcome == nil {
		elsewhere := map[*function]map[string]bool{}
		for _, f := range c.def.funcs {
			elsewhere[f] = f.readElsewhere()
		}
		s.outcome = c.def.outcomes(c.fixed, false, func(f *function, i int) bool {
			return f.Stmts[i].Kind == ptx.Inst && string(f.Base(i)) == "setp" &&
				!slices.ContainsFunc(strings.Split(f.ops[i][0], "|"), func(p string) bool {
					return elsewhere[f][strings.TrimSpace(p)]
				})
		})
	}
	return !either(c.def.nodes[b].ops[2], s.outcome).constant
}

// readElsewhere are the registers that anything but a selection reads.
func (f *function) readElsewhere() map[string]bool {
	out := map[string]bool{}
	for i, st := range f.Stmts {
		if st.Kind == ptx.Inst && string(f.Base(i)) != "selp" {
			f.Effects(i, func(n ptx.Span, read, _ bool) {
				out[string(f.Bytes(n))] = out[string(f.Bytes(n))] || read
			})
		}
	}
	return out
}

// predicate is how a selection's predicate is written, "" where that is not known.
func (c *choices) predicate(g *graph, o int) string {
	s := c.selected[g]
	key, ok := s.keys[o]
	if !ok {
		n := g.nodes[o]
		f := g.byName[n.fn.Name]
		if defs := f.reach.Of(n.at, n.text[3]); len(defs) == 1 && f.bits(defs[0]) {
			key = f.written(defs[0], map[int]bool{}, new(int))
		}
		s.keys[o] = key
	}
	return key
}

// bits tells of a comparison of an integer with a number, for equality: of others two may be
// exchanged, as in a > b ? a : b.
func (f *function) bits(i int) bool {
	op, ops := f.Opcode(i), f.ops[i]
	return string(f.Base(i)) == "setp" && len(ops) == 3 && !float(string(op)) &&
		!strings.HasPrefix(ops[2], "%") && (ptx.HasModifier(op, "eq") || ptx.HasModifier(op, "ne"))
}

// mostWritten bounds how many statements a predicate is written with.
const mostWritten = 200

// commutes are the operations whose operands may be exchanged.
var commutes = map[string]bool{"and": true, "or": true, "xor": true, "add": true, "mul": true,
	"min": true, "max": true}

// written is a number of statement i, in words: its instructions, down to those of floating point
// and loads; "" where it is not known, and where it would be the same with two operands exchanged
// that are not the same number.
func (f *function) written(i int, above map[int]bool, count *int) string {
	op, base := f.Opcode(i), string(f.Base(i))
	*count++
	switch {
	case f.Stmts[i].Guarded || *count > mostWritten:
		return ""
	case above[i]: // in a loop
		return "again"
	}
	above[i] = true
	defer delete(above, i)
	if base != "setp" && float(string(op)) {
		return string(op)
	}
	switch base {
	case "ld":
		if ptx.Space(op) == "param" {
			return ""
		}
		return string(op)
	case "mov":
		if len(parts(f.ops[i][0])) > 1 || len(parts(f.ops[i][1])) > 1 {
			return ""
		}
	case "setp", "cvt", "and", "or", "xor", "not", "add", "sub", "neg", "mul", "mad", "shl", "shr", "selp",
		"bfe", "bfi", "min", "max":
	default:
		return ""
	}
	out := string(op)
	operands := map[string]bool{}
	for _, o := range f.ops[i][1:] {
		if !f.reach.IsRegister(o) {
			out += " " + o
			continue
		}
		var some []string
		for _, d := range f.reach.Of(i, o) {
			text := f.written(d, above, count)
			if text == "" {
				return ""
			}
			some = append(some, text)
		}
		if len(some) == 0 {
			return ""
		}
		slices.Sort(some)
		text := strings.Join(slices.Compact(some), " or ")
		if operands[text] && !commutes[base] {
			return ""
		}
		operands[text] = true
		out += " (" + text + ")"
	}
	return out
}
