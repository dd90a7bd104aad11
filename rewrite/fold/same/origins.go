package same

import (
	"encoding/binary"
	"fmt"
	"slices"
	"strings"

	"gnvcc/rewrite/ptx"
)

// What an operand may hold: the nodes that are reached from it through moves, selections, local
// memory, arguments and results. Many operands are reached from each other, and where the kernel
// has loops, the ways have some. So each place where a value may stand is looked at once, for the
// nodes that it is and the places that it has its value from, and what is reached from there is
// kept. Lists of the same nodes are one list, so that what is found out about one holds for all.

// A spot is a place where a value may stand: a register as a statement gives it, or what the text
// says.
type spot struct {
	f    *function
	at   int // the statement, or a number of its own
	text string
}

// Texts of spots that are no registers, and what their number is.
const (
	inLocal  = "local"  // a variable of local memory: its offset
	argument = "args"   // what a function is called with: which parameter's
	returned = "return" // what a function returns: 0
)

// A view says what a selection is: its two sides, or a node.
type view uint8

const (
	sided view = iota
	chosen
	views
)

// ways are the spots that were looked at.
type ways struct {
	number map[spot]int
	spots  []looked
	walks  int              // so far; what the last one has come to has its number
	been   []int            // by spot
	taken  []int            // by node
	lists  map[string][]int // one of each content
}

// looked is a spot with what was found there.
type looked struct {
	spot
	known [views]bool
	nodes [views][]int // what it may be
	from  [views][]int // the spots that it may have its value from
	all   [views][]int // the nodes that are reached from it; nil: not asked yet
}

// origins are the nodes that an operand of a statement may hold, sorted.
func (g *graph) origins(f *function, at int, text string) []int {
	return g.reached(source{f, at, text}, sided)
}

// operand is origins, and the same with selections as nodes: nil where there is none. Operands
// share their first list where both are alike, so that either is known by the other.
func (g *graph) operand(f *function, at int, text string) (origins, selected []int) {
	origins, selected = g.origins(f, at, text), g.reached(source{f, at, text}, chosen)
	if !slices.ContainsFunc(selected, func(n int) bool { return g.nodes[n].kind == choice }) {
		return origins, nil
	}
	key := content([]int{-1, len(origins)}) + content(origins) + content(selected) // -1: two lists
	list, ok := g.ways.lists[key]
	if !ok {
		list = slices.Clone(origins)
		g.ways.lists[key] = list
	}
	return list, selected
}

// given are the nodes that a statement may give to a register.
func (g *graph) given(f *function, at int, reg string) []int {
	return g.collect(nil, []int{g.spot(f, at, reg)}, sided)
}

// reached is what is reached from an operand.
func (g *graph) reached(s source, v view) []int {
	nodes, from := g.begin(s)
	if len(nodes) == 0 && len(from) == 1 {
		if l := &g.ways.spots[from[0]]; l.all[v] == nil {
			all := g.collect(nil, from, v)
			g.ways.spots[from[0]].all[v] = all // spots may have grown
		}
		return g.ways.spots[from[0]].all[v]
	}
	return g.collect(nodes, from, v)
}

// collect gathers some nodes and those that are reached from some spots.
func (g *graph) collect(nodes, from []int, v view) []int {
	w := &g.ways
	w.walks++
	out := []int{} // never nil
	take := func(nodes []int) {
		for _, n := range nodes {
			for len(w.taken) <= n {
				w.taken = append(w.taken, 0)
			}
			if w.taken[n] != w.walks {
				w.taken[n] = w.walks
				out = append(out, n)
			}
		}
	}
	take(nodes)
	for todo := slices.Clone(from); len(todo) > 0; {
		k := todo[len(todo)-1]
		todo = todo[:len(todo)-1]
		if w.been[k] == w.walks {
			continue
		}
		w.been[k] = w.walks
		if all := w.spots[k].all[v]; all != nil {
			take(all)
			continue
		}
		if !w.spots[k].known[v] {
			nodes, from := g.look(w.spots[k].spot, v)
			l := &w.spots[k]
			l.known[v], l.nodes[v], l.from[v] = true, nodes, from
		}
		take(w.spots[k].nodes[v])
		todo = append(todo, w.spots[k].from[v]...)
	}
	slices.Sort(out)
	key := content(out)
	if list, ok := w.lists[key]; ok {
		return list
	}
	w.lists[key] = out
	return out
}

func content(list []int) string {
	out := make([]byte, 0, 4*len(list))
	for _, n := range list {
		out = binary.LittleEndian.AppendUint32(out, uint32(n))
	}
	return string(out)
}

// spot is a spot's number.
func (g *graph) spot(f *function, at int, text string) int {
	w, s := &g.ways, spot{f, at, text}
	k, ok := w.number[s]
	if !ok {
		k = len(w.spots)
		w.number[s], w.spots, w.been = k, append(w.spots, looked{spot: s}), append(w.been, 0)
	}
	return k
}

// begin is where an operand's ways begin: nodes, and spots.
func (g *graph) begin(s source) (nodes, from []int) {
	f, text := s.f, strings.TrimSpace(s.text)
	text = strings.TrimPrefix(text, "!")
	if text == "" || text == "_" {
		return nil, nil
	}
	if !f.reach.IsRegister(text) {
		if c := text[0]; c >= '0' && c <= '9' || c == '-' {
			return []int{g.leafOf(constant, number(text))}, nil
		}
		return []int{g.leafOf(special, text)}, nil
	}
	if reg, _, ok := strings.Cut(text, "|"); ok { // setp's %p|%q as a source is none
		text = reg
	}
	if !f.reach.Written(text) {
		if name := strings.SplitN(text[1:], ".", 2)[0]; isSpecial[name] {
			return []int{g.leafOf(special, text)}, nil
		}
		return nil, nil // never written: it holds anything
	}
	for _, d := range f.reach.Of(s.at, text) {
		from = append(from, g.spot(f, d, text))
	}
	return nil, from
}

// look finds what a spot may be, and where it has its value from.
func (g *graph) look(s spot, v view) (nodes, from []int) {
	follow := func(s source) {
		more, spots := g.begin(s)
		nodes, from = append(nodes, more...), append(from, spots...)
	}
	f, d, reg := s.f, s.at, s.text
	switch reg {
	case inLocal:
		for _, s := range f.local[d] {
			follow(s)
		}
		return nodes, from
	case argument:
		for _, s := range f.args[d] {
			follow(s)
		}
		return nodes, from
	case returned:
		for _, s := range f.ret {
			follow(s)
		}
		return nodes, from
	}
	if s, ok := f.half(d); ok {
		follow(s)
		return nodes, from
	}
	if n, ok := f.node[d]; ok {
		if g.nodes[n].kind == load {
			n += max(slices.Index(parts(f.ops[d][0]), reg), 0)
		}
		return []int{n}, nil
	}
	ops, name := f.ops[d], string(f.Base(d))
	switch {
	case name == "selp" && v == chosen:
		return []int{f.selects[d]}, nil
	case name == "selp":
		follow(source{f, d, ops[1]})
		follow(source{f, d, ops[2]})
	case through(name, ops):
		for _, p := range parts(ops[1]) {
			follow(source{f, d, p})
		}
	case name == "ld" && ptx.Space(f.Opcode(d)) == "local":
		return nil, []int{g.spot(f, f.vars.of(f, d, ops[1]), inLocal)}
	case name == "ld" && ptx.Space(f.Opcode(d)) == "param":
		return g.parameter(f, d, reg)
	default:
		return []int{g.leafOf(called, name)}, nil
	}
	return nodes, from
}

// parameter is look for a load from .param space: what the entry got, what a function is called
// with, what one returned.
func (g *graph) parameter(f *function, d int, reg string) (nodes, from []int) {
	name, offset := base(f.ops[d][1])
	for k := range f.Params {
		if f.Params[k].Name != name {
			continue
		}
		if f.Entry {
			part := slices.Index(parts(f.ops[d][0]), reg)
			return []int{g.leafOf(parameter, fmt.Sprintf("%d+%d", k,
				offset+part*width(f.Opcode(d))))}, nil
		}
		return nil, []int{g.spot(f, k, argument)}
	}
	for key, c := range f.calls { // results have names that no other call of the function has
		if c.arg >= 0 || !strings.HasSuffix(key, name) {
			continue
		}
		if to := g.byName[c.to]; to != nil {
			from = append(from, g.spot(to, 0, returned))
		} else {
			nodes = append(nodes, g.leafOf(called, c.to))
		}
	}
	return nodes, from
}
