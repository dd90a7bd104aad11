package ptx

import "fmt"

// The control flow of a body: basic blocks over the flat list of statements. Calls return and do
// not end a block.

// A Block is a run of statements that is entered only at its beginning.
type Block struct {
	First, Last int // statements [First, Last)
	Succs       []int
}

// Onward says of each block whether some way leads to it from one of these, which count as well. A
// way ends at a block that is barred; nil: none is.
func Onward(blocks []Block, from []int, barred func(block int) bool) []bool {
	reached := make([]bool, len(blocks))
	for todo := append([]int(nil), from...); len(todo) > 0; {
		b := todo[len(todo)-1]
		todo = todo[:len(todo)-1]
		if !reached[b] {
			if reached[b] = true; barred != nil && barred(b) {
				continue
			}
			todo = append(todo, blocks[b].Succs...)
		}
	}
	return reached
}

// scopes returns for each statement the index of the Open statement around it (-1: the body
// itself). An Open and its Close belong to the outer scope.
func (f *Func) scopes() []int {
	out := make([]int, len(f.Stmts))
	current := []int{-1}
	for i, s := range f.Stmts {
		if s.Kind == Close {
			current = current[:len(current)-1]
		}
		out[i] = current[len(current)-1]
		if s.Kind == Open {
			current = append(current, i)
		}
	}
	return out
}

// Blocks cuts the body into basic blocks; the first one is the entry. A label that a branch names
// and that is not in sight, or that stands twice in one scope, is an error.
func (f *Func) Blocks() ([]Block, error) {
	type key struct {
		scope int
		name  string
	}
	scope := f.scopes()
	labels := make(map[key]int)
	for i, s := range f.Stmts {
		if s.Kind != Label {
			continue
		}
		k := key{scope[i], string(f.Opcode(i))}
		if _, ok := labels[k]; ok {
			return nil, fmt.Errorf("ptx: %s: label %s is given twice", f.Name, k.name)
		}
		labels[k] = i
	}
	find := func(i int, name string) (int, error) {
		for sc := scope[i]; ; sc = scope[sc] {
			if at, ok := labels[key{sc, name}]; ok {
				return at, nil
			}
			if sc < 0 {
				return 0, fmt.Errorf("ptx: %s: no label %s for the branch in statement %d", f.Name, name, i)
			}
		}
	}
	leader := make([]bool, len(f.Stmts)+1)
	targets := make(map[int][]int)
	var ops []Span
	for i, s := range f.Stmts {
		if s.Kind == Label {
			leader[i] = true
		}
		if s.Kind != Inst || !f.Leaves(i) {
			continue
		}
		leader[i+1] = true
		ops = f.Operands(i, ops[:0])
		to, err := f.branch(i, ops, find)
		if err != nil {
			return nil, err
		}
		if to != nil {
			targets[i] = to
		}
	}
	var blocks []Block
	in := make([]int, len(f.Stmts)+1)
	for i := range f.Stmts {
		if i == 0 || leader[i] {
			blocks = append(blocks, Block{First: i})
		}
		in[i] = len(blocks) - 1
		blocks[len(blocks)-1].Last = i + 1
	}
	// the common backing of all Succs; a large jump table makes a new one
	edges := make([]int, 0, 2*len(blocks))
	for n := range blocks {
		b := &blocks[n]
		from := len(edges)
		last := b.Last - 1
		s := f.Stmts[last]
		if s.Kind == Inst && f.Leaves(last) {
			for _, at := range targets[last] {
				edges = append(edges, in[at])
			}
		}
		if (s.Kind != Inst || s.Guarded || !f.Leaves(last)) && n+1 < len(blocks) {
			edges = append(edges, n+1)
		}
		b.Succs = edges[from:len(edges):len(edges)]
	}
	return blocks, nil
}

// branch lists the labels that an instruction may branch to; find finds one by its name.
func (f *Func) branch(i int, ops []Span,
	find func(i int, name string) (int, error)) ([]int, error) {
	switch string(f.Base(i)) {
	case "bra":
		if len(ops) != 1 {
			return nil, fmt.Errorf("ptx: %s: bra with %d operands", f.Name, len(ops))
		}
		at, err := find(i, string(f.Bytes(ops[0])))
		return []int{at}, err
	case "brx":
		if len(ops) != 2 {
			return nil, fmt.Errorf("ptx: %s: brx with %d operands", f.Name, len(ops))
		}
		at, err := find(i, string(f.Bytes(ops[1])))
		if err != nil {
			return nil, err
		}
		if at+1 >= len(f.Stmts) || string(f.Opcode(at+1)) != ".branchtargets" {
			return nil, fmt.Errorf("ptx: %s: no .branchtargets behind %s", f.Name, f.Bytes(ops[1]))
		}
		var targets []int
		for _, o := range f.Operands(at+1, nil) {
			to, err := find(i, string(f.Bytes(o)))
			if err != nil {
				return nil, err
			}
			targets = append(targets, to)
		}
		return targets, nil
	}
	return nil, nil
}

// Leaves reports whether an instruction may go elsewhere than to the next one. trap ends the
// grid.
func (f *Func) Leaves(i int) bool {
	switch string(f.Base(i)) {
	case "bra", "brx", "ret", "exit", "trap":
		return true
	}
	return false
}
