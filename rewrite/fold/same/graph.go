package same

import (
	"fmt"
	"math"
	"strconv"
	"strings"

	"gnvcc/rewrite/ptx"
)

// floats are the types that an opcode may name.
var floats = []string{"f32", "f64", "f16", "f16x2", "bf16", "bf16x2", "tf32", "e4m3x2", "e5m2x2", "f32x2"}

// float tells whether an instruction computes in floating point.
func float(op string) bool {
	for _, t := range floats {
		if ptx.HasModifier([]byte(op), t) {
			return true
		}
	}
	return false
}

// through tells of instructions that hand on what they read.
func through(base string, ops []string) bool {
	switch base {
	case "mov", "cvta": // also what packs and unpacks
		return len(ops) == 2
	case "selp":
		return true
	}
	return false
}

// instructions makes the nodes of a function.
func (g *graph) instructions(f *function) {
	for i, st := range f.Stmts {
		if st.Kind != ptx.Inst {
			continue
		}
		op, name, ops := string(f.Opcode(i)), string(f.Base(i)), f.ops[i]
		n := &node{fn: f.Func, at: i, op: op, base: name, where: f.where[i], text: ops}
		if through(name, ops) {
			if name == "selp" {
				n.kind, f.selects[i] = choice, len(g.nodes)
				g.nodes = append(g.nodes, n)
			}
			continue
		}
		switch name {
		case "bra", "brx", "ret", "exit", "trap", "bar", "barrier", "membar", "fence", "call", "prefetch",
			"prefetchu", "nanosleep", "pmevent", "brkpt", "discard", "applypriority", "cp":
			continue
		case "ld", "ldu":
			switch s := ptx.Space([]byte(op)); s {
			case "local":
				continue
			case "param":
				continue
			default:
				n.kind, n.name = load, s
			}
		case "st":
			if s := ptx.Space([]byte(op)); s == "local" || s == "param" {
				continue
			}
			n.kind = operation
		case "atom", "red", "shfl", "tex", "tld4", "suld", "sust", "mma", "wmma", "wgmma", "ldmatrix",
			"stmatrix", "vote", "match", "redux", "multimem":
			n.kind = operation
		default:
			if n.kind = integer; float(op) {
				n.kind = operation
			}
		}
		f.node[i] = len(g.nodes)
		g.nodes = append(g.nodes, n)
		lanes := 1
		switch {
		case n.kind == load:
			lanes = len(parts(ops[0]))
		case name == "st": // one store may be several of the other kernel's
			lanes = len(parts(ops[len(ops)-1]))
		}
		n.merged = name == "st" && lanes > 1
		for lane := range lanes - 1 {
			next := *n
			next.lane = lane + 1
			g.nodes = append(g.nodes, &next)
		}
	}
}

// link finds a node's operands.
func (g *graph) link(n *node, _ int) {
	if n.fn == nil {
		return
	}
	f := g.byName[n.fn.Name]
	from := 1
	switch n.base {
	case "ld", "ldu":
		from = len(n.text)
	case "red", "st", "sust", "stmatrix":
		from = 0
	}
	for k := from; k < len(n.text); k++ {
		text := n.text[k]
		if strings.HasPrefix(text, "[") {
			if text = coordinates(text); text == "" {
				continue
			}
		}
		for lane, p := range parts(text) {
			if n.base == "st" && lane != n.lane {
				continue
			}
			ops, chosen := g.operand(f, n.at, p)
			n.ops, n.chosen, n.args = append(n.ops, ops), append(n.chosen, chosen), append(n.args, p)
		}
	}
	// 1/x is written as it is where it rounds alike.
	if n.base == "rcp" && ptx.HasModifier([]byte(n.op), "rn") {
		n.base, n.op = "div", "div"+strings.TrimPrefix(n.op, "rcp")
		one := "0f3f800000"
		if ptx.HasModifier([]byte(n.op), "f64") {
			one = "0d3ff0000000000000"
		}
		n.ops = [][]int{{g.leafOf(constant, one)}, n.ops[0]}
		n.args = []string{one, n.args[0]}
		n.chosen = [][]int{nil, n.chosen[0]}
	}
	n.alike = make([]uint8, len(n.ops))
	switch {
	case n.kind == load:
		n.root = g.roots(f, n.at, n.text[1])
	case n.base == "st":
		n.root = g.roots(f, n.at, n.text[0])
	}
}

// coordinates are the registers of an address that is a texture's or surface's, in braces: where it
// is read. "" where there are none.
func coordinates(address string) string {
	if at := strings.IndexByte(address, '{'); at >= 0 {
		return strings.TrimSpace(strings.TrimRight(address[at:], "] "))
	}
	return ""
}

// alike tells of a node's operand what function.alike does.
func (g *graph) alike(n *node, k int) bool {
	if n.alike[k] == 0 {
		n.alike[k] = 2
		if strings.HasPrefix(n.args[k], "%") && g.byName[n.fn.Name].alike(n.at, n.args[k]) {
			n.alike[k] = 1
		}
	}
	return n.alike[k] == 1
}

// alike tells of an operand that has several values, and of which nobody knows more where loops are
// unrolled (fold.Rounds).
func (f *function) alike(at int, text string) bool {
	for range 100 {
		defs := f.reach.Of(at, text)
		if len(defs) > 1 {
			for _, d := range defs {
				if f.Stmts[d].Guarded {
					return false
				}
			}
			return f.round.Alike(at, text, defs)
		}
		if len(defs) == 0 || string(f.Base(defs[0])) != "mov" || len(f.ops[defs[0]]) != 2 ||
			!strings.HasPrefix(f.ops[defs[0]][1], "%") {
			return false
		}
		at, text = defs[0], f.ops[defs[0]][1]
	}
	return false
}

// leafOf is the node of what has no instruction.
func (g *graph) leafOf(k kind, name string) int {
	key := fmt.Sprint(k, " ", name)
	if n, ok := g.leaf[key]; ok {
		return n
	}
	g.leaf[key] = len(g.nodes)
	g.nodes = append(g.nodes, &node{kind: k, name: name})
	return g.leaf[key]
}

// half tells of a statement that takes a half of 64 bits that were loaded, or put together: two
// values that cicc handles at once. from is what holds it.
func (f *function) half(d int) (from source, ok bool) {
	if op := string(f.Opcode(d)); op != "cvt.u32.u64" || f.Stmts[d].Guarded {
		return from, false
	}
	at, reg, upper := d, f.ops[d][1], 0
	defs := f.reach.Of(at, reg)
	if len(defs) == 1 && string(f.Opcode(defs[0])) == "shr.u64" && f.ops[defs[0]][2] == "32" {
		at, reg, upper = defs[0], f.ops[defs[0]][1], 1
		defs = f.reach.Of(at, reg)
	}
	if len(defs) != 1 || f.Stmts[at].Guarded || f.Stmts[defs[0]].Guarded {
		return from, false
	}
	switch made := defs[0]; string(f.Base(made)) {
	case "ld":
		return source{f, at, reg}, width(f.Opcode(made)) == 8 && ptx.Space(f.Opcode(made)) != "param"
	case "mov":
		if list := parts(f.ops[made][1]); len(list) == 2 && len(parts(f.ops[made][0])) == 1 {
			return source{f, made, list[upper]}, true
		}
	}
	return from, false
}

var isSpecial = map[string]bool{"tid": true, "ntid": true, "ctaid": true, "nctaid": true,
	"laneid": true, "warpid": true, "nwarpid": true, "smid": true, "nsmid": true, "gridid": true,
	"clock": true, "clock64": true, "clock_hi": true, "globaltimer": true, "globaltimer_lo": true,
	"globaltimer_hi": true, "lanemask_eq": true, "lanemask_lt": true, "lanemask_le": true,
	"lanemask_gt": true, "lanemask_ge": true, "dynamic_smem_size": true, "total_smem_size": true,
	"aggr_smem_size": true, "clusterid": true, "cluster_ctaid": true, "cluster_ctarank": true,
	"cluster_nctaid": true, "cluster_nctarank": true, "nclusterid": true, "is_explicit_cluster": true,
	"envreg": true, "pm": true}

// width is the size in bytes of an instruction's type.
func width(op []byte) int {
	for _, t := range []struct {
		name string
		size int
	}{{"8", 1}, {"16", 2}, {"32", 4}, {"64", 8}} {
		for _, letter := range "bufs" {
			if ptx.HasModifier(op, string(letter)+t.name) {
				return t.size
			}
		}
	}
	return 4
}

// number is a constant as it is compared: its letters small. An integer that may be the bits of a
// float is one: cicc stores floats as either.
func number(text string) string {
	const least = 1 << 23 // the bits of the least float that is not subnormal
	v, err := strconv.ParseInt(text, 0, 64)
	if err == nil && (v >= least && v <= math.MaxUint32 || v <= -least && v >= math.MinInt32) {
		return fmt.Sprintf("0f%08x", uint32(v))
	}
	return strings.ToLower(text)
}

// roots are the parameters and variables that an address may be made of; -1 stands for what nobody
// knows.
func (g *graph) roots(f *function, at int, address string) map[int]bool {
	name, _ := base(address)
	out, seen := map[int]bool{}, map[int]bool{}
	var walk func(n int)
	walk = func(n int) {
		if seen[n] {
			return
		}
		seen[n] = true
		x := g.nodes[n]
		switch {
		case x.kind == parameter:
			out[n] = true
		case x.kind == integer && (x.base == "add" || x.base == "sub" || x.base == "mad") && x.fn != nil:
			fx := g.byName[x.fn.Name]
			for k := 1; k < len(x.text); k++ {
				if x.base == "mad" && k < 3 || strings.HasPrefix(x.text[k], "[") {
					continue
				}
				for _, o := range g.origins(fx, x.at, x.text[k]) {
					walk(o)
				}
			}
		case x.kind == integer || x.kind == constant: // an index
		default:
			out[-1] = true
		}
	}
	if !f.reach.IsRegister(name) {
		return map[int]bool{-1: true}
	}
	for _, o := range g.origins(f, at, name) {
		walk(o)
	}
	if len(out) == 0 {
		out[-1] = true
	}
	return out
}
