package rewrite

import (
	"bytes"
	"errors"
	"fmt"
	"strings"

	"gnvcc/rewrite/pass"
	"gnvcc/rewrite/ptx"
	"gnvcc/rewrite/recipe"
)

// bypass=K lets the warps of a block with linear index 0 .. K-1 load through the L1 cache as they
// do; all others load without being given a line there.
//
//	                                mov.u32 %gnvcc_b0, %tid.z; ...           (once, at entry)
//	                                setp.lt.u32 %gnvcc_bp, %gnvcc_b0, K;
//	ld.global.f32 %f1, [%rd4];      @%gnvcc_bp ld.global.f32 %f1, [%rd4];
//	                                @!%gnvcc_bp ld.global.L1::no_allocate.f32 %f1, [%rd4];
//
// The warp's index is (tid.x + ntid.x (tid.y + ntid.y tid.z)) / 32, which is how the hardware cuts
// blocks of 1, 2 and 3 dimensions into warps; so all lanes of a warp agree. K is a number from 0 to
// 32. 0 and 32 are not the same as all and nothing: the predicate is computed all the same.
//
// Allowed for the loads that hint@ld=... takes (hint.go), with .nc only where it is there already;
// loads with a policy for L1 keep it; an L2 prefetch size is kept on both. Guarded instructions are
// left alone.
//
// Safe: exactly one of the two loads is done, at the same address, at the same place; the other
// differs in a hint. Exact as checked only: ptxas contracts multiplications and additions by
// itself, and two guarded loads in place of one can lead it to other pairs (seen on a chain of
// floating-point reactions, ptxas 13.0.88, sm_90: the last bit of 538,236 results;
// rewrite/contract.go).
//
// The read-only path of the paper needs no value of its own: a load that is .nc keeps that on both,
// none becomes .nc.
//
// From: Li et al., Adaptive and Transparent Cache Bypassing for GPUs, SC 2015; .L1::no_allocate
// takes the place of its .cg, which is a stronger access today.
func bypass(k *pass.Kernel, terms []recipe.Term) error {
	value, err := pass.Only(terms)
	if err != nil {
		return err
	}
	if bytes.Contains(k.Text(), []byte(bypassPrefix)) {
		return errors.New("the kernel has registers called " + bypassPrefix + " already")
	}
	warps, err := recipe.Number(value, 0, 32)
	if err != nil {
		return err
	}
	if err := k.Machine.Needs("L1::no_allocate", 74, 70); err != nil {
		return err
	}
	if err := twoLoads(k.Func); err != nil {
		return err
	}
	entry := pass.Fill(`
		.reg .pred Pp;
		.reg .b32 P<5>;
		mov.u32 P0, %tid.z;
		mov.u32 P1, %ntid.y;
		mov.u32 P2, %tid.y;
		mad.lo.u32 P0, P0, P1, P2;
		mov.u32 P3, %ntid.x;
		mov.u32 P4, %tid.x;
		mad.lo.u32 P0, P0, P3, P4;
		shr.u32 P0, P0, 5;
		setp.lt.u32 Pp, P0, WARPS;`, "P", bypassPrefix, "WARPS", fmt.Sprint(warps))
	k.Insert(k.First(), strings.Join(entry, "\n\t"))
	return nil
}

// twoLoads makes two of each load, one of which bypasses.
func twoLoads(f *ptx.Func) error {
	found := false
	for i := range f.Stmts {
		a, ok := pass.PlainAccess(f, i, "ld")
		if !ok {
			continue
		}
		found = true
		s := f.Stmts[i]
		f.ReplaceSpan(ptx.Span{Start: s.Start, End: s.Start}, "@"+bypassPrefix+"p ")
		f.ReplaceSpan(ptx.Span{Start: s.End, End: s.End},
			"\n\t@!"+bypassPrefix+"p "+string(f.Text()[s.Start:a.At])+".L1::no_allocate"+
				string(f.Text()[a.At:s.End]))
	}
	if !found {
		return errors.New("no load in the kernel can bypass L1")
	}
	return nil
}

const bypassPrefix = "%gnvcc_b"
