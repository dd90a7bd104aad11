package compile

import (
	"context"
	"strings"
	"testing"
)

// numbersText is a kernel with a number that does different things with it.
const numbersText = `.version 7.0
.target sm_80
.address_size 64

.visible .entry k(.param .u64 p)
{
	.reg .pred %p<2>;
	.reg .f32 %f<10>;
	.reg .b32 %r<4>;
	.reg .b64 %rd<6>;
	ld.param.u64 %rd1, [p];
	cvta.to.global.u64 %rd2, %rd1;
	mov.f32 %f1, 0f3F333333;
	mov.f32 %f3, 0f00000000;
	mov.u32 %r1, 0;
	BEFORE
L:
	ex2.approx.f32 %f2, %f1;
	add.f32 %f3, %f3, %f2;
	mul.wide.s32 %rd3, %r1, 4;
	add.s64 %rd4, %rd2, %rd3;
	ld.global.f32 %f1, [%rd4];
	add.s32 %r1, %r1, 1;
	setp.lt.s32 %p1, %r1, %r2;
	@%p1 bra L;
	st.global.f32 [%rd2], %f3;
	AFTER
	ret;
}
`

// TestUntouched: where ptxas computes an approximate instruction for a number, in one round of a
// loop that it takes apart or for good, another number shows it; what only holds the number does
// not.
func TestUntouched(t *testing.T) {
	const loaded, known = "ld.global.u32 %r2, [%rd2+64];", "mov.u32 %r2, 3;"
	for _, c := range []struct {
		name, before, after string
		same                bool
	}{
		{"a loop", loaded, "", true},
		{"a loop that is taken apart", known, "", false},
		{"a sum", loaded, "add.f32 %f4, %f3, 0f3F333333; st.global.f32 [%rd2+4], %f4;", true},
		{"bits", loaded, "mov.u32 %r3, 1060320051; st.global.u32 [%rd2+4], %r3;", true},
		{"a function", loaded,
			"mov.f32 %f5, 0f3F333333; ex2.approx.f32 %f6, %f5; st.global.f32 [%rd2+4], %f6;", false},
	} {
		text := strings.NewReplacer("BEFORE", c.before, "AFTER", c.after).Replace(numbersText)
		for _, version := range []string{"11.8", "12.4", "13.0", "13.3", "13.5"} {
			t.Run(c.name+" "+version, func(t *testing.T) {
				b, j, m := ptxasOf(t, version, []string{"-arch=sm_80", "in.ptx", "-o", "out.cubin"}, text)
				err := b.untouched(context.Background(), j, m, nil, []string{"0f3f333333"})
				if (err == nil) != c.same {
					t.Error(err)
				}
			})
		}
	}
}
