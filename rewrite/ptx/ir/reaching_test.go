package ir

import (
	"fmt"
	"testing"

	"gnvcc/rewrite/ptx"
)

// TestReaching: what each read of %r1 may see, by the number that was put there.
func TestReaching(t *testing.T) {
	m, err := ptx.Parse([]byte(`.version 7.8
.target sm_80
.address_size 64
.visible .entry k(.param .u32 n)
{
	.reg .pred %p<3>;
	.reg .b32 %r<4>;
	mov.u32 %r1, 0;
	ld.param.u32 %r2, [n];
	setp.eq.s32 %p1, %r2, 0;
LOOP:
	add.s32 %r1, %r1, 1;
	setp.lt.s32 %p2, %r1, %r2;
	@%p2 bra LOOP;
	add.s32 %r3, %r1, 2;
	@%p1 mov.u32 %r1, 3;
	add.s32 %r3, %r1, 4;
	mov.u32 %r1, 5;
	add.s32 %r3, %r1, 6;
	ret;
}
`))
	if err != nil {
		t.Fatal(err)
	}
	w, err := Of(m.Entry("k"))
	if err != nil {
		t.Fatal(err)
	}
	reach, err := w.Reaching()
	if err != nil {
		t.Fatal(err)
	}
	number := func(x *Inst) string { return x.Args[len(x.Args)-1].Text }
	got := ""
	for i := range w.Stmts {
		for _, a := range w.Accesses(i) {
			if a.Read && w.Name(a.Reg) == "%r1" {
				got += w.Inst(i).Op + number(w.Inst(i)) + ":"
				for _, d := range reach(i, a.Reg) {
					got += fmt.Sprint(" ", number(w.Inst(d)))
				}
				got += "; "
			}
		}
	}
	if want := "add1: 0 1; setp%r2: 1; add2: 1; add4: 1 3; add6: 5; "; got != want {
		t.Errorf("got  %s\nwant %s", got, want)
	}
}
