package check

import (
	"testing"

	"gnvcc/rewrite/ptx"
)

// TestSelects: a number that was computed counts where arguments alone choose whether it is used,
// and not where a thread's place or memory does, nor where all that is chosen from are constants.
func TestSelects(t *testing.T) {
	for text, want := range map[string]bool{
		"setp.eq.s32 %p1, %r1, 3; fma.rn.f32 %f2, %f1, %f1, %f1; selp.f32 %f3, %f2, %f1, %p1;":                true,
		"setp.gt.u32 %p1, %r1, 3; mul.f32 %r2, %r3, %r3; selp.b32 %r4, %r3, %r2, %p1;":                        true,
		"mov.u32 %r2, %ntid.x; setp.eq.s32 %p1, %r2, 64; mul.f32 %f2, %f1, %f1; selp.f32 %f3, %f2, %f1, %p1;": true,
		"setp.eq.s32 %p1, %r1, 3; selp.f32 %f3, 0f3F800000, %f1, %p1;":                                        false,
		"mov.u32 %r2, %tid.x; setp.lt.s32 %p1, %r2, %r1; mul.f32 %f2, %f1, %f1; selp.f32 %f3, %f2, %f1, %p1;": false,
		"setp.eq.s32 %p1, %r3, %r1; mul.f32 %f2, %f1, %f1; selp.f32 %f3, %f2, %f1, %p1;":                      false,
		"setp.eq.s32 %p1, %r1, 3; mul.lo.s32 %r2, %r1, %r1; selp.b32 %r4, %r1, %r2, %p1;":                     false,
	} {
		m, err := ptx.Parse([]byte(`.version 8.0
.target sm_90
.address_size 64
.visible .entry k(.param .u64 k_0, .param .align 8 .b8 k_1[16])
{
	.reg .b64 %rd<4>; .reg .b32 %r<8>; .reg .f32 %f<4>; .reg .pred %p<3>;
	ld.param.u64 %rd1, [k_0];
	ld.param.u32 %r1, [k_1+8];
	ld.global.f32 %f1, [%rd1];
	ld.global.b32 %r3, [%rd1];
	` + text + `
	ret;
}
`))
		if err != nil {
			t.Fatal(err)
		}
		a := ArgumentsOf(m.Entry("k"))
		if a.Selects != want {
			t.Errorf("%s: %v", text, a.Selects)
		}
		if a.Decides(0, 0, 8) || a.Decides(1, 0, 8) || a.Decides(1, 12, 4) || want && text[0] == 's' && !a.Decides(1, 8, 4) {
			t.Errorf("%s: %v decide", text, a.deciding)
		}
	}
}
