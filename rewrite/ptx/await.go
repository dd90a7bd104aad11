package ptx

import (
	"fmt"
	"slices"
)

// Waiting for other blocks. Some kernels have a barrier of their own over the whole grid, or hand results from block to block through
// flags in global memory: a block spins until another one has done something. Such a launch ends only if the blocks that
// are waited for are resident too, so the number of resident blocks is part of the program, though nothing in CUDA says so.
//
// What is looked for is a loop that is left, or not, by what a load or an atomic on global memory returned: loads that
// must be done anew each time (volatile, relaxed, acquire, mmio, .cv, .cg; a plain one where a fence stands in the loop), and
// atomics. Two kinds of atomics wait for nobody: a compare-and-swap whose comparand is read anew in the loop, the usual
// retry (an atomic maximum, say), where who fails has been overtaken by one who succeeded; and additions of anything but 0, by
// which blocks take work from a queue. The answer errs on the side of waiting: a lock in global memory, which only
// a resident block can hold, counts, and so do look-backs, which wait for blocks that began earlier.

// Awaits says which instruction may make a block of this entry wait for another one, in it or in a function that it reaches; "" if
// none does. An error means that the code can't be followed.
func (m *Module) Awaits(entry string) (string, error) {
	r, err := m.Reach(entry)
	if err != nil {
		return "", err
	}
	// A call may bring back what a function polled.
	polling := make(map[string]bool)
	for _, f := range r.Funcs {
		polling[f.Name] = slices.ContainsFunc(stmts(f), func(i int) bool { return polls(f, i, false) })
	}
	for _, f := range r.Funcs {
		at, err := f.awaits(slices.ContainsFunc(r.Funcs, func(g *Func) bool { return g != f && polling[g.Name] }))
		if err != nil {
			return "", fmt.Errorf("%s: %w", f.Name, err)
		}
		if at >= 0 {
			return string(f.Opcode(at)), nil
		}
	}
	return "", nil
}

func stmts(f *Func) []int {
	out := make([]int, 0, len(f.Stmts))
	for i, s := range f.Stmts {
		if s.Kind == Inst {
			out = append(out, i)
		}
	}
	return out
}

// polls tells whether an instruction may see what another block has just written. fenced: plain loads count too.
func polls(f *Func, i int, fenced bool) bool {
	op := f.Opcode(i)
	has := func(words ...string) bool {
		return slices.ContainsFunc(words, func(w string) bool { return HasModifier(op, w) })
	}
	if has("shared", "shared::cta", "local", "param", "const", "nc") {
		return false
	}
	switch string(f.Base(i)) {
	case "atom":
		return true
	case "ld":
		return fenced || has("volatile", "relaxed", "acquire", "mmio", "cv", "cg")
	}
	return false
}

// awaits returns the first instruction of a function that a loop waits for, -1 if there is none. calls: a call may poll.
func (f *Func) awaits(calls bool) (int, error) {
	all := stmts(f)
	fences := func(i int) bool {
		op := f.Opcode(i)
		return string(f.Base(i)) == "membar" && !HasModifier(op, "cta") || string(f.Base(i)) == "fence" && !HasModifier(op, "cta")
	}
	fenced := slices.ContainsFunc(all, fences)
	if !slices.ContainsFunc(all, func(i int) bool { return polls(f, i, fenced) || calls && string(f.Base(i)) == "call" }) {
		return -1, nil
	}
	w, err := f.Flow()
	if err != nil {
		return -1, err
	}
	origins := f.Origins()
	for _, loop := range cycles(w.Blocks) {
		if at := w.awaits(loop, calls, fences, origins); at >= 0 {
			return at, nil
		}
	}
	return -1, nil
}

// awaits looks at one loop, given by its blocks in the order of the text.
func (w *Flow) awaits(loop []int, calls bool, fences func(int) bool, origins *Origins) int {
	f := w.f
	var body []int
	for _, b := range loop {
		for i := w.Blocks[b].First; i < w.Blocks[b].Last; i++ {
			if f.Stmts[i].Kind == Inst {
				body = append(body, i)
			}
		}
	}
	inside := make(map[int]bool, len(loop))
	for _, b := range loop {
		inside[b] = true
	}
	fenced := slices.ContainsFunc(body, fences)
	calls = calls && slices.ContainsFunc(body, func(i int) bool { return string(f.Base(i)) == "call" })
	// What any memory returned, and what follows from it: the comparand of a retry is of that kind.
	read := make(map[int32]int)
	for _, i := range body {
		if base := string(f.Base(i)); base == "ld" || base == "atom" {
			w.results(i, read)
		}
	}
	w.spread(body, read)
	from := make(map[int32]int) // register -> the instruction whose result it depends on
	for _, i := range body {
		back := calls && string(f.Base(i)) == "ld" && HasModifier(f.Opcode(i), "param")
		if back || polls(f, i, fenced) && !w.advances(i, read, origins) {
			w.results(i, from)
		}
	}
	w.spread(body, from)
	for _, b := range loop {
		leaves := slices.ContainsFunc(w.Blocks[b].Succs, func(s int) bool { return !inside[s] })
		for i := w.Blocks[b].First; i < w.Blocks[b].Last; i++ {
			switch base := string(f.Base(i)); {
			case leaves && (base == "bra" && f.Stmts[i].Guarded || base == "brx"), (base == "ret" || base == "exit") && f.Stmts[i].Guarded:
				for _, a := range w.Accesses(i) {
					if at, ok := from[a.Reg]; ok && a.Read {
						return at
					}
				}
			}
		}
	}
	return -1
}

// results enters the registers that an instruction writes.
func (w *Flow) results(i int, into map[int32]int) {
	for _, a := range w.Accesses(i) {
		if _, ok := into[a.Reg]; a.Write && !ok {
			into[a.Reg] = i
		}
	}
}

// spread adds what is computed from registers of a set, in a loop's instructions, until nothing more is.
func (w *Flow) spread(body []int, set map[int32]int) {
	for grown := len(set) > 0; grown; {
		grown = false
		for _, i := range body {
			source, found := 0, false
			for _, a := range w.Accesses(i) {
				if at, ok := set[a.Reg]; ok && a.Read {
					source, found = at, true
				}
			}
			if !found {
				continue
			}
			for _, a := range w.Accesses(i) {
				if _, ok := set[a.Reg]; a.Write && !ok {
					set[a.Reg], grown = source, true
				}
			}
		}
	}
}

// advances tells the atomics that wait for nobody: a compare-and-swap whose comparand was read in the loop (a lock is compared with
// what stands for free), and additions of something.
func (w *Flow) advances(i int, read map[int32]int, origins *Origins) bool {
	f := w.f
	op, ops := f.Opcode(i), f.Operands(i, nil)
	switch {
	case string(f.Base(i)) != "atom" || len(ops) < 3:
		return false
	case HasModifier(op, "inc"), HasModifier(op, "dec"):
		return true
	case HasModifier(op, "add"):
		n, known := origins.Constant(string(f.Bytes(ops[2])))
		return !known || n != 0
	case HasModifier(op, "cas"):
		for _, a := range w.Accesses(i) {
			if a.Read && a.At.Start >= ops[2].Start && a.At.End <= ops[2].End {
				_, ok := read[a.Reg]
				return ok
			}
		}
	}
	return false
}

// cycles returns the strongly connected components that have a way around (Tarjan, SIAM J. Comput. 1972), each sorted; without
// recursion, since bodies may have a hundred thousand blocks.
func cycles(blocks []Block) [][]int {
	const none = -1
	number, low := make([]int, len(blocks)), make([]int, len(blocks))
	for i := range number {
		number[i] = none
	}
	on := make([]bool, len(blocks))
	var stack []int
	var out [][]int
	type visit struct{ block, next int }
	count := 0
	for start := range blocks {
		if number[start] != none {
			continue
		}
		path := []visit{{start, 0}}
		for len(path) > 0 {
			v := &path[len(path)-1]
			b := v.block
			if v.next == 0 {
				number[b], low[b] = count, count
				count++
				stack, on[b] = append(stack, b), true
			}
			if v.next < len(blocks[b].Succs) {
				s := blocks[b].Succs[v.next]
				v.next++
				if number[s] == none {
					path = append(path, visit{s, 0})
				} else if on[s] {
					low[b] = min(low[b], number[s])
				}
				continue
			}
			path = path[:len(path)-1]
			if len(path) > 0 {
				up := path[len(path)-1].block
				low[up] = min(low[up], low[b])
			}
			if low[b] != number[b] {
				continue
			}
			at := len(stack) - 1
			for stack[at] != b {
				at--
			}
			part := slices.Clone(stack[at:])
			stack = stack[:at]
			for _, x := range part {
				on[x] = false
			}
			if len(part) > 1 || slices.Contains(blocks[b].Succs, b) {
				slices.Sort(part)
				out = append(out, part)
			}
		}
	}
	return out
}
