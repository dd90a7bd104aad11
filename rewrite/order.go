package rewrite

import (
	"bytes"
	"errors"
	"fmt"
	"regexp"
	"strings"
	"sync"

	"gnvcc/rewrite/pass"
	"gnvcc/rewrite/ptx"
	"gnvcc/rewrite/ptx/await"
	"gnvcc/rewrite/recipe"
)

// order=transposed and order=groups.N have a grid's blocks do each other's work, so that those that
// run at the same time read what is near in L2. A GPU starts blocks row by row; under transposed
// their work goes column by column, under groups.N column by column within each N rows (N is 2, 4,
// 8, 16, 32 or 64).
//
//	                                mov.u32 %gnvcc_o0, %ctaid.x;                    (once, at entry)
//	                                mov.u32 %gnvcc_o1, %ctaid.y; ...
//	                                mad.lo.u32 %gnvcc_o4, %gnvcc_o1, %gnvcc_o2, %gnvcc_o0;
//	                                div.u32 %gnvcc_o5, %gnvcc_o4, %gnvcc_o3; ...    (by %nctaid.y)
//	mov.u32 %r1, %ctaid.x;          mov.u32 %r1, %gnvcc_o0;
//
// The launch is as ever, and %nctaid too: of the linear number in a layer, y*nctaid.x + x, the
// quotient and the remainder by nctaid.y are the new x and y. Groups need no division, since N is a
// power of two; the rows left over by whole groups stay as they are, and so do layers of z.
//
// Allowed: kernels that read %ctaid.x or %ctaid.y by mov of 32 bits, where blocks don't wait for
// each other (package await, which knows barriers over the grid and clusters), functions that they
// call don't read block numbers, and nothing reads on which multiprocessor or in which grid a block
// is.
//
// Safe: blocks come to stand for each other one to one, for grids of any shape. A layer whose
// linear numbers have no room in 32 bits stays as it is, by a predicate. CUDA promises no order of
// blocks. Checked: ptxas works on the code anew, and a program may depend on the order all the same
// (sums in floating point by atomics).
//
// From: tile orders of matrix products (CUTLASS' threadblock swizzle, Triton's grouped order).
func blockOrder(k *pass.Kernel, terms []recipe.Term) error {
	value, err := pass.Only(terms)
	if err != nil {
		return err
	}
	text, err := orderText(value)
	if err != nil {
		return err
	}
	if bytes.Contains(k.Text(), []byte(orderPrefix)) {
		return errors.New("the kernel has registers called " + orderPrefix + " already")
	}
	if err := orderable(k.Module, k.Func); err != nil {
		return err
	}
	found := false
	for i, s := range k.Stmts {
		if s.Kind != ptx.Inst || !bytes.Contains(k.Text()[s.OpEnd:s.End], []byte("%ctaid")) {
			continue
		}
		ops := k.Operands(i, nil)
		op := string(k.Opcode(i))
		if len(ops) != 2 || op != "mov.u32" && op != "mov.b32" && op != "mov.s32" {
			return errors.New("it reads a block's number otherwise than by mov of 32 bits")
		}
		switch name := string(k.Bytes(ops[1])); name {
		case "%ctaid.x":
			k.ReplaceSpan(ops[1], orderPrefix+"0")
			found = true
		case "%ctaid.y":
			k.ReplaceSpan(ops[1], orderPrefix+"1")
			found = true
		case "%ctaid.z": // which stays
		default: // %ctaid.r is another name of %ctaid.x, %ctaid.w is 0
			return fmt.Errorf("it reads %s", name)
		}
	}
	if !found {
		return errors.New("it reads no number of its block in x or y")
	}
	k.Insert(k.First(), strings.Join(text, "\n\t"))
	return nil
}

const orderPrefix = "%gnvcc_o"

// orderText is what stands at the entry: a block's new number in registers 0 and 1.
func orderText(value string) ([]string, error) {
	text := `
		mul.hi.u32 P4, P2, P3;
		setp.eq.u32 Pp, P4, 0;
		mad.lo.u32 P4, P1, P2, P0;
		div.u32 P5, P4, P3;
		mul.lo.u32 P3, P5, P3;
		sub.u32 P4, P4, P3;`
	last, shift := 0, 0
	if n, ok := strings.CutPrefix(value, "groups."); ok {
		rows, err := recipe.Number(n, 2, 64)
		last = rows - 1
		if err != nil || rows&last != 0 {
			return nil, fmt.Errorf("%q: groups are of 2, 4, 8, 16, 32 or 64 rows", value)
		}
		for 1<<shift < rows {
			shift++
		}
		// 6 is the group's first row; P: all of its rows are there, and there is room for its numbers
		text = `
		and.b32 P4, P1, LAST;
		sub.u32 P6, P1, P4;
		sub.u32 P3, P3, P6;
		setp.gt.u32 Pp, P3, LAST;
		setp.lt.and.u32 Pp, P2, MOST, Pp;
		mad.lo.u32 P4, P4, P2, P0;
		shr.u32 P5, P4, SHIFT;
		and.b32 P4, P4, LAST;
		add.u32 P4, P4, P6;`
	} else if value != "transposed" {
		return nil, fmt.Errorf("%q: it is transposed, or groups.N", value)
	}
	return pass.Fill(`
		.reg .pred Pp;
		.reg .b32 P<7>;
		mov.u32 P0, %ctaid.x;
		mov.u32 P1, %ctaid.y;
		mov.u32 P2, %nctaid.x;
		mov.u32 P3, %nctaid.y;`+text+`
		selp.b32 P0, P5, P0, Pp;
		selp.b32 P1, P4, P1, Pp;`, "P", orderPrefix, "LAST", fmt.Sprint(last),
		"MOST", fmt.Sprint(1<<(32-shift)), "SHIFT", fmt.Sprint(shift)), nil
}

// placed are registers that tell where a block is, or began.
var placed = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`%(smid|gridid|\w*cluster\w*)\b`)
})

// orderable says why a kernel's blocks must not do each other's work, nil if they may.
func orderable(m *ptx.Module, f *ptx.Func) error {
	waits, err := await.Why(m, f.Name)
	if err != nil {
		return err
	}
	if waits != "" {
		return fmt.Errorf("its blocks may wait for each other (%s)", waits)
	}
	r, err := m.Reach(f.Name)
	if err != nil {
		return err
	}
	for _, g := range r.Funcs {
		if g.Name == "__assertfail" {
			return errors.New("it has an assert, which tells people a block's number")
		}
		if register := placed().Find(g.Text()); register != nil {
			return fmt.Errorf("it reads %s, where a block is", register)
		}
		if g.Name != f.Name && bytes.Contains(g.Text(), []byte("%ctaid")) {
			return fmt.Errorf("%s, which it calls, reads a block's number", g.Name)
		}
	}
	return nil
}
