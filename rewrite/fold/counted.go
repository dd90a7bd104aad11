package fold

import (
	"slices"

	"gnvcc/graph"
	"gnvcc/rewrite/ptx"
	"gnvcc/rewrite/ptx/dataflow"
)

// Counted tells whether a kernel, or what it calls, may have a loop whose turns ptxas can count
// before it unrolls any: one that is left by what is computed of numbers alone.
func Counted(m *ptx.Module, entry string) bool {
	reached, err := m.Reach(entry)
	if err != nil {
		return true
	}
	for _, f := range reached.Funcs {
		if !f.Body {
			continue
		}
		reach, err := dataflow.ReachingOf(f)
		if err != nil {
			return true
		}
		after := dataflow.Successors(reach.Blocks)
		for _, l := range graph.Loops(after) {
			for _, b := range l.Body {
				leaves := slices.ContainsFunc(after[b], func(to int) bool {
					return !slices.Contains(l.Body, to)
				})
				if leaves && ofNumbers(f, reach, reach.Blocks[b].Last-1) {
					return true
				}
			}
		}
	}
	return false
}

// ofNumbers tells whether what a statement reads may follow from numbers alone: nothing of an
// argument, of the thread, of memory that nobody here stores to.
func ofNumbers(f *ptx.Func, reach *dataflow.Reaching, from int) bool {
	seen, todo := map[int]bool{from: true}, []int{from}
	stores := slices.ContainsFunc(slices.Collect(statements(f)), func(i int) bool {
		return string(f.Base(i)) == "st" && ptx.Space(f.Opcode(i)) != "param"
	})
	for len(todo) > 0 {
		i := todo[len(todo)-1]
		todo = todo[:len(todo)-1]
		switch base, space := string(f.Base(i)), ptx.Space(f.Opcode(i)); {
		case base == "ld" && space == "param" && !f.Entry:
		case base == "ld" && (space == "param" || space == "const" || !stores):
			return false
		case base == "ld", i == from, base == "mov", dataflow.Computes(base):
		default:
			return false
		}
		numbers := true
		f.Effects(i, func(n ptx.Span, read, _ bool) {
			name := string(f.Bytes(n))
			if !read || !numbers {
				return
			}
			if !reach.Written(name) {
				numbers = name[0] != '%'
				return
			}
			for _, d := range reach.Of(i, name) {
				if !seen[d] {
					seen[d] = true
					todo = append(todo, d)
				}
			}
		})
		if !numbers {
			return false
		}
	}
	return true
}

// statements are a function's instructions.
func statements(f *ptx.Func) func(yield func(i int) bool) {
	return func(yield func(i int) bool) {
		for i, s := range f.Stmts {
			if s.Kind == ptx.Inst && !yield(i) {
				return
			}
		}
	}
}
