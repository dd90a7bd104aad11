package rewrite

import (
	"errors"
	"strings"

	"gnvcc/rewrite/pass"
	"gnvcc/rewrite/recipe"
)

// nounroll=off takes out the pragmas by which cicc tells ptxas not to unroll a loop (LLVM puts them
// where it unrolled by itself or where the source has `#pragma unroll 1`).
//
//	$L__BB0_3:
//		.pragma "nounroll";                     $L__BB0_3:
//		ld.global.f32 %f1, [%rd4];              	ld.global.f32 %f1, [%rd4];
//
// Allowed wherever such a pragma stands. Safe: it is a hint; ptxas compiles the loop anew, so that
// the contraction of multiplications and additions may differ: checked, not by construction.
func nounroll(k *pass.Kernel, terms []recipe.Term) error {
	value, err := pass.Only(terms)
	if err != nil {
		return err
	}
	if value != "off" {
		return errors.New("the only value is off")
	}
	found := false
	for i := range k.Stmts {
		if string(k.Opcode(i)) != ".pragma" {
			continue
		}
		s := k.Stmts[i]
		if strings.TrimSpace(string(k.Text()[s.OpEnd:s.End-1])) == `"nounroll"` {
			k.Delete(i)
			found = true
		}
	}
	if !found {
		return errors.New("no such pragma in this kernel")
	}
	return nil
}
