package ir

import (
	"testing"

	"gnvcc/rewrite/ptx"
)

// TestExpressions: other values have other texts.
func TestExpressions(t *testing.T) {
	m, err := ptx.Parse([]byte(`.version 8.0
.target sm_90
.address_size 64
.visible .entry k(.param .u32 n)
{
	.reg .b32 %r<9>;
	.reg .f32 %f<9>;
	.reg .b64 %rd<9>;
	ld.param.u32 %r1, [n];
	cvt.u64.u32 %rd1, %r1;
	cvt.s64.s32 %rd2, %r1;
	mov.u32 %r2, %r1;
	add.s32 %r3, %r1, 1;
	add.u32 %r4, %r2, 1;
	add.sat.s32 %r5, %r1, 1;
	mov.b32 %f1, %r1;
	add.f32 %f2, %f1, %f1;
	add.rz.f32 %f3, %f1, %f1;
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
	of := func(name string) string {
		for r := range w.Registers() {
			if w.Name(Reg(r)) == name {
				return w.Expression(Operand{Text: name, Reg: Reg(r)})
			}
		}
		return ""
	}
	for _, c := range []struct {
		a, b string
		same bool
	}{
		{"%rd1", "%rd2", false}, {"%rd1", "%r1", false}, {"%r1", "%r2", true}, {"%r3", "%r4", true},
		{"%r3", "%r5", false}, {"%f2", "%f3", false},
	} {
		if x, y := of(c.a), of(c.b); (x == y) != c.same {
			t.Errorf("%s is %s, %s is %s", c.a, x, c.b, y)
		}
	}
}
