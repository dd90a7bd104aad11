package fold

import (
	"strings"
	"testing"

	"gnvcc/rewrite/ptx"
)

const prunable = `.version 7.8
.target sm_80
.address_size 64
.visible .entry k(.param .u64 k_0, .param .u32 k_1)
{
	.reg .pred %p<9>;
	.reg .f32 %f<9>;
	.reg .b32 %r<9>;
	.reg .b64 %rd<9>;
	ld.param.u64 %rd1, [k_0];
	ld.param.u32 %r1, [k_1];
	mov.f32 %f1, 0f00000000;
	mov.u32 %r2, 0;
	setp.lt.s32 %p1, %r1, 1;
	@%p1 bra $around;
$loop:
	ld.global.f32 %f2, [%rd1];
	add.f32 %f1, %f1, %f2;
	add.s32 %r2, %r2, 1;
	setp.lt.s32 %p2, %r2, %r1;
	@%p2 bra $loop;
$around:
	SCOPE
	setp.eq.s32 %p3, %r1, 5;
	@%p3 bra $five;
	mov.f32 %f1, 0f3F800000;
$five:
	ex2.approx.f32 %f3, %f1;
	st.global.f32 [%rd1], %f3;
	ret;
}
`

// What a loop leaves is no number where its turns are known to be some, and else may be one, or
// which one it is.
func TestWays(t *testing.T) {
	for _, c := range []struct {
		scope string
		n     int64
		ok    bool
	}{
		{"", 5, true},
		{"", 0, false},
		{"", 4, false},
		{"{ .reg .b32 t; mov.u32 t, 5; }", 5, true},
		{"{ .reg .b32 %r1; mov.u32 %r1, 5; }", 5, false},
		{"{ .reg .b32 %r<3>; mov.u32 %r1, 5; }", 5, false},
		{"mov.u32 %r1, %tid.x;", 5, false},
	} {
		m, err := ptx.Parse([]byte(strings.Replace(prunable, "SCOPE", c.scope, 1)))
		if err != nil {
			t.Fatal(err)
		}
		fixed := Fixed{Params: map[int]bool{1: true}, Integers: map[string]int64{"1+0": c.n}}
		own := func(string) bool { return true }
		if Check(m, "k", fixed, own) == nil {
			t.Error("the kernel passes with all its ways: nothing is shown here")
		}
		fixed.PTX = true
		if err = Check(m, "k", fixed, own); (err == nil) != c.ok {
			t.Errorf("%q, n=%d: %v", c.scope, c.n, err)
		}
	}
}

const left = `.version 7.8
.target sm_80
.address_size 64
.visible .entry k(.param .u64 k_0, .param .u32 k_1)
{
	.reg .pred %p<9>;
	.reg .f32 %f<9>;
	.reg .b32 %r<9>;
	.reg .b64 %rd<9>;
	ld.param.u64 %rd1, [k_0];
	ld.param.u32 %r1, [k_1];
	ld.global.u32 %r2, [%rd1];
	ld.global.u64 %rd2, [%rd1];
	setp.lt.s32 %p1, %r1, 5;
	@%p1 bra $few;
	FIRST
$few:
	THEN
	cvt.rn.f32.s32 %f1, %r2;
	ex2.approx.f32 %f2, %f1;
	st.global.f32 [%rd1], %f2;
	ret;
}
`

// Of an integer from memory nothing may be left.
func TestNothingLeft(t *testing.T) {
	for _, c := range []struct {
		first, then string
		ok          bool
	}{
		{"", "mul.lo.s32 %r2, %r2, 196608;", true},
		{"mul.lo.s32 %r2, %r2, 196608;", "mul.lo.s32 %r2, %r2, 196608;", false},
		{"mul.lo.s32 %r2, %r2, 3;", "mul.lo.s32 %r2, %r2, 196608;", true},
		{"mul.lo.s32 %r2, %r2, 196608; add.s32 %r2, %r2, 1;", "mul.lo.s32 %r2, %r2, 196608;", false},
		{"", "mul.hi.u32 %r2, %r2, 4;", false},
		{"", "mov.b64 {%r3, %r2}, %rd2;", true},
		{"cvt.u64.u32 %rd2, %r2;", "mov.b64 {%r3, %r2}, %rd2;", false},
		{"ld.global.u32 %rd2, [%rd1];", "mov.b64 {%r3, %r2}, %rd2;", false},
		{"mul.wide.u32 %rd2, %r2, 3;", "mov.b64 {%r3, %r2}, %rd2;", false},
	} {
		m, err := ptx.Parse([]byte(strings.NewReplacer("FIRST", c.first, "THEN", c.then).Replace(left)))
		if err != nil {
			t.Fatal(err)
		}
		err = Check(m, "k", Fixed{Params: map[int]bool{1: true}, PTX: true,
			Integers: map[string]int64{"1+0": 9}}, func(string) bool { return true })
		if (err == nil) != c.ok {
			t.Errorf("%q, then %q: %v", c.first, c.then, err)
		}
	}
}
