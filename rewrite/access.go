package rewrite

import (
	"errors"
	"fmt"
	"strings"

	"gnvcc/rewrite/pass"
	"gnvcc/rewrite/ptx"
	"gnvcc/rewrite/recipe"
)

// ld=HINT and st=HINT give the loads from, and stores to, global memory a cache policy; ld@3=HINT
// only the fourth load (they count from 0, in the order of the text, over those that a hint may be
// given to). "none" keeps nvcc's own, so that `ld=cs ld@3=none` leaves one out.
//
//	ld.global.f32 %f1, [%rd4];      ld.global.L1::no_allocate.f32 %f1, [%rd4];
//	st.global.v2.f32 [%rd5], {...}; st.global.cs.v2.f32 [%rd5], {...};
//
// Hints: L1::no_allocate, L1::evict_first, L1::evict_last, L1::evict_unchanged, cs (streaming); for
// loads also L2::64B, L2::128B, L2::256B (bytes to bring into L2), alone or behind one of the
// others: cs.L2::128B.
//
// Allowed: plain (weak) accesses to .global, .nc ones too. Left alone: what has a policy already,
// volatile, relaxed, acquire, release and mmio accesses, atomics, generic addresses (they may be
// shared or local memory), guarded instructions, functions that are called. A kernel without any
// such access refuses the lever.
//
// Safe: these are hints (PTX ISA, "Cache Eviction Priority Hints", "Cache Operators"); SASS differs
// in .NA, .EF, .EL, .EU, .LTC128B, .LTC256B only (nvdisasm 13.5, sm_90). Not offered: .cg, .ca,
// .cv, .wt, which change the access' strength (STRONG.GPU), .lu.
//
// From: PTX ISA; which accesses to choose is policy's.

func cacheLoads(k *pass.Kernel, terms []recipe.Term) error  { return cachePolicy(k, terms, "ld") }
func cacheStores(k *pass.Kernel, terms []recipe.Term) error { return cachePolicy(k, terms, "st") }

func cachePolicy(k *pass.Kernel, terms []recipe.Term, base string) error {
	all, sites := "", make(map[int]string)
	for _, t := range terms {
		if t.Brace {
			return errors.New("it takes no braces")
		}
		if err := hint(k.Machine, base, t.Value); err != nil {
			return err
		}
		if t.Site == "" {
			all = t.Value
			continue
		}
		n, err := recipe.Number(t.Site, 0, 1<<20)
		if err != nil {
			return fmt.Errorf("site: %w", err)
		}
		sites[n] = t.Value
	}
	list := pass.Accesses(k.Func, base)
	if len(list) == 0 {
		return errors.New("no access in the kernel takes a hint")
	}
	for n := range sites {
		if n >= len(list) {
			return fmt.Errorf("there is no access @%d: %d take a hint, the last is @%d", n, len(list),
				len(list)-1)
		}
	}
	for n, a := range list {
		hint, ok := sites[n]
		if !ok {
			hint = all
		}
		if hint != "" && hint != "none" {
			k.ReplaceSpan(ptx.Span{Start: a.At, End: a.At}, "."+hint)
		}
	}
	return nil
}

// hint checks a hint's form and what it needs (found by trying every width and vector on ptxas 13.0
// and 13.5, sm_75 to sm_100: only 256B on sm_75 and the forms refused below fail).
func hint(m pass.Machine, base, value string) error {
	if value == "none" {
		return nil
	}
	first, second, both := strings.Cut(value, ".")
	l2 := func(s string) bool { return s == "L2::64B" || s == "L2::128B" || s == "L2::256B" }
	switch {
	case both && (l2(first) || !l2(second)):
		return fmt.Errorf("%q: an L2 size may follow one other hint, nothing else", value)
	case base == "st" && (both || l2(first)):
		return fmt.Errorf("%q: stores bring nothing into L2 beforehand", value)
	}
	switch first {
	case "cs", "L2::64B", "L2::128B", "L2::256B":
	case "L1::no_allocate", "L1::evict_first", "L1::evict_last", "L1::evict_unchanged":
		if err := m.Needs(first, 74, 70); err != nil {
			return err
		}
	case "cg", "ca", "cv", "wt", "wb":
		return fmt.Errorf("%s is no pure hint: it changes the access' strength", first)
	default:
		return fmt.Errorf("%q is not a known cache policy", value)
	}
	if l2(first) || both {
		sm := 75
		if strings.HasSuffix(value, "256B") {
			sm = 80
		}
		return m.Needs("an L2 prefetch size", 74, sm)
	}
	return nil
}

// Accesses counts the loads and stores of a kernel that ld and st hints may be given to: sites go
// from 0 to the count less one.
func Accesses(f *ptx.Func) (loads, stores int) {
	return len(pass.Accesses(f, "ld")), len(pass.Accesses(f, "st"))
}
