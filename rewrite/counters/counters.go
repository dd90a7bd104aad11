package counters

import (
	"fmt"

	"gnvcc/rewrite/ptx"
	"gnvcc/rewrite/ptx/ir"
)

// Counters are the basic blocks of a kernel, in its PTX, and of the functions that it calls, then
// both outcomes of each choice in them. Each has a counter.
type Counters []Block

// A Block is a basic block of the kernel, or of a function, or an outcome of a choice in it.
type Block struct {
	*ptx.Func
	ptx.Block
	// a statement that a predicate decides: a conditional branch, selp, one under a guard; 0: what is
	// counted is the block
	Choice int
	Holds  bool // the outcome: the branch is taken, selp gives its first operand, the statement runs

	predicate string // under which that is so: "%p1", "!%p1"
}

// Of lists a kernel's counters.
func Of(m *ptx.Module, kernel string) (c Counters, err error) {
	reach, err := m.Reach(kernel)
	if err != nil {
		return nil, err
	}
	functions := []*ptx.Func{m.Entry(kernel)}
	for _, f := range reach.Funcs {
		if f.Body && !f.Entry {
			functions = append(functions, f)
		}
	}
	var choices Counters
	for _, f := range functions {
		w, err := ir.Of(f)
		if err != nil {
			return nil, err
		}
		for n, b := range w.Blocks {
			c = append(c, Block{Func: f, Block: b})
			for i := b.First; i < b.Last; i++ {
				if p := Predicate(w, i); p != "" {
					not := "!" + p
					if p[0] == '!' {
						not = p[1:]
					}
					choices = append(choices, Block{f, w.Blocks[n], i, true, p}, Block{f, w.Blocks[n], i, false, not})
				}
			}
		}
	}
	return append(c, choices...), nil
}

// Predicate is that under which a statement runs, or which selp selects by: "%p1", "!%p1"; "" where
// there is none.
func Predicate(w *ir.Func, i int) string {
	x := w.Inst(i)
	switch list := w.Accesses(i); {
	case w.Stmts[i].Kind != ptx.Inst || i == 0:
	case w.Stmts[i].Guarded && len(list) > 0:
		name := string(w.Bytes(list[0].At))
		if x.Unless {
			name = "!" + name
		}
		return name
	case x.Op == "selp" && len(x.Args) == 4 && x.Args[3].Reg != ir.None:
		return string(w.Bytes(x.Args[3].At))
	}
	return ""
}

// note is the text that marks an outcome, in front of the choice.
func (b Block) note(n int) string {
	return fmt.Sprintf("@%s st.global.u64 [%%gnvcc_ct+%d], %%gnvcc_co;", b.predicate, 8*n)
}
