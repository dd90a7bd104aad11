package repeat

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"gnvcc/rewrite/pass"
	"gnvcc/rewrite/ptx"
	"gnvcc/rewrite/recipe"
)

// repeat@2=4 writes four turns of the kernel's second loop in a row: what unroll does in the
// source, done on nvcc's own PTX. Loops are counted in the order of the text, from 1.
//
// Where a loop's turns are counted (loop.go), four turns without tests in between are done as
// long as four are left, and the rest by the loop as it was:
//
//	                                   $gnvcc_n1_turns:
//	                                       .pragma "nounroll";
//	                                       sub.s32 %gnvcc_n1_r1, %r9, %r12;
//	                                       setp.gt.u32 %gnvcc_n1_p0, %gnvcc_n1_r1, 3;
//	                                       setp.lt.and.s32 %gnvcc_n1_p1, %r12, %r9, %gnvcc_n1_p0;
//	                                       @!%gnvcc_n1_p1 bra $L__BB0_2;
//	                                       ld.global.f32 ...        (three turns without the branch)
//	                                       add.s32 %r12, %r12, 1;
//	                                       setp.lt.s32 %p3, %r12, %r9;
//	                                       @%p3 bra $gnvcc_n1_turns;
//	                                       bra $gnvcc_n1_left4;
//	$L__BB0_2:                         $L__BB0_2:                     (as it was)
//	    ld.global.f32 ...                  ld.global.f32 ...
//	    add.s32 %r12, %r12, 1;             add.s32 %r12, %r12, 1;
//	    setp.lt.s32 %p3, %r12, %r9;        setp.lt.s32 %p3, %r12, %r9;
//	    @%p3 bra $L__BB0_2;                @%p3 bra $L__BB0_2;
//
// Any other loop's turns stand one behind the other with all their tests: each branch back leads
// to the next copy, the last one's to the loop itself.
//
// Allowed: loops that are entered at one place, whose blocks hold no tables of branches, no scopes
// that branches cross, and no variables in memory, which copies would have of their own. Of
// instructions that a warp's threads carry out together (barriers, shuffles, matrices) bar.sync
// alone, in loops of as many turns for all threads of a block (together.go).
//
// Safe: a copy is the loop's own statements, in their order, with the same registers: a thread
// carries out exactly the statements that it would have, in the same order, but for branches that
// are known to go on. Floating-point statements are copied as they stand: nothing is compiled
// from the source again, so that no contraction is chosen and no function folded anew but by
// ptxas. Exact as checked: ptxas compiles the arithmetic
// anew.
func Apply(k *pass.Kernel, terms []recipe.Term) error {
	by := map[int]int{}
	for _, t := range terms {
		n, err := recipe.Number(t.Site, 1, most)
		if err != nil {
			return errors.New("a loop is named by its number in the kernel's PTX: repeat@2=4")
		}
		if by[n], err = recipe.Number(t.Value, 2, Most); err != nil {
			return err
		}
	}
	if strings.Contains(string(k.Text()), mark) {
		return fmt.Errorf("the kernel has names with %s already", mark)
	}
	// the last first: what is written in front of a loop leaves the numbers of those before it
	for _, n := range backwards(by) {
		loops, err := read(k.Module, k.Func)
		if err != nil {
			return err
		}
		if n > len(loops) {
			return fmt.Errorf("it has %d loops", len(loops))
		}
		l := loops[n-1]
		if err := l.whole(); err != nil {
			return err
		}
		if size := l.statements() * by[n]; size > mostCopied {
			return fmt.Errorf("%d turns of it would be %d statements, and %d are the most", by[n], size,
				mostCopied)
		}
		l.count()
		l.write(n, by[n])
		if err := k.Commit(); err != nil {
			return err
		}
	}
	return nil
}

func backwards(by map[int]int) (out []int) {
	for n := range by {
		out = append(out, n)
	}
	slices.SortFunc(out, func(a, b int) int { return b - a })
	return out
}

const (
	Most       = 16      // turns
	most       = 1 << 20 // loops
	mostCopied = 40_000  // statements
	mark       = "gnvcc_n"
)

// A Loop is one that may be repeated.
type Loop struct {
	Number  int
	Counted bool // no tests in between
	Inner   bool // no other loop is in it
	Size    int  // statements of a turn
}

// Loops lists those of a kernel. An error says why it has none that may.
func Loops(m *ptx.Module, kernel string) (out []Loop, err error) {
	f := m.Entry(kernel)
	if f == nil {
		return nil, fmt.Errorf("no kernel %s in the PTX", kernel)
	}
	loops, err := read(m, f)
	if err != nil {
		return nil, err
	}
	why := errors.New("it has no loop")
	for n, l := range loops {
		l.count()
		if err := l.whole(); err != nil {
			why = err
			continue
		}
		out = append(out, Loop{Number: n + 1, Counted: l.trip != nil, Inner: l.inner,
			Size: l.statements()})
	}
	if len(out) == 0 {
		return nil, why
	}
	return out, nil
}
