package same

import "gnvcc/rewrite/ptx"

// What a load can find. A compiler may hand the number that was stored to a load of the same
// address, so that in one kernel a load stands where the other has what was computed. Not so for a
// load that no store comes before.

// writing are the instructions behind which memory may hold something else than before.
var writing = map[string]bool{"st": true, "atom": true, "red": true, "call": true, "cp": true,
	"stmatrix": true, "sust": true, "sured": true, "multimem": true}

// fresh tells of a load that on no way stands behind an instruction of its kernel that writes.
func (g *graph) fresh(n *node) bool {
	f := g.byName[n.fn.Name]
	if !f.Entry {
		return false // who calls it may have written
	}
	if f.behind == nil {
		f.behind = f.behindWrites()
	}
	for b, block := range f.reach.Blocks {
		if n.at < block.First || n.at >= block.Last {
			continue
		}
		if f.behind[b] {
			return false
		}
		for i := block.First; i < n.at; i++ {
			if writing[string(f.Base(i))] {
				return false
			}
		}
		return true
	}
	return false
}

// foundBy are the operations and loads of the default whose results a load of it may find: what is
// stored to memory of the same kind that may be the load's. The compiler may hand them on in the
// variant. So it may contract a sum there that adds what was loaded: choices.products counts such
// loads.
func (m *matching) foundBy(k int) []int {
	if known, ok := m.found[k]; ok {
		return known
	}
	var out []int
	d := m.def.nodes[k]
	if !ptx.HasModifier([]byte(d.op), "nc") && d.name != "const" && float(d.op) && !m.def.fresh(d) {
		for _, s := range m.def.nodes {
			to := ptx.Space([]byte(s.op))
			if s.base != "st" || to != d.name && to != "" && d.name != "" ||
				kindOf(s.op) != kindOf(d.op) || !meet(m.def, m.def, s, d) {
				continue
			}
			for _, o := range s.ops[0] {
				if kind := m.def.nodes[o].kind; kind == operation || kind == load {
					out = append(out, o)
				}
			}
		}
	}
	m.found[k] = out
	return out
}

// behindWrites tells of each block whether a write may have been carried out when it is entered.
func (f *function) behindWrites() []bool {
	blocks := f.reach.Blocks
	var after []int
	for _, block := range blocks {
		for i := block.First; i < block.Last; i++ {
			if writing[string(f.Base(i))] {
				after = append(after, block.Succs...)
				break
			}
		}
	}
	return ptx.Onward(blocks, after, nil)
}
