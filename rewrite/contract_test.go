package rewrite

import (
	"strings"
	"testing"

	"gnvcc/rewrite/pass"
	"gnvcc/rewrite/ptx"
	"gnvcc/rewrite/ptx/ptxtest"
)

// Complex products, as a loop of real kernels has them, and sums that stay as they are.
const products = `.version 7.0
.target sm_80
.address_size 64

.visible .entry k(.param .u64 a)
{
	.reg .b64 %rd<3>;
	.reg .f32 %f<30>;
	.reg .f64 %fd<30>;
	.reg .pred %p<2>;
	ld.param.u64 %rd1, [a];
	cvta.to.global.u64 %rd2, %rd1;
	ld.global.f32 %f1, [%rd2];
	ld.global.f32 %f2, [%rd2+4];
	ld.global.f32 %f3, [%rd2+8];
	ld.global.f32 %f4, [%rd2+12];
	mul.f32 %f5, %f1, %f3;
	mul.f32 %f6, %f2, %f4;
	sub.f32 %f7, %f5, %f6;
	mul.f32 %f8, %f1, %f4;
	mul.f32 %f9, %f2, %f3;
	add.f32 %f10, %f9, %f8;
	st.global.f32 [%rd2+16], %f7;
	st.global.f32 [%rd2+20], %f10;
	mul.f32 %f11, %f7, %f10;
	mul.f32 %f12, %f7, %f7;
	sub.f32 %f13, %f11, %f12;
	st.global.f32 [%rd2+24], %f11;
	st.global.f32 [%rd2+28], %f13;
	mul.rn.f32 %f14, %f3, %f10;
	mul.f32 %f15, %f4, %f7;
	add.f32 %f16, %f14, %f15;
	st.global.f32 [%rd2+32], %f16;
	{
	.reg .f32 %f4;
	mov.f32 %f4, %f1;
	mul.f32 %f17, %f3, %f4;
	}
	mul.f32 %f18, %f2, %f10;
	sub.f32 %f19, %f17, %f18;
	st.global.f32 [%rd2+36], %f19;
	mul.f32 %f20, %f1, %f2;
	mul.f32 %f21, %f2, %f1;
	add.f32 %f22, %f20, %f21;
	st.global.f32 [%rd2+64], %f22;
	ld.global.f64 %fd1, [%rd2+40];
	ld.global.f64 %fd2, [%rd2+48];
	mul.f64 %fd3, %fd1, %fd1;
	mul.f64 %fd4, %fd2, %fd2;
	sub.f64 %fd5, %fd3, %fd4;
	st.global.f64 [%rd2+56], %fd5;
	ret;
}
`

// TestContract compares with what each ptxas does by itself.
func TestContract(t *testing.T) {
	m, err := ptx.Parse([]byte(products))
	if err != nil {
		t.Fatal(err)
	}
	if err := contract(&pass.Kernel{Func: m.Entries()[0], Module: m}); err != nil {
		t.Fatal(err)
	}
	text := string(m.Bytes())
	for _, want := range []string{"neg.f32 %f7, %f6;\n\tfma.rn.f32 %f7, %f1, %f3, %f7;", "fma.rn.f32 %f10, %f2, %f3, %f8;",
		"neg.f64 %fd5, %fd4;\n\tfma.rn.f64 %fd5, %fd1, %fd1, %fd5;", "sub.f32 %f13, %f11, %f12;", "add.f32 %f16, %f14, %f15;",
		"sub.f32 %f19, %f17, %f18;", "add.f32 %f22, %f20, %f21;"} {
		if !strings.Contains(text, want) {
			t.Errorf("%s is missing in\n%s", want, text)
		}
	}
	for _, kit := range ptxtest.Toolkits(t) {
		cuobjdump := kit.Disassembler(t)
		was, is := kit.SASS(t, cuobjdump, []byte(products), "-arch=sm_80"), kit.SASS(t, cuobjdump, []byte(text), "-arch=sm_80")
		if was["k"] == "" || was["k"] != is["k"] {
			t.Errorf("ptxas %s chose otherwise:\n%s\nwith the choice written down:\n%s", kit.Version, was["k"], is["k"])
		}
	}
}
