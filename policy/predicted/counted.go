package predicted

import (
	"bytes"
	"errors"

	"gnvcc/cache"
	"gnvcc/rewrite/counters"
	"gnvcc/rewrite/ptx"
	"gnvcc/sim"
	"gnvcc/sim/cubin"
	"gnvcc/sim/predict"
	"gnvcc/sim/sass"
)

// From what a build with counters has counted to how often machine code runs: counts are by the
// blocks of nvcc's own PTX, ptxas says from which of its lines each instruction comes.

// Recorded puts a launch's counts to a build of its kernel. code is the build with lines, text its
// PTX, whose blocks must be those that were counted.
func Recorded(code, text []byte, kernel string, c *cache.Counts,
	shape sim.Shape) (*predict.Recorded, error) {
	lines, err := cubin.ReadPTXLines(code, kernel)
	if err != nil {
		return nil, err
	}
	m, err := ptx.Parse(text)
	if err != nil {
		return nil, err
	}
	counters, err := counters.CountersOf(m, kernel)
	if err != nil {
		return nil, err
	}
	n := len(counters.Accesses)
	if len(c.Blocks) != counters.Blocks || len(c.Sectors) != n || len(c.L2) != n ||
		len(c.Memory) != n || len(c.Lines) != n {
		return nil, errors.New("counts of another code")
	}
	warps := float64(shape.WarpsPerBlock()) * float64(shape.Blocks)
	if warps < 1 {
		return nil, errors.New("counts of a launch whose size is not known")
	}
	each := func(counts []uint64, i int) float64 {
		if i >= len(counts) {
			return 0
		}
		return float64(counts[i]) / warps
	}
	out := &predict.Recorded{Unwritten: len(c.Written) != n}
	at := statements(m, kernel, counters, out)
	for i := range out.Blocks {
		out.Blocks[i].Runs = each(c.Blocks, i)
	}
	access, shared := map[place]*predict.Access{}, map[place]*predict.Access{}
	for i, a := range counters.Accesses {
		x := &predict.Access{Runs: out.Blocks[a.Block].Runs, Store: a.Store, Sectors: each(c.Sectors, i),
			L2: each(c.L2, i), Memory: each(c.Memory, i), Lines: each(c.Lines, i)}
		if !out.Unwritten {
			x.Written = each(c.Written, i)
		}
		access[place{a.Func, a.Stmt}] = x
		out.Accesses = append(out.Accesses, x)
	}
	for i, a := range counters.Shared {
		if len(c.Turns) == len(counters.Shared) { // else an older record, or another machine's
			shared[place{a.Func, a.Stmt}] = &predict.Access{Runs: out.Blocks[a.Block].Runs,
				Turns: each(c.Turns, i)}
		}
	}
	function, err := sass.Find(code, kernel)
	if err != nil {
		return nil, err
	}
	if len(function.Insts) != len(lines) {
		return nil, errors.New("its lines are of another code")
	}
	for k, line := range lines {
		class := function.Insts[k].Class()
		s, ok := at[line]
		if !ok {
			s = statement{block: -1, index: -1}
		}
		o := predict.Origin{Block: s.block, Statement: s.index, Calls: s.calls,
			Plain: s.plain != sass.Unknown && s.plain == class}
		if class == sass.Load || class == sass.Store || class == sass.Atomic {
			o.Access, o.Shared = access[s.place], shared[s.place]
		}
		out.Insts = append(out.Insts, o)
	}
	return out, nil
}

// A place is a statement of a function.
type place struct {
	f    *ptx.Func
	stmt int
}

// A statement is an instruction of the PTX: its block, and a number of its own.
type statement struct {
	place
	index, block int
	plain        sass.Class
	calls        bool
}

// statements finds the instructions of a kernel, and of what it calls, by their lines in the
// module's text, and notes which blocks are of called functions.
func statements(m *ptx.Module, kernel string, c counters.Counters,
	to *predict.Recorded) map[int]statement {
	text := m.Bytes()
	out := map[int]statement{}
	var f *ptx.Func
	start, line, at, index := 0, 1, 0, 0
	c.Every(func(n int, b counters.Block) {
		if b.Func != f {
			f = b.Func
			start = bytes.Index(text, f.Text())
			line, at = 1+bytes.Count(text[:start], []byte{'\n'}), start
		}
		to.Blocks = append(to.Blocks, predict.Counted{Called: f.Name != kernel})
		for i := b.Block.First; i < b.Last; i++ {
			next := start + int(f.Stmts[i].Start)
			line += bytes.Count(text[at:next], []byte{'\n'})
			at = next
			if _, twice := out[line]; !twice && f.Stmts[i].Kind == ptx.Inst {
				out[line] = statement{place{f, i}, index, n, plain(f, i),
					string(f.Base(i)) == "call"}
				index++
			}
		}
	})
	return out
}

// plain is the class of the one instruction that a statement becomes wherever ptxas puts it (beside
// those that make its address, say), Unknown where there is no such.
func plain(f *ptx.Func, i int) sass.Class {
	op := f.Opcode(i)
	switch string(f.Base(i)) {
	case "ld":
		if !ptx.HasModifier(op, "param") && !ptx.HasModifier(op, "const") {
			return sass.Load
		}
	case "st":
		if !ptx.HasModifier(op, "param") {
			return sass.Store
		}
	case "atom", "red":
		return sass.Atomic
	case "fma", "add", "sub", "mul":
		if ptx.HasModifier(op, "f32") {
			return sass.FP32
		}
		if ptx.HasModifier(op, "f64") {
			return sass.FP64
		}
	}
	return sass.Unknown
}
