package rewrite

import (
	"slices"
	"strings"

	"gnvcc/rewrite/pass"
	"gnvcc/rewrite/ptx/ir"
)

// contract writes down which of two products ptxas contracts with their sum:
//
//	mul.f32 %f3, %f1, %f2;          mul.f32 %f3, %f1, %f2;
//	mul.f32 %f6, %f4, %f5;          mul.f32 %f6, %f4, %f5;
//	sub.f32 %f7, %f3, %f6;          neg.f32 %f7, %f6;
//	                                fma.rn.f32 %f7, %f1, %f2, %f7;
//
// ptxas may take either (PTX ISA, "mul": without a rounding modifier it may be contracted). It takes
// the first where nothing else reads the two: of 16 files with such sums all but one have
// the same machine code with it written down (13.0; TestContract: every ptxas). Where statements stand in
// another order it may take the second, and the bits are others: real parts of complex products. So this
// runs before the first lever that moves statements. What ptxas did otherwise the check finds.
//
// Left alone: products with several readers or the same factors, guarded statements, other blocks, and inner scopes,
// whose names another place does not have.
func contract(k *pass.Kernel) error {
	f, err := ir.Of(k.Func)
	if err != nil {
		return nil // no lever that moves statements takes it
	}
	mentions := make([]int, f.Registers())
	for i := range f.Stmts {
		for _, a := range f.Accesses(i) {
			mentions[a.Reg]++
		}
	}
	products := map[ir.Reg]*ir.Inst{} // of this block, whose factors are still in their registers
	product := func(sum *ir.Inst, n int) *ir.Inst {
		r := sum.Args[n].Reg
		if p := products[r]; p != nil && mentions[r] == 2 && slices.Equal(p.Words, sum.Words) {
			return p
		}
		return nil
	}
	one := func(a, b *ir.Inst) bool { // of the same factors: ptxas computes it once, and doubles it
		x, y := a.Args, b.Args
		return x[1].Text == y[1].Text && x[2].Text == y[2].Text || x[1].Text == y[2].Text && x[2].Text == y[1].Text
	}
	for i := range f.Stmts {
		x := f.Inst(i)
		if i > 0 && f.Block(i) != f.Block(i-1) {
			clear(products)
		}
		typ := "." + strings.Join(x.Words, ".")
		float := x.Guard == ir.None && f.Stmts[i].Depth == 0 && (typ == ".f32" || typ == ".ftz.f32" || typ == ".f64")
		if float && (x.Op == "add" || x.Op == "sub") {
			d, a, b := x.Args[0], product(x, 1), product(x, 2)
			if a != nil && b != nil && !one(a, b) && d.Reg != a.Args[1].Reg && d.Reg != a.Args[2].Reg {
				text, third := "", x.Args[2].Text
				if x.Op == "sub" {
					text, third = "neg"+typ+" "+d.Text+", "+third+";\n\t", d.Text
				}
				k.Replace(i, text+"fma.rn"+typ+" "+d.Text+", "+a.Args[1].Text+", "+a.Args[2].Text+", "+third+";")
			}
		}
		for _, a := range f.Accesses(i) {
			for r, p := range products {
				if a.Write && (r == a.Reg || p.Args[1].Reg == a.Reg || p.Args[2].Reg == a.Reg) {
					delete(products, r)
				}
			}
		}
		if float && x.Op == "mul" && !slices.ContainsFunc(x.Args[1:], func(o ir.Operand) bool { return o.Reg == x.Args[0].Reg }) {
			products[x.Args[0].Reg] = x
		}
	}
	return k.Commit()
}
