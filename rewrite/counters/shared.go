package counters

import (
	"fmt"
	"strings"

	"gnvcc/rewrite/pass"
	"gnvcc/rewrite/ptx"
	"gnvcc/rewrite/ptx/ir"
)

// A SharedAccess is a load, store or atomic operation on shared memory.
type SharedAccess struct {
	*ptx.Func
	Stmt, Block int // Block: among all of the counters'
	address     ptx.Span
	width       int // bytes of a lane
	long        bool
	atomic      bool
}

// banks is how many words of 4 bytes shared memory gives a cycle.
const banks = 32

// sharedAccess looks at one statement.
func sharedAccess(w *ir.Func, i int) (a SharedAccess, ok bool) {
	x := w.Inst(i)
	o, width := addressOf(x), pass.AccessSize(w.Opcode(i))
	if o == nil || x.Op == "cp" || x.Op == "ldu" || !ptx.OwnShared(w.Opcode(i)) || width == 0 || width > 16 {
		return a, false
	}
	return SharedAccess{Func: w.Func, Stmt: i, address: o.At, width: width,
		long: o.Reg != ir.None && w.Bits(o.Reg) == 64, atomic: x.Op == "atom" || x.Op == "red"}, true
}

// countTurns adds the turns that a warp's access to shared memory takes to a counter: as many as
// there are different words in its fullest bank. Lanes wider than a word are served in groups, as
// if banks were as wide and fewer. Atomic operations on one word take a turn each.
func countTurns(a SharedAccess, counter int) []string {
	base, offset, _ := a.Func.Address(a.address)
	move := "mov.u32"
	if a.long {
		move = "cvt.u32.u64"
	}
	out := append(first(), fmt.Sprintf("%s %%gnvcc_c4, %s;", move, base))
	if len(offset) > 0 {
		out = append(out, fmt.Sprintf("add.s32 %%gnvcc_c4, %%gnvcc_c4, %s;",
			strings.TrimPrefix(string(offset), "+")))
	}
	unit := max(4, a.width)
	leader := `
		selp.b32 C4, C4, -1, Cq;
		match.any.sync.b32 C6, C4, C0;
		and.b32 C6, C6, C1;
		setp.eq.and.u32 Cr, C6, 0, Cq;` // the first lane of its word
	if a.atomic {
		leader = "mov.pred Cr, Cq;"
	}
	return append(append(out, through(a.Func, a.Stmt)), pass.Fill(`
		shr.u32 C4, C4, SHIFT;
		and.b32 C5, C4, LAST;
		selp.b32 C5, C5, -1, Cq;
		`+leader+`
		vote.sync.ballot.b32 C6, Cr, C0;
		match.any.sync.b32 C3, C5, C0;
		and.b32 C3, C3, C6;
		popc.b32 C3, C3;
		redux.sync.max.u32 C3, C3, C0;
		cvt.u64.u32 Ca, C3;
		@Cp red.global.add.u64 [Ct+AT], Ca;`, "C", countPrefix,
		"SHIFT", map[int]string{4: "2", 8: "3", 16: "4"}[unit], "LAST", fmt.Sprint(banks*4/unit-1),
		"AT", fmt.Sprint(8*counter))...)
}
