package bypass

import (
	"errors"
	"strings"

	"gnvcc/rewrite/pass"
	"gnvcc/rewrite/ptx"
	"gnvcc/rewrite/recipe"
)

// bypass=L2:K is bypassing for L2: what the warps with linear index K and above load is the first
// to be evicted from it again.
//
//	                                ... setp.lt.u32 %gnvcc_bp, %gnvcc_b0, K;   (once, at entry, as for bypass=K)
//	                                createpolicy.fractional.L2::evict_first.b64 %gnvcc_bl0, 1.0;
//	                                createpolicy.fractional.L2::evict_normal.b64 %gnvcc_bl1, 1.0;
//	                                selp.b64 %gnvcc_bl2, %gnvcc_bl1, %gnvcc_bl0, %gnvcc_bp;
//	ld.global.f32 %f1, [%rd4];      ld.global.L2::cache_hint.f32 %f1, [%rd4], %gnvcc_bl2;
//
// A load goes through L2 whatever it says; evicting first is the nearest to bypassing that there
// is, as in the paper, which uses .cs for it (5.4.1). Since a policy is an operand, one load serves
// both kinds of warps. Its hint for L1 stays nvcc's.
//
// Forms that ptxas takes (13.5, sm_75 to sm_120): .L2::cache_hint with a policy from sm_80 on, on
// loads of every width, with .nc and with an L2 prefetch size; .L2::evict_first on the load itself
// only for .v8.b32 and .v4.b64 (sm_100 on), so it is not used. SASS differs in the descriptor,
// desc[UR4][R2.64].
//
// Allowed for the loads that bypass=K takes. Safe: a policy is a hint (PTX ISA, "Cache Eviction
// Priority Hints"); exact as checked only, like all of the lever: ptxas schedules other code.
//
// From: Li et al., SC 2015; thesis (2016), 5.4.1 and 5.4.3, where L2 alone gains less than L1, and
// both together no more than one.
func bypassL2(k *pass.Kernel, value string) error {
	warps, err := recipe.Number(value, 0, 31)
	if err != nil {
		return err
	}
	if err := k.Machine.Needs("a policy for L2", 74, 80); err != nil {
		return err
	}
	found := false
	for i := range k.Stmts {
		a, ok := pass.PlainAccess(k.Func, i, "ld")
		s := k.Stmts[i]
		if !ok || k.Text()[s.End-1] != ';' {
			continue
		}
		found = true
		k.ReplaceSpan(ptx.Span{Start: a.At, End: a.At}, ".L2::cache_hint")
		k.ReplaceSpan(ptx.Span{Start: s.End - 1, End: s.End - 1}, ", "+bypassPrefix+"l2")
	}
	if !found {
		return errors.New("no load in the kernel takes a policy")
	}
	policy := pass.Fill(`
		.reg .b64 Pl<3>;
		createpolicy.fractional.L2::evict_first.b64 Pl0, 1.0;
		createpolicy.fractional.L2::evict_normal.b64 Pl1, 1.0;
		selp.b64 Pl2, Pl1, Pl0, Pp;`, "P", bypassPrefix)
	k.Insert(k.First(), strings.Join(append(belowThreshold(warps), policy...), "\n\t"))
	return nil
}
