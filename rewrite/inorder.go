package rewrite

import (
	"errors"

	"gnvcc/rewrite/pass"
	"gnvcc/rewrite/ptx"
	"gnvcc/rewrite/recipe"
)

// inorder=on keeps ptxas from changing the order of loads from global memory: they are made relaxed
// at the scope of the block.
//
//	ld.global.f64 %fd1, [%rd9];     ld.relaxed.cta.global.f64 %fd1, [%rd9];
//	ld.global.f64 %fd2, [%rd13];    ld.relaxed.cta.global.f64 %fd2, [%rd13];
//	st.global.f64 [%rd9], %fd2;     st.global.f64 [%rd9], %fd2;
//	st.global.f64 [%rd13], %fd1;    st.global.f64 [%rd13], %fd1;
//
// ptxas issues what the first store needs first: [%rd13], then [%rd9]. So the store to [%rd9] waits
// for the first of them alone, and may go out while the second, the load of its own line, is still
// on its way. In the order of the text a line that is stored to was asked for before the value that
// is stored. On an H200 this kernel takes 0.64 of its time under the lever, and all of it where the
// loads are as strong and in ptxas' order: it is the order alone. The machine code is the same but
// for it and .STRONG.SM (every ptxas from 11.8 to 13.5, TestInorder). -O1 has this order too in
// some kernels, and is a flag for the whole file.
//
// Allowed: two loads or more that are plain (weak), of .global, with cache hints or without,
// guarded ones too; sm_70 and PTX ISA 6.0. Left alone: .nc and generic loads, those with an
// operator (cs) or a cache policy as operand, loads of 128-bit scalars, functions that are called.
//
// Safe: a relaxed load gives a value that the weak one may give, too (PTX ISA, "Memory Consistency
// Model"). No load is made twice or left out. But ptxas may no longer merge two of one address, and
// so compiles their uses anew: checked, not by construction.
func inorder(k *pass.Kernel, terms []recipe.Term) error {
	value, err := pass.Only(terms)
	if err != nil {
		return err
	}
	if value != "on" {
		return errors.New("the only value is on")
	}
	if err := k.Machine.Needs("ld.relaxed", 60, 70); err != nil {
		return err
	}
	loads := weakLoads(k.Func)
	if len(loads) < 2 {
		return errors.New("the kernel has no two plain loads from global memory")
	}
	for _, i := range loads {
		at := k.Stmts[i].Op + uint32(len("ld"))
		k.ReplaceSpan(ptx.Span{Start: at, End: at}, ".relaxed.cta")
	}
	return nil
}

// Ordered is the number of loads in a kernel that inorder keeps in their order.
func Ordered(f *ptx.Func) int { return len(weakLoads(f)) }

// weakLoads are the statements that inorder takes, in the order of the text.
func weakLoads(f *ptx.Func) []int {
	var out []int
	for i := range f.Stmts {
		if pass.WeakLoad(f, i) {
			out = append(out, i)
		}
	}
	return out
}
