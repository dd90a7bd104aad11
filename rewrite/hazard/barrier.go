package hazard

import (
	"bytes"
	"slices"
	"strings"

	"gnvcc/rewrite/ptx/ir"
)

// barriers looks for barriers of the block on one side of a branch of which threads of one
// block take both sides, where those of the other side come to the place behind it without one
// (Li's thesis, 7.3.4; CUDA programming guide, __syncthreads).
//
// Only conditions on constants and the thread's index are judged: they are worked out for each thread
// of blocks of 256 in a few shapes. Threads that end are no trouble: a barrier waits for those that are left.
func (k *kernelView) barriers() {
	first := map[int]int{} // by block: its first barrier
	for i := len(k.Stmts) - 1; i >= 0; i-- {
		if k.blockBarrier(i) && !k.Stmts[i].Guarded {
			first[k.Block(i)] = i
		}
	}
	has := func(b int) bool { return first[b] > 0 }
	for b := range k.Blocks {
		if len(first) == 0 {
			return
		}
		branch, meet := k.Branch(b), k.Meet(b)
		if branch < 0 || len(k.Blocks[b].Succs) != 2 || meet >= len(k.Blocks) || k.ends(meet) || !k.differs(k.Inst(branch).Guard) {
			continue
		}
		for side, one := range k.Blocks[b].Succs {
			other := k.Blocks[b].Succs[1-side]
			// A way of the other threads without a barrier, and none of these: nor a loop that comes round.
			past := func(v int) bool { return v != meet && (has(v) || v == b) }
			if !k.Reaches([]int{other}, meet, past) || other != meet && has(other) ||
				one == meet || !has(one) && k.Reaches([]int{one}, meet, func(v int) bool { return v != meet && has(v) }) ||
				k.Reaches([]int{one}, b, func(v int) bool { return v == meet }) {
				continue
			}
			for _, v := range k.Apart(b) {
				where := k.line(first[v])
				told := slices.ContainsFunc(k.found, func(p placed) bool { // a line that is inlined often, once
					return p.Class == Divided && p.Where == where && where != ""
				})
				if has(v) && !told && (v == one || k.Reaches([]int{one}, v, func(v int) bool { return v == meet })) {
					k.tell(first[v], Divided, "only some threads of a block of 256 come to this barrier, the branch"+at(k.line(branch))+
						" sends the others past it: those that wait, wait for ever, or meet others at the wrong barrier",
						"move __syncthreads() out of the condition")
					break
				}
			}
		}
	}
}

// ends reports whether a block only ends the function.
func (k *kernelView) ends(block int) bool {
	for i := k.Blocks[block].First; i < k.Blocks[block].Last; i++ {
		if op := k.Inst(i).Op; op != "" {
			return op == "ret" || op == "exit"
		}
	}
	return false
}

// shapes are the blocks that conditions are worked out for, all of 256 threads: in each they must differ;
// the first is for kernels that don't ask for a second dimension.
var shapes = [][3]int64{{256, 1, 1}, {32, 8, 1}, {16, 16, 1}}

// differs reports whether a predicate is true for some threads of a block and false for others.
func (k *kernelView) differs(predicate ir.Reg) bool {
	if n, _ := k.Threads(); n > 0 && n < 256 {
		return false // smaller than these blocks
	}
	all := shapes
	if !bytes.Contains(k.Text(), []byte("%tid.y")) {
		all = all[:1]
	}
	for _, s := range all {
		var seen [2]bool
		for n := range s[0] * s[1] * s[2] {
			v, ok := k.evaluate(ir.Operand{Reg: predicate}, [3]int64{n % s[0], n / s[0] % s[1], n / s[0] / s[1]}, s, 12)
			if !ok {
				return false
			}
			seen[min(v&1, 1)] = true
		}
		if !seen[0] || !seen[1] {
			return false
		}
	}
	return true
}

// evaluate works an operand out for one thread of a block.
func (k *kernelView) evaluate(o ir.Operand, tid, ntid [3]int64, depth int) (int64, bool) {
	if o.Reg == ir.None {
		name, axis, _ := strings.Cut(o.Text, ".")
		switch at := strings.Index("xyz", axis); {
		case name == "%tid" && at >= 0:
			return tid[at], true
		case name == "%ntid" && at >= 0:
			return ntid[at], true
		case name == "%laneid":
			return (tid[0] + ntid[0]*(tid[1]+ntid[1]*tid[2])) % 32, true
		}
		return ir.Literal(o.Text)
	}
	i := k.Sole(o.Reg)
	if i < 0 || depth == 0 {
		return 0, false
	}
	x := k.Inst(i)
	if len(x.Args) < 2 || x.Args[0].Reg != o.Reg {
		return 0, false
	}
	var in []int64
	for _, a := range x.Args[1:] {
		v, ok := k.evaluate(a, tid, ntid, depth-1)
		if !ok {
			return 0, false
		}
		in = append(in, v)
	}
	return x.Compute(in...)
}
