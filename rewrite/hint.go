package rewrite

import (
	"errors"
	"fmt"
	"strconv"
	"strings"

	"gnvcc/rewrite/pass"
	"gnvcc/rewrite/ptx"
	"gnvcc/rewrite/recipe"
)

// Hint is the lever's name.
const Hint = "hint"

// hint gives accesses to global memory a cache policy: hint@ld=POLICY all loads, hint@st=POLICY all
// stores, hint@ld3=POLICY the fourth load alone (loads and stores count from 0 each, in the order of
// the text, over those that a hint may be given to). "none" keeps nvcc's own, so that
// `hint@ld=cs hint@ld3=none` leaves one out.
//
//	ld.global.f32 %f1, [%rd4];      ld.global.L1::no_allocate.f32 %f1, [%rd4];
//	st.global.v2.f32 [%rd5], {...}; st.global.cs.v2.f32 [%rd5], {...};
//
// Policies: L1::no_allocate, L1::evict_first, L1::evict_last, L1::evict_unchanged, cs (streaming);
// for loads also L2::64B, L2::128B, L2::256B (bytes to bring into L2), alone or behind one of the
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
func hint(k *pass.Kernel, terms []recipe.Term) error {
	accesses := map[string][]pass.Access{"ld": pass.Accesses(k.Func, "ld"), "st": pass.Accesses(k.Func, "st")}
	policies := make(map[string]string) // by site
	for _, t := range terms {
		if t.Brace {
			return errors.New("it takes no braces")
		}
		op, n, err := hintSite(t.Site)
		if err != nil {
			return err
		}
		if err := checkPolicy(k.Machine, op, t.Value); err != nil {
			return err
		}
		switch list := accesses[op]; {
		case len(list) == 0:
			return errors.New("no access in the kernel takes a hint")
		case n >= len(list):
			return fmt.Errorf("there is no %s%d: %d take a hint, the last is %[1]s%[4]d", op, n, len(list), len(list)-1)
		}
		policies[t.Site] = t.Value
	}
	for op, list := range accesses {
		for n, a := range list {
			policy, ok := policies[op+strconv.Itoa(n)]
			if !ok {
				policy = policies[op]
			}
			if policy != "" && policy != "none" {
				k.ReplaceSpan(ptx.Span{Start: a.At, End: a.At}, "."+policy)
			}
		}
	}
	return nil
}

// hintSite reads the site of a hint: all loads (ld), all stores (st), or one of them (ld3); n is -1
// for all.
func hintSite(site string) (op string, n int, err error) {
	if op = site[:min(2, len(site))]; op != "ld" && op != "st" {
		return "", 0, errors.New("a hint is for loads (hint@ld), stores (hint@st) or one of them (hint@ld3)")
	}
	if site == op {
		return op, -1, nil
	}
	if n, err = recipe.Number(site[2:], 0, 1<<20); err != nil {
		return "", 0, fmt.Errorf("site: %w", err)
	}
	return op, n, nil
}

// checkPolicy checks a policy's form and what it needs (found by trying every width and vector on ptxas 13.0
// and 13.5, sm_75 to sm_100: only 256B on sm_75 and the forms refused below fail).
func checkPolicy(m pass.Machine, op, value string) error {
	if value == "none" {
		return nil
	}
	first, second, both := strings.Cut(value, ".")
	l2 := func(s string) bool { return s == "L2::64B" || s == "L2::128B" || s == "L2::256B" }
	switch {
	case both && (l2(first) || !l2(second)):
		return fmt.Errorf("%q: an L2 size may follow one other hint, nothing else", value)
	case op == "st" && (both || l2(first)):
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

// Accesses counts the loads and stores of a kernel that hints may be given to: sites go from 0 to
// the count less one.
func Accesses(f *ptx.Func) (loads, stores int) {
	return len(pass.Accesses(f, "ld")), len(pass.Accesses(f, "st"))
}
