package contract

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"gnvcc/driver/drivertest"
	"gnvcc/rewrite/ptx"
)

const before = `.version 7.0
.target sm_80
.address_size 64

.visible .entry k(.param .u64 p, .param .u32 n)
{
	.reg .pred %p<2>;
	.reg .f32 %f<20>;
	.reg .f64 %fd<9>;
	.reg .b32 %r<2>;
	.reg .b64 %rd<3>;

	ld.param.u64 %rd1, [p];
	cvta.to.global.u64 %rd2, %rd1;
	ld.param.u32 %r1, [n];
	setp.eq.u32 %p1, %r1, 0;
	ld.global.f32 %f1, [%rd2];
	ld.global.f32 %f2, [%rd2+4];
	ld.global.f32 %f3, [%rd2+8];
	ld.global.f64 %fd1, [%rd2+16];
	mul.f32 %f4, %f1, %f2;
	mul.ftz.f32 %f5, %f1, 0f40400000;
	mul.f64 %fd2, %fd1, 0d4008000000000000;
LOOP:
	add.f32 %f6, %f4, %f3; // 0
	sub.f32 %f7, %f3, %f4; // 1
	sub.sat.f32 %f8, %f4, %f3; // 0
	@%p1 add.ftz.f32 %f9, %f3, %f5; // 1
	add.f32 %f10, %f5, %f3; // 0, left: one flushes
	sub.f64 %fd3, %fd1, %fd2; // 1
	@!%p1 sub.ftz.f32 %f11, %f1, %f2; // alone
	add.f64 %fd4, %fd1, %fd1; // alone
	mov.f32 %f1, %f6;
	add.f32 %f12, %f9, %f10;
	add.f32 %f13, %f11, %f7;
	st.global.f32 [%rd2], %f12;
	st.global.f32 [%rd2+4], %f13;
	st.global.f32 [%rd2+8], %f8;
	st.global.f64 [%rd2+16], %fd3;
	st.global.f64 [%rd2+24], %fd4;
	@%p1 bra LOOP;
	ret;
}
`

// TestWrite: every form of a sum, and what ptxas makes of it.
func TestWrite(t *testing.T) {
	m, err := ptx.Parse([]byte(before))
	if err != nil {
		t.Fatal(err)
	}
	f := m.Entry("k")
	var sums []Sum
	for i := range f.Stmts {
		_, comment, _ := strings.Cut(lineOf(f, i), "// ")
		if base := string(f.Base(i)); base != "add" && base != "sub" || comment == "" {
			continue
		}
		sums = append(sums, Sum{i, map[byte]int{'0': 0, '1': 1, 'a': Alone}[comment[0]]})
	}
	left, err := Write(f, sums)
	if err != nil || len(left) != 1 {
		t.Errorf("left %v, %v", left, err)
	}
	text := string(m.Bytes())
	for _, want := range []string{
		"mov.f32 %gnvcc_fs0, %f1;\n\tmov.f32 %gnvcc_fs1, %f2;\n\tmul.f32 %f4, %f1, %f2;",
		"fma.rn.f32 %f6, %gnvcc_fs0, %gnvcc_fs1, %f3;",
		"neg.f32 %gnvcc_fs2, %gnvcc_fs0;\n\tfma.rn.f32 %f7, %gnvcc_fs2, %gnvcc_fs1, %f3;",
		"neg.f32 %gnvcc_fs3, %f3;\n\tfma.rn.sat.f32 %f8, %gnvcc_fs0, %gnvcc_fs1, %gnvcc_fs3;",
		"@%p1 fma.rn.ftz.f32 %f9, %gnvcc_fs4, %gnvcc_fs5, %f3;",
		"add.f32 %f10, %f5, %f3;",
		"mov.f64 %gnvcc_fd1, 0d4008000000000000;",
		"fma.rn.f64 %fd3, %gnvcc_fd2, %gnvcc_fd1, %fd1;",
		"@!%p1 sub.rn.ftz.f32 %f11, %f1, %f2;",
		"add.rn.f64 %fd4, %fd1, %fd1;",
	} {
		if !strings.Contains(text, want) {
			t.Errorf("no %q in\n%s", want, text)
		}
	}
	for _, version := range []string{"11.8", "13.0", "13.5"} {
		t.Run(version, func(t *testing.T) {
			in := filepath.Join(t.TempDir(), "k.ptx")
			if err := os.WriteFile(in, []byte(text), 0o600); err != nil {
				t.Fatal(err)
			}
			ptxas := drivertest.Toolkit(t, version) + "/bin/ptxas"
			if said, err := drivertest.Run(ptxas, "-arch=sm_80", "-o", in+".cubin", in); err != nil {
				t.Errorf("%v: %s\n%s", err, said, text)
			}
		})
	}
}

// lineOf is the rest of the line from a statement on.
func lineOf(f *ptx.Func, i int) string {
	line, _, _ := strings.Cut(string(f.Text()[f.Stmts[i].Start:]), "\n")
	return line
}
