package rewrite

import (
	"cmp"
	"errors"
	"fmt"
	"strconv"
	"strings"

	"gnvcc/rewrite/pass"
	"gnvcc/rewrite/ptx"
	"gnvcc/rewrite/ptx/ir"
	"gnvcc/rewrite/recipe"
)

// spin=test makes the spin loops of a kernel look at their lock before they try to take it;
// spin=backoff makes a thread that failed sleep before it tries again, 16 ns and then twice as long
// each time up to 256 ns; backoff:N always N ns (1 to 10000); spin=test,backoff does both.
//
//	                                mov.u32 %gnvcc_sd0, 0;                          (backoff: once, at entry)
//	                                setp.ne.u32 %gnvcc_sp, %gnvcc_sd0, 0;           (backoff)
//	                                @%gnvcc_sp nanosleep.u32 %gnvcc_sd0;            (backoff)
//	                                ld.volatile.shared.b32 %gnvcc_sv, [%r6];        (test)
//	                                setp.eq.b32 %gnvcc_sp, %gnvcc_sv, %r5;          (test)
//	atom.shared.cas.b32             @%gnvcc_sp atom.shared.cas.b32
//	    %r7, [%r6], %r5, %r4;           %r7, [%r6], %r5, %r4;
//	                                @!%gnvcc_sp mov.b32 %r7, %gnvcc_sv;             (test)
//	                                setp.eq.b32 %gnvcc_sp, %r7, %r5; ...            (backoff: the next delay, 0 after a success)
//
// Allowed: compare-and-swap and exchange on shared memory of 32 or 64 bits that ir.Spins finds to
// be spin loops, in the kernel itself; functions that are called are left alone. Attempts that a
// load precedes already are not tested again, loops that sleep already get no second sleep; where
// that leaves nothing, the kernel refuses the lever.
//
// Safe. test: a compare-and-swap that fails is nothing but a load, with the order that its .sem
// gives to loads: so a relaxed one becomes a volatile load (relaxed at the widest scope), one with
// acquire an ld.acquire of the same scope. An exchange that finds the value that it stores changes
// nothing, and its result sends the thread round the loop. What takes the lock is the same
// instruction as before, with the same order and scope, and releases are not touched. backoff: a
// sleep is no access to memory. Both are guarded instructions; where ptxas makes branches of them
// (11.8 to 13.5 do for the swap, most for the sleep), the lanes meet again at once and the loop
// keeps its YIELD (TestSpinYields), so that lanes of one warp can wait for each other as they could
// before. The sleep stands in front of the next attempt, where the thread that has the lock never
// comes by.
//
// Exact as checked only: no arithmetic changes, but threads may come to take a lock in another
// order, and a program whose results depend on that order (sums in floating point) may give others.
//
// From: Li, GPU performance modeling and optimization (2016), chapter 7, whose lock bits are gone
// since Maxwell; test before the swap and back-off are Rudolph and Segall's (ISCA 1984) and
// Anderson's (TPDS 1990).
func spin(k *pass.Kernel, terms []recipe.Term) error {
	value, err := pass.Only(terms)
	if err != nil {
		return err
	}
	how, err := parseSpin(value)
	if err != nil {
		return err
	}
	if err := k.Machine.Needs("spin", 63, 70); err != nil {
		return err
	}
	if strings.Contains(string(k.Text()), spinPrefix) {
		return errors.New("the kernel has registers called " + spinPrefix + " already")
	}
	w, err := ir.Of(k.Func)
	if err != nil {
		return err
	}
	loops := w.Spins()
	if len(loops) == 0 {
		return errors.New("no spin loop on shared memory in the kernel")
	}
	entry := []string{fmt.Sprintf(".reg .pred %sp;", spinPrefix)}
	b32, b64, done := false, false, 0
	for n, s := range loops {
		test, sleep := how.test && !s.Tests, how.sleep && !s.Sleeps
		if test {
			b32, b64 = b32 || s.Type == "b32", b64 || s.Type == "b64"
		}
		if sleep {
			delay := fmt.Sprintf("%sd%d", spinPrefix, n)
			entry = append(entry, fmt.Sprintf(".reg .b32 %s;", delay), fmt.Sprintf("mov.u32 %s, 0;", delay))
		}
		if test || sleep {
			done++
			k.Replace(s.Atom, strings.Join(attempt(k.Func, s, n, test, sleep, how), "\n\t"))
		}
	}
	if done == 0 {
		return fmt.Errorf("its %d spin loops do so already", len(loops))
	}
	if b32 {
		entry = append(entry, fmt.Sprintf(".reg .b32 %sv;", spinPrefix))
	}
	if b64 {
		entry = append(entry, fmt.Sprintf(".reg .b64 %sw;", spinPrefix))
	}
	if how.sleep && how.fixed == 0 {
		entry = append(entry, fmt.Sprintf(".reg .b32 %sn;", spinPrefix))
	}
	k.Insert(k.First(), strings.Join(entry, "\n\t"))
	return nil
}

const spinPrefix = "%gnvcc_s"

const (
	firstDelay = 16  // ns: less than a swap on shared memory takes
	lastDelay  = 256 // ns
)

// attempt is the text that takes an attempt's place.
func attempt(f *ptx.Func, s ir.Spin, n int, test, sleep bool, how spinning) []string {
	// The lock was taken where the old value stands for free; an exchange: where it is not what was
	// stored.
	compare, with := "eq", s.Free
	if s.Swap == "exch" {
		compare, with = "ne", s.Taken
	}
	text := ""
	if sleep {
		text = "setp.ne.u32 P, DELAY, 0;\n@P nanosleep.u32 DELAY;\n"
	}
	if test {
		text += `LOAD.TYPE V, ADDRESS;
			setp.COMPARE.TYPE P, V, WITH;
			@P INSTRUCTION
			@!P mov.TYPE OLD, V;`
	} else {
		text += "INSTRUCTION"
	}
	if sleep {
		text += "\nsetp.COMPARE.TYPE P, OLD, WITH;\n"
		if how.fixed > 0 {
			text += fmt.Sprintf("selp.u32 DELAY, 0, %d, P;", how.fixed)
		} else {
			text += fmt.Sprintf(`shl.b32 NEXT, DELAY, 1;
				max.u32 NEXT, NEXT, %d;
				min.u32 NEXT, NEXT, %d;
				selp.u32 DELAY, 0, NEXT, P;`, firstDelay, lastDelay)
		}
	}
	load := "ld.volatile"
	if s.Order == "acquire" || s.Order == "acq_rel" {
		load = "ld.acquire." + cmp.Or(s.Scope, "gpu") // what atom's default is
	}
	if !s.Generic {
		load += ".shared"
	}
	return pass.Fill(text, "P", spinPrefix+"p", "DELAY", fmt.Sprintf("%sd%d", spinPrefix, n),
		"NEXT", spinPrefix+"n", "V", spinPrefix+map[string]string{"b32": "v", "b64": "w"}[s.Type],
		"LOAD", load, "TYPE", s.Type, "COMPARE", compare, "WITH", with.Text,
		"OLD", s.Old.Text, "ADDRESS", string(f.Bytes(s.Address.At)),
		"INSTRUCTION", string(f.Text()[f.Stmts[s.Atom].Start:f.Stmts[s.Atom].End]))
}

type spinning struct {
	test, sleep bool
	fixed       int // ns; 0: growing
}

func parseSpin(value string) (spinning, error) {
	var out spinning
	rest, both := strings.CutPrefix(value, "test,")
	switch {
	case value == "test":
		return spinning{test: true}, nil
	case both:
		out.test = true
	}
	rest, ok := strings.CutPrefix(rest, "backoff")
	if !ok {
		return out,
			fmt.Errorf(
				"%q: it is test, backoff, backoff:NANOSECONDS, or test and one of these with a comma between",
				value)
	}
	out.sleep = true
	if rest == "" {
		return out, nil
	}
	n, err := recipe.Number(strings.TrimPrefix(rest, ":"), 1, 10000)
	if err != nil || rest != ":"+strconv.Itoa(n) {
		return out, fmt.Errorf("%q: the delay is a number from 1 to 10000, in nanoseconds", value)
	}
	out.fixed = n
	return out, nil
}
