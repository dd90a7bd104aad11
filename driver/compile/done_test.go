package compile

import (
	"context"
	"fmt"
	"strings"
	"testing"

	"gnvcc/cache"
	"gnvcc/driver/drivertest"
	"gnvcc/driver/job"
	"gnvcc/driver/toolcmd"
	"gnvcc/rewrite/ptx"
)

// doneText is a kernel with a comment behind each statement: what ptxas makes of it.
const doneText = `.version 7.0
.target sm_80
.address_size 64

.func (.param .f32 r) called(.param .f32 x, .param .f32 y)
{
	.reg .f32 %%f<6>;
	ld.param.f32 %%f1, [x];
	ld.param.f32 %%f2, [y];
	mul.f32 %%f3, %%f1, %%f1; // nothing
	sub.f32 %%f4, %%f2, %%f3; // contracted
	st.param.f32 [r], %%f4;
	ret;
}

.visible .entry other(.param .u64 p)
{
	ret;
}

.visible .entry k(.param .u64 p, .param .u32 n)
{
	.reg .pred %%p<2>;
	.reg .f32 %%f<20>;
	.reg .f64 %%fd<5>;
	.reg .b32 %%r<2>;
	.reg .b64 %%rd<3>;
	%s
	ld.param.u64 %%rd1, [p];
	cvta.to.global.u64 %%rd2, %%rd1;
	ld.param.u32 %%r1, [n];
	ld.global.f32 %%f1, [%%rd2];
	ld.global.f32 %%f2, [%%rd2+4];
	ld.global.f32 %%f3, [%%rd2+8];
	setp.eq.u32 %%p1, %%r1, 0;
	@%%p1 bra L;
	mul.f32 %%f4, %%f1, %%f2; // nothing
	add.f32 %%f5, %%f4, %%f3; // contracted
	st.global.f32 [%%rd2+12], %%f5;
L:
	add.f32 %%f6, %%f1, %%f3; // rounded by itself
	mul.rn.f32 %%f7, %%f1, %%f3; // rounded by itself
	sub.f32 %%f8, %%f7, %%f2; // rounded by itself
	fma.rn.f32 %%f9, %%f6, %%f8, %%f3; // something else
	ex2.approx.ftz.f32 %%f10, %%f9; // computed on the GPU
	ex2.approx.ftz.f32 %%f11, 0f3F800000; // nothing
	add.rn.f32 %%f12, %%f10, %%f11; // rounded by itself
	cvt.f64.f32 %%fd1, %%f12;
	cvt.f64.f32 %%fd2, %%f1;
	mul.f64 %%fd3, %%fd1, %%fd2; // nothing
	add.f64 %%fd4, %%fd3, %%fd2; // contracted
	cvt.rn.f32.f64 %%f13, %%fd4;
	{
	.param .f32 a;
	st.param.f32 [a], %%f13;
	.param .f32 b;
	st.param.f32 [b], %%f3;
	.param .f32 c;
	call.uni (c), called, (a, b);
	ld.param.f32 %%f14, [c];
	}
	st.global.f32 [%%rd2+16], %%f14;
	ret;
}
`

// ptxasOf is a run of a toolkit's ptxas on a text, and the workbench for it.
func ptxasOf(t *testing.T, version string, args []string, text string) (*Workbench, *job.Job,
	*ptx.Module) {
	t.Helper()
	call, err := toolcmd.ReadPtxas(args)
	if err != nil {
		t.Fatal(err)
	}
	store, err := cache.Open(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	j, err := job.New(store, call, drivertest.Toolkit(t, version)+"/bin/ptxas", []byte(text))
	if err != nil {
		t.Fatal(err)
	}
	m, err := j.Read()
	if err != nil {
		t.Fatal(err)
	}
	_, b, done, err := New(store, t.TempDir()).workbench(context.Background(), Limit, forOne)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(done)
	return b, j, m
}

// TestOutcomes: it is known of each statement what ptxas made of it, with line information of the
// user's own, too.
func TestOutcomes(t *testing.T) {
	for _, version := range []string{"11.8", "12.4", "13.0", "13.3", "13.5"} {
		for name, own := range map[string]string{"plain": "", "lines": ".loc 7 12 3"} {
			t.Run(version+" "+name, func(t *testing.T) {
				text := fmt.Sprintf(doneText, own)
				args := []string{"-arch=sm_80", "in.ptx", "-o", "out.cubin"}
				if own != "" {
					text += ".file 7 \"k.cu\"\n"
					args = append(args, "-lineinfo")
					args[0] = "-arch=sm_90" // cubins of another make
				}
				b, j, m := ptxasOf(t, version, args, text)
				outcomes, _, err := b.outcomes(context.Background(), j, m, "k", nil)
				if err != nil {
					t.Fatal(err)
				}
				list, err := statedIn(m, "k")
				if err != nil {
					t.Fatal(err)
				}
				if len(list) != len(outcomes) || len(list) != strings.Count(text, " // ") {
					t.Fatalf("%d statements, %d outcomes", len(list), len(outcomes))
				}
				for n, s := range list {
					body := string(s.Func.Bytes(s.Func.Inside()))
					at := int(s.Func.Stmts[s.Index].End - s.Func.Inside().Start)
					want, _, _ := strings.Cut(strings.TrimPrefix(body[at:], " // "), "\n")
					if got := outcomes[n].String(); got != want {
						t.Errorf("%s: %s", strings.TrimSpace(body[at-40:at+30]), got)
					}
				}
			})
		}
	}
}
