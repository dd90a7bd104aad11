package contract

import (
	"slices"
	"sort"
	"strings"

	"gnvcc/rewrite/ptx"
)

// A leaf is what is known of an operand that is not followed further: which of the things that can
// be told from each other it may be.
type leaf struct {
	any  bool // it may be what is not listed
	some []string
}

// meets tells whether two leaves may be one value.
func (l leaf) meets(of leaf) bool {
	return l.any || of.any || slices.ContainsFunc(l.some, of.has)
}

func (l leaf) has(s string) bool {
	_, found := slices.BinarySearch(l.some, s)
	return found
}

// within tells that all that a leaf may be is among another's.
func (l leaf) within(of leaf) bool {
	return !l.any && len(l.some) > 0 && !slices.ContainsFunc(l.some, func(s string) bool {
		return !of.has(s)
	})
}

// leafs are those of a function's operands.
type leafs struct {
	*body
	kernel *function // nil: a variant's
	found  map[leafKey]leaf
	stores map[string]bool // the spaces that it stores to
	merged bool            // places are not told apart (pairs)
}

type leafKey struct {
	stmt    int
	operand string
}

// of is the leaf of an operand.
func (l *leafs) of(i int, operand string) leaf {
	key := leafKey{i, operand}
	if known, ok := l.found[key]; ok {
		return known
	}
	if l.found == nil {
		l.found = map[leafKey]leaf{}
	}
	var out leaf
	l.gather(i, operand, &out, map[leafKey]bool{})
	sort.Strings(out.some)
	out.some = slices.Compact(out.some)
	l.found[key] = out
	return out
}

// gather adds all that an operand may hold. seen are operands that were looked at.
func (l *leafs) gather(i int, operand string, out *leaf, seen map[leafKey]bool) {
	key := leafKey{i, operand}
	if seen[key] {
		return
	}
	seen[key] = true
	for _, s := range l.sources(i, operand) {
		l.add(s, out, seen)
	}
}

// add adds one of the things that an operand may hold.
func (l *leafs) add(s source, out *leaf, seen map[leafKey]bool) {
	if s.def < 0 {
		out.some = append(out.some, strings.ToLower(s.text))
		return
	}
	op := l.f.Opcode(s.def)
	name := string(op)
	switch base := string(l.f.Base(s.def)); {
	case base == "ld" && ptx.Space(op) == "param":
		name = "parameter " + l.ops[s.def][1]
	case base == "ld":
		name = "load " + ptx.Space(op)
		if l.kernel != nil && l.handsOn(ptx.Space(op)) {
			out.any = true // a variant may have what was stored
		}
	case l.isSum(s.def):
		name = "sum " + l.place(s.def)
	case l.isProduct(s.def):
		name = "product " + l.place(s.def)
	case base == "call" || !floating(op):
		out.any = true
	}
	out.some = append(out.some, name)
	if l.kernel == nil || !floating(op) {
		return
	}
	if !l.isSum(s.def) && !l.isProduct(s.def) {
		out.any = out.any || l.kernel.someKnown(s.def) // a variant may have it in another form
		return
	}
	for n := range 2 {
		if !l.kernel.neutral(s.def, n) {
			continue
		}
		l.gather(s.def, l.ops[s.def][2-n], out, seen)
		if l.isProduct(s.def) {
			out.some = append(out.some, "sum "+l.place(s.def)) // x * 2 is x + x
		}
	}
}

func (l *leafs) place(i int) string {
	if l.merged {
		return ""
	}
	return l.where[i].at
}

// handsOn tells of a space that the kernel stores to.
func (l *leafs) handsOn(space string) bool {
	if l.stores == nil {
		l.stores = map[string]bool{}
		for i, st := range l.f.Stmts {
			if base := string(l.f.Base(i)); st.Kind == ptx.Inst && (base == "st" || base == "call") {
				l.stores[ptx.Space(l.f.Opcode(i))] = true
			}
		}
	}
	return l.stores[space] || l.stores[""] || space == "" && len(l.stores) > 0
}

// neutral tells whether a variant may know an operand of a sum or product, from 0, to be a number
// that leaves the other one as it is, or doubles it: it has the other one in its place.
func (k *function) neutral(i, operand int) bool {
	if !k.mayKnow(i, k.ops[i][1+operand]) {
		return false
	}
	base := string(k.f.Base(i))
	return slices.ContainsFunc(k.sources(i, k.ops[i][1+operand]), func(s source) bool {
		switch {
		case s.def < 0 && strings.HasPrefix(s.text, "%"):
			return true
		case s.def < 0 && base == "mul":
			return unit[strings.ToLower(s.text)]
		case s.def < 0:
			plus, zero := nothing[strings.ToLower(s.text)]
			return zero && (plus != s.minus) == (base == "sub" && operand == 1)
		}
		return k.folds(s.def)
	})
}

// unit are 1 and 2 with both signs.
var unit = map[string]bool{"0f3f800000": true, "0fbf800000": true, "0f40000000": true,
	"0fc0000000": true, "0d3ff0000000000000": true, "0dbff0000000000000": true,
	"0d4000000000000000": true, "0dc000000000000000": true}

// nothing are zeros: whether without a sign.
var nothing = map[string]bool{"0f00000000": true, "0d0000000000000000": true, "0f80000000": false,
	"0d8000000000000000": false}
