package demote

import (
	"math"
	"slices"

	"gnvcc/rewrite/ptx"
	"gnvcc/rewrite/ptx/dataflow"
)

// Demotion, the first half: which values.
//
// RegDem ranks physical registers, each of which holds values all through the kernel. In PTX there
// is one register a value, and a ranking of all of them would pick short temporaries, which ptxas
// gives a register that is free just then. So values are chosen one after the other among those
// that are live across the point where most words are live, and after each choice that point is
// looked for anew. Of these, only such are taken as are live at many of the points that have to
// come down, at least at half as many as the best of them; among them the strategy decides.
//
// No register is won by values that ptxas has without one: parameters, constants and plain copies
// of them count nothing. Values that are the same in all threads of a block have registers of their
// own (uniform registers, since sm_75): they are taken last.

// maxLoops bounds the exponent of loop weights: the eighth loop counts no more.
const maxLoops = 7

// loopWeight is what an access counts for each loop around it (RegDem, section 3.4.3).
const loopWeight = 10

// A candidate is a register that may be demoted.
type candidate struct {
	reg      int32
	words    int
	uniform  bool
	cost     float64 // by the strategy: lower ones are taken first
	list     []dataflow.Access
	spans    [][2]int // statements [from, to) in front of which it is live
	covers   int      // of them, those that have to come down
	conflict bool     // it shares an instruction with one that was taken
}

// chooseDemoted returns registers of so many words together, fewer where there are no more.
func chooseDemoted(f *ptx.Func, flow *dataflow.Flow, words int, strategy string) []int32 {
	free, uniform := cheap(f, flow)
	all := candidates(f, flow, free, uniform)
	rank(flow, all, strategy)
	pressure := flow.Pressure(func(r int32) int {
		if free[r] {
			return 0
		}
		return flow.Words(r)
	})
	var out []int32
	near := make([]int32, len(pressure)+1) // sums: how many of the points so far have to come down
	for given := 0; words > 0 && given < 2*Most; {
		peak := 0
		for i, n := range pressure {
			if n > pressure[peak] {
				peak = i
			}
		}
		if len(pressure) == 0 || pressure[peak] <= 0 {
			break
		}
		for i, n := range pressure {
			near[i+1] = near[i]
			if n > pressure[peak]-int32(words) {
				near[i+1]++
			}
		}
		best := pick(flow, all, peak, words, near, strategy == "conflicts")
		if best == nil { // all that is live there is used there, or must stay
			pressure[peak] = 0
			given++
			continue
		}
		out = append(out, best.reg)
		words -= best.words
		flow.Range(best.reg, best.list, func(i int) {
			if pressure[i] > 0 && !reads(flow, i, best.reg) {
				pressure[i] -= int32(best.words)
			}
		})
		delete(all, best.reg)
		if strategy == "conflicts" {
			for _, a := range best.list {
				for _, o := range flow.Accesses(int(a.Stmt)) {
					if c := all[o.Reg]; c != nil {
						c.conflict = true
					}
				}
			}
		}
	}
	return out
}

// pick returns the best candidate that is live across a statement, nil if there is none.
func pick(flow *dataflow.Flow, all map[int32]*candidate, peak, words int, near []int32,
	conflicts bool) *candidate {
	var list []*candidate
	most := 0
	for _, r := range flow.Live(peak) {
		c := all[r]
		if c == nil || c.words > words || touches(flow, peak, r) {
			continue
		}
		if c.spans == nil {
			flow.Range(r, c.list, func(i int) {
				switch n := len(c.spans); {
				case n > 0 && c.spans[n-1][1] == i:
					c.spans[n-1][1]++
				case n > 0 && c.spans[n-1][0] == i+1: // within a block backwards
					c.spans[n-1][0]--
				default:
					c.spans = append(c.spans, [2]int{i, i + 1})
				}
			})
		}
		c.covers = 0
		for _, s := range c.spans {
			c.covers += int(near[s[1]] - near[s[0]])
		}
		most = max(most, c.covers)
		list = append(list, c)
	}
	var best *candidate
	for _, c := range list {
		if 2*c.covers >= most && (best == nil || less(c, best, conflicts)) {
			best = c
		}
	}
	return best
}

// less tells whether a is to be taken before b.
func less(a, b *candidate, conflicts bool) bool {
	switch {
	case a.uniform != b.uniform:
		return b.uniform
	case conflicts && a.conflict != b.conflict:
		return b.conflict
	case a.cost != b.cost:
		return a.cost < b.cost
	case a.words != b.words:
		return a.words > b.words
	case a.covers != b.covers:
		return a.covers > b.covers
	}
	return a.reg < b.reg
}

func touches(flow *dataflow.Flow, stmt int, reg int32) bool {
	for _, a := range flow.Accesses(stmt) {
		if a.Reg == reg {
			return true
		}
	}
	return false
}

func reads(flow *dataflow.Flow, stmt int, reg int32) bool {
	for _, a := range flow.Accesses(stmt) {
		if a.Reg == reg && (a.Read || a.Kept) {
			return true
		}
	}
	return false
}

// candidates are the registers of 32 and 64 bits that are written and read, by instructions that
// are known well.
func candidates(f *ptx.Func, flow *dataflow.Flow, free, uniform []bool) map[int32]*candidate {
	type sum struct {
		count         int32
		read, written bool
		never         bool
	}
	sums := make([]sum, flow.Registers())
	for i, s := range f.Stmts {
		if s.Kind != ptx.Inst {
			continue
		}
		list := flow.Accesses(i)
		if len(list) == 0 {
			continue
		}
		known := demotable(string(f.Base(i))) && !ptx.HasModifier(f.Opcode(i), "cc")
		for _, a := range list {
			x := &sums[a.Reg]
			x.count++
			x.read, x.written = x.read || a.Read, x.written || a.Write
			x.never = x.never || !known || a.Read && a.Write
		}
	}
	all := make(map[int32]*candidate)
	for r := range sums {
		reg := int32(r)
		if x := sums[r]; x.read && x.written && !x.never && !free[r] &&
			fullWords(flow.Type(reg)) == flow.Words(reg) {
			all[reg] = &candidate{reg: reg, words: flow.Words(reg), uniform: uniform[r],
				list: make([]dataflow.Access, 0, x.count)}
		}
	}
	for i := range f.Stmts {
		for _, a := range flow.Accesses(i) {
			if c := all[a.Reg]; c != nil {
				c.list = append(c.list, a)
			}
		}
	}
	return all
}

// fullWords is the number of words of a type that may be demoted, -1 for others. Vectors have more
// than their type.
func fullWords(kind string) int {
	switch kind {
	case "b32", "u32", "s32", "f32":
		return 1
	case "b64", "u64", "s64", "f64":
		return 2
	}
	return -1
}

// demotable tells of the instructions whose registers may be demoted: those that are done with
// their operands when the next instruction begins, as PTX sees it.
func demotable(word string) bool {
	switch word {
	case "ld", "st", "ldu", "prefetch", "atom", "red", "brx", "shfl", "vote", "match", "tex", "tld4",
		"suld", "sust":
		return true
	}
	return dataflow.Computes(word)
}

// rank works out what taking each candidate costs.
func rank(flow *dataflow.Flow, all map[int32]*candidate, strategy string) {
	weight := make([]float64, len(flow.Blocks))
	for b := range weight {
		weight[b] = math.Pow(loopWeight, float64(min(flow.Loops[b], maxLoops)))
	}
	for _, c := range all {
		c.cost = 0
		b := 0
		for _, a := range c.list {
			for flow.Blocks[b].Last <= int(a.Stmt) {
				b++
			}
			switch strategy {
			case "static":
				c.cost++
			case "loops":
				c.cost += weight[b]
			case "conflicts":
				for _, o := range flow.Accesses(int(a.Stmt)) {
					if o.Reg != c.reg && all[o.Reg] != nil {
						c.cost++
					}
				}
			}
		}
	}
}

// cheap finds the registers that need none on the machine (parameters, constants, plain copies of
// them) and those that are the same in all threads of a block as far as their operands go. Both are
// used to rank only.
func cheap(f *ptx.Func, flow *dataflow.Flow) (free, uniform []bool) {
	n := flow.Registers()
	free, uniform = slices.Repeat([]bool{true}, n), slices.Repeat([]bool{true}, n)
	written := make([]bool, n)
	for i := range f.Stmts { // what is written in several places is no copy of one thing
		for _, a := range flow.Accesses(i) {
			if a.Write {
				free[a.Reg] = free[a.Reg] && !written[a.Reg]
				written[a.Reg] = true
			}
		}
	}
	for round, changed := 0, true; changed && round < 8; round++ {
		changed = false
		for i, s := range f.Stmts {
			if s.Kind != ptx.Inst {
				continue
			}
			list := flow.Accesses(i)
			copies, same := origin(f, i, list)
			for _, a := range list {
				if a.Read {
					copies, same = copies && free[a.Reg], same && uniform[a.Reg]
				}
			}
			for _, a := range list {
				if r := a.Reg; a.Write && (free[r] && !copies || uniform[r] && !same) {
					free[r], uniform[r], changed = free[r] && copies, uniform[r] && same, true
				}
			}
		}
	}
	return free, uniform
}

// sameInBlock are the special registers that all threads of a block read the same from.
var sameInBlock = map[string]bool{
	"%ctaid.x": true, "%ctaid.y": true, "%ctaid.z": true, "%ntid.x": true, "%ntid.y": true,
	"%ntid.z":   true,
	"%nctaid.x": true, "%nctaid.y": true, "%nctaid.z": true,
}

// origin says of an instruction whether it copies only (its result is as cheap as its operands),
// and whether it gives all threads of a block the same where its operands are the same.
func origin(f *ptx.Func, i int, list []dataflow.Access) (copies, same bool) {
	op := f.Opcode(i)
	switch string(f.Base(i)) {
	case "ld":
		param := ptx.HasModifier(op, "param")
		return param, param || ptx.HasModifier(op, "const")
	case "mov":
		plain := true
		for _, o := range f.Operands(i, nil)[1:] {
			f.Names(o, func(n ptx.Span) bool {
				if f.Bytes(n)[0] == '%' && !slices.ContainsFunc(list, func(a dataflow.Access) bool {
					return a.At == n
				}) {
					plain = plain && sameInBlock[string(f.Bytes(n))]
				}
				return plain
			})
		}
		return plain, plain
	case "cvta":
		return true, true
	case "add", "sub", "mul", "mad", "min", "max", "and", "or", "xor", "not", "neg", "shl", "shr",
		"lop3", "shf", "prmt", "selp", "setp", "bfe", "bfi", "abs":
		// there are no uniform ones before sm_100
		float := ptx.HasModifier(op, "f32") || ptx.HasModifier(op, "f64")
		return false, !float
	case "cvt":
		return false, true
	}
	return false, false
}
