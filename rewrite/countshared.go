package rewrite

import (
	"bytes"
	"fmt"
	"strings"

	"gnvcc/rewrite/ptx"
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
func sharedAccess(f *ptx.Func, i int) (a SharedAccess, ok bool) {
	if f.Stmts[i].Kind != ptx.Inst {
		return a, false
	}
	op := f.Opcode(i)
	operand := 0
	switch base := string(f.Base(i)); base {
	case "ld":
		operand = 1
	case "atom":
		operand, a.atomic = 1, true
	case "st":
	case "red":
		a.atomic = true
	default:
		return a, false
	}
	if !ptx.HasModifier(op, "shared") && !ptx.HasModifier(op, "shared::cta") {
		return a, false
	}
	a.width = bitsOf(string(op[bytes.LastIndexByte(op, '.')+1:])) / 8
	for n, word := range []string{"v2", "v4"} {
		if ptx.HasModifier(op, word) {
			a.width *= 2 << n
		}
	}
	ops := f.Operands(i, nil)
	if operand >= len(ops) || a.width == 0 || a.width > 16 {
		return a, false
	}
	a.Func, a.Stmt, a.address = f, i, ops[operand]
	base, _, ok := f.Address(a.address)
	a.long = ok && longRegister(f, string(base))
	return a, ok
}

// longRegister tells of a register of 64 bits.
func longRegister(f *ptx.Func, name string) bool {
	all, err := f.Registers()
	if err != nil {
		return false
	}
	for _, v := range all {
		rest, ok := strings.CutPrefix(name, v.Name)
		if ok && (rest == "" || v.Count > 0 && strings.Trim(rest, "0123456789") == "") {
			return bitsOf(v.Type) == 64
		}
	}
	return false
}

// countTurns adds the turns that a warp's access to shared memory takes to a counter: as many as
// there are different words in its fullest bank. Lanes wider than a word are served in groups, as
// if banks were as wide and fewer. Atomic operations on one word take a turn each.
func countTurns(a SharedAccess, counter int) []string {
	base, offset, _ := a.Func.Address(a.address)
	out := first[:len(first):len(first)]
	if a.long {
		out = append(out, fmt.Sprintf("cvt.u32.u64 %%gnvcc_c4, %s;", base))
	} else {
		out = append(out, fmt.Sprintf("mov.u32 %%gnvcc_c4, %s;", base))
	}
	if len(offset) > 0 {
		out = append(out, fmt.Sprintf("add.s32 %%gnvcc_c4, %%gnvcc_c4, %s;",
			strings.TrimPrefix(string(offset), "+")))
	}
	unit := max(4, a.width)
	shift := 2
	for 1<<shift < unit {
		shift++
	}
	out = append(out, through(a.Func, a.Stmt),
		fmt.Sprintf("shr.u32 %%gnvcc_c4, %%gnvcc_c4, %d;", shift),
		fmt.Sprintf("and.b32 %%gnvcc_c5, %%gnvcc_c4, %d;", banks*4/unit-1),
		"selp.b32 %gnvcc_c5, %gnvcc_c5, -1, %gnvcc_cq;")
	if a.atomic {
		out = append(out, "mov.pred %gnvcc_cr, %gnvcc_cq;")
	} else {
		out = append(out,
			"selp.b32 %gnvcc_c4, %gnvcc_c4, -1, %gnvcc_cq;",
			"match.any.sync.b32 %gnvcc_c6, %gnvcc_c4, %gnvcc_c0;",
			"and.b32 %gnvcc_c6, %gnvcc_c6, %gnvcc_c1;",
			"setp.eq.and.u32 %gnvcc_cr, %gnvcc_c6, 0, %gnvcc_cq;") // the first lane of its word
	}
	return append(out,
		"vote.sync.ballot.b32 %gnvcc_c6, %gnvcc_cr, %gnvcc_c0;",
		"match.any.sync.b32 %gnvcc_c3, %gnvcc_c5, %gnvcc_c0;",
		"and.b32 %gnvcc_c3, %gnvcc_c3, %gnvcc_c6;",
		"popc.b32 %gnvcc_c3, %gnvcc_c3;",
		"redux.sync.max.u32 %gnvcc_c3, %gnvcc_c3, %gnvcc_c0;",
		"cvt.u64.u32 %gnvcc_ca, %gnvcc_c3;",
		fmt.Sprintf("@%%gnvcc_cp red.global.add.u64 [%%gnvcc_ct+%d], %%gnvcc_ca;", 8*counter))
}
