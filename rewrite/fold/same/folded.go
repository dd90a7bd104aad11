package same

import (
	"gnvcc/rewrite/fold"
	"gnvcc/rewrite/ptx"
)

// What a variant's compiler may hand to a load. o[t+n] = expf(x) and then o[t+7] are a store and a
// load in the kernel; where n is known to be 7 the load finds the compiler's own number, and where
// the element is overwritten later no store shows that number. So a load is taken for all that its
// kernel may have stored there, where it is asked whether a number may have other bits than the
// GPU's. For what a variant may have in place of a load it is data all the same.

// finds are the nodes whose values a load may be handed, by load. Not those of memory that another
// parameter points to, unless it may be the same.
func (g *graph) finds() map[int][]int {
	out := map[int][]int{}
	var stores []*node
	for _, s := range g.nodes {
		if s.base == "st" && s.kind == operation && len(s.ops) > 0 {
			stores = append(stores, s)
		}
	}
	for i, d := range g.nodes {
		op := []byte(d.op)
		if d.kind != load || d.name == "const" || ptx.HasModifier(op, "volatile") {
			continue
		}
		constant := ptx.HasModifier(op, "nc")
		for _, s := range stores {
			to := ptx.Space([]byte(s.op))
			if to != d.name && to != "" && d.name != "" || !meet(g, g, s, d) ||
				constant && !rereads(s, d) {
				continue
			}
			out[i] = append(out[i], s.ops[0]...)
		}
	}
	return out
}

// rereads tells of a store and a load that is said to be of memory which nobody writes, that both
// are of one parameter's or variable's. A kernel that does this leaves open what it finds: the GPU
// may give an old number, and a compiler hands the new one on (__ldg, cicc 13.5).
func rereads(s, d *node) bool { return !s.root[-1] && !d.root[-1] }

// Rereads tells of a kernel that loads as constant what it may store itself, as far as it can be
// known.
func Rereads(m *ptx.Module, entry string) bool {
	g, err := read(Built{Module: m, Entry: entry})
	if err != nil {
		return false
	}
	for _, d := range g.nodes {
		if d.kind != load || !ptx.HasModifier([]byte(d.op), "nc") {
			continue
		}
		for _, s := range g.nodes {
			if s.base == "st" && s.kind == operation && rereads(s, d) && meet(g, g, s, d) {
				return true
			}
		}
	}
	return false
}

// forwarding is what is known of a kernel's nodes where loads are what they may be handed.
type forwarding struct {
	by      map[int][]int // finds
	outcome []outcome
}

// roughened are outcomes in which a node is rough, or flushes, too, where what it loads may be so.
func roughened(g *graph, fixed fold.Fixed) ([]outcome, *forwarding) {
	all := outcomes(g, fixed, false)
	if g.built.Unfolded {
		for i := range all {
			all[i].rough, all[i].flushes = false, false
		}
		return all, &forwarding{outcome: all}
	}
	out := &forwarding{by: g.finds(), outcome: all}
	if len(out.by) == 0 {
		return all, out
	}
	g.handing = out.by
	out.outcome = outcomes(g, fixed, false)
	g.handing = nil
	for i := range all {
		all[i].rough = all[i].rough || out.outcome[i].rough
		all[i].flushes = all[i].flushes || out.outcome[i].flushes
	}
	return all, out
}

// settled tells whether each operand of a node may be a constant.
func (l *forwarding) settled(d *node) bool {
	for _, o := range d.ops {
		if !either(o, l.outcome).constant {
			return false
		}
	}
	return true
}

// decided collects the operations whose numbers may decide a comparison, or be an integer, in the
// variant: of those nothing may be left in it. ptxas must not have contracted them.
func (m *matching) decided(found map[int]bool) {
	seen := map[int]bool{}
	var walk func(origins []int)
	walk = func(origins []int) {
		for _, k := range origins {
			n := m.def.nodes[k]
			if seen[k] || !m.forwarding.outcome[k].constant {
				continue
			}
			seen[k] = true
			switch n.kind {
			case load:
				walk(m.forwarding.by[k])
			case operation, choice:
				found[k] = true
				for _, o := range n.ops {
					walk(o)
				}
			}
		}
	}
	for _, d := range m.def.nodes {
		if !crosses(d) || !m.forwarding.settled(d) {
			continue
		}
		for _, o := range d.ops {
			walk(o)
		}
	}
}
