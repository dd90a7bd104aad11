package dataflow

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
	f := m.Entry("k")
	r, err := ReachingOf(f)
	if err != nil {
		t.Fatal(err)
	}
	if !r.Written("%r1") || r.Written("%r9") {
		t.Error("which registers are written is wrong")
	}
	number := func(i int) string { // the last operand
		ops := f.Operands(i, nil)
		return string(f.Bytes(ops[len(ops)-1]))
	}
	got := ""
	for i, s := range f.Stmts {
		if s.Kind != ptx.Inst {
			continue
		}
		f.Effects(i, func(n ptx.Span, read, _ bool) {
			if !read || string(f.Bytes(n)) != "%r1" {
				return
			}
			got += fmt.Sprint(string(f.Base(i)), number(i), ":")
			for _, d := range r.Of(i, "%r1") {
				got += " " + number(d)
			}
			got += "; "
		})
	}
	if want := "add1: 0 1; setp%r2: 1; add2: 1; add4: 1 3; add6: 5; "; got != want {
		t.Errorf("got  %s\nwant %s", got, want)
	}
}
