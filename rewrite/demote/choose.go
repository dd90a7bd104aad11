package demote

import (
	"math"
	"slices"
	"strings"

	"gnvcc/rewrite/ptx"
	"gnvcc/rewrite/ptx/ir"
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
	reg      ir.Reg
	words    int
	uniform  bool
	cost     float64 // by the strategy: lower ones are taken first
	list     []ir.Access
	spans    [][2]int // statements [from, to) in front of which it is live
	covers   int      // of them, those that have to come down
	conflict bool     // it shares an instruction with one that was taken
}

// chooseDemoted returns registers of so many words together, fewer where there are no more.
func chooseDemoted(flow *ir.Func, words int, strategy string) []ir.Reg {
	free, uniform := cheap(flow)
	all := candidates(flow, free, uniform)
	rank(flow, all, strategy)
	pressure := flow.Pressure(func(r ir.Reg) int {
		if free[r] {
			return 0
		}
		return flow.Words(r)
	})
	var out []ir.Reg
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
func pick(flow *ir.Func, all map[ir.Reg]*candidate, peak, words int, near []int32,
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

// less reports whether a is to be taken before b.
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

func touches(flow *ir.Func, stmt int, reg ir.Reg) bool {
	return flow.Reads(stmt, reg) || flow.Writes(stmt, reg)
}

func reads(flow *ir.Func, stmt int, reg ir.Reg) bool {
	return slices.ContainsFunc(flow.Accesses(stmt), func(a ir.Access) bool {
		return a.Reg == reg && (a.Read || a.Kept)
	})
}

// candidates are the registers of 32 and 64 bits that are written and read, by instructions that
// are known well.
func candidates(flow *ir.Func, free, uniform []bool) map[ir.Reg]*candidate {
	type sum struct {
		count         int32
		read, written bool
		never         bool
	}
	sums := make([]sum, flow.Registers())
	for i := range flow.Stmts {
		known := demotable(flow.Inst(i).Op) && !flow.Inst(i).Has("cc")
		for _, a := range flow.Accesses(i) {
			x := &sums[a.Reg]
			x.count++
			x.read, x.written = x.read || a.Read, x.written || a.Write
			x.never = x.never || !known || a.Read && a.Write
		}
	}
	all := make(map[ir.Reg]*candidate)
	for r := range sums {
		reg := ir.Reg(r)
		if x := sums[r]; x.read && x.written && !x.never && !free[r] &&
			fullWords(flow.Type(reg)) == flow.Words(reg) {
			all[reg] = &candidate{reg: reg, words: flow.Words(reg), uniform: uniform[r],
				list: make([]ir.Access, 0, x.count)}
		}
	}
	for i := range flow.Stmts {
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

// demotable reports the instructions whose registers may be demoted: those that are done with
// their operands when the next instruction begins, as PTX sees it.
func demotable(word string) bool {
	switch word {
	case "ld", "st", "ldu", "prefetch", "atom", "red", "brx", "shfl", "vote", "match", "tex", "tld4",
		"suld", "sust":
		return true
	}
	return ir.Computes(word)
}

// rank works out what taking each candidate costs.
func rank(flow *ir.Func, all map[ir.Reg]*candidate, strategy string) {
	weight := make([]float64, len(flow.Blocks))
	for b := range weight {
		weight[b] = math.Pow(loopWeight, float64(min(flow.Depth(b), maxLoops)))
	}
	for _, c := range all {
		c.cost = 0
		for _, a := range c.list {
			switch strategy {
			case "static":
				c.cost++
			case "loops":
				c.cost += weight[flow.Block(int(a.Stmt))]
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
func cheap(flow *ir.Func) (free, uniform []bool) {
	type costs struct{ register, varying bool }
	known := make([]costs, flow.Registers())
	for r := range known { // what is written in several places is no copy of one thing
		known[r].register = len(flow.Defs(ir.Reg(r))) > 1
	}
	join := func(a, b costs) costs { return costs{a.register || b.register, a.varying || b.varying} }
	ir.Forward(flow, known, join, func(i int) costs {
		copies, same := origin(flow, i)
		out := costs{!copies, !same}
		for _, a := range flow.Accesses(i) {
			if a.Read {
				out = join(out, known[a.Reg])
			}
		}
		return out
	})
	for _, c := range known {
		free, uniform = append(free, !c.register), append(uniform, !c.varying)
	}
	return free, uniform
}

// origin says of an instruction whether it copies only (its result is as cheap as its operands),
// and whether it gives all threads of a block the same where its operands are the same.
func origin(flow *ir.Func, i int) (copies, same bool) {
	switch x := flow.Inst(i); x.Op {
	case "ld":
		return x.Has("param"), x.Has("param", "const")
	case "mov":
		plain := true
		flow.Symbols(i, func(n ptx.Span) bool {
			name, _, _ := strings.Cut(string(flow.Bytes(n)), ".")
			plain = name[0] != '%' || name == "%ctaid" || name == "%ntid" || name == "%nctaid"
			return plain
		})
		return plain, plain
	case "cvta":
		return true, true
	case "add", "sub", "mul", "mad", "min", "max", "and", "or", "xor", "not", "neg", "shl", "shr",
		"lop3", "shf", "prmt", "selp", "setp", "bfe", "bfi", "abs":
		return false, !x.Has("f32", "f64") // there are no uniform ones before sm_100
	case "cvt":
		return false, true
	}
	return false, false
}
