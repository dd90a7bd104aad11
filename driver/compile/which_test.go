package compile

import (
	"context"
	"fmt"
	"strings"
	"testing"

	"gnvcc/driver/drivertest"
	"gnvcc/rewrite/fold/same"
	"gnvcc/rewrite/ptx"
	"gnvcc/rewrite/ptx/dataflow"
)

// whichText has differences of two products, each with what contractedWith says of it. A product
// that is used a second time is computed, and so the other one is contracted; where both are, the
// machine code tells, unless they may be one value.
const whichText = `.version 7.0
.target sm_80
.address_size 64

.visible .entry k(.param .u64 p, .param .f32 a, .param .f32 b, .param .f32 c)
{
	.reg .f32 %f<40>;
	.reg .b64 %rd<3>;
	ld.param.u64 %rd1, [p];
	cvta.to.global.u64 %rd2, %rd1;
	ld.global.f32 %f1, [%rd2];
	ld.global.f32 %f2, [%rd2+4];
	ld.global.f32 %f3, [%rd2+8];
	ld.global.f32 %f4, [%rd2+12];
	ld.global.f32 %f5, [%rd2+16];
	ld.global.f32 %f6, [%rd2+20];
	mul.f32 %f10, %f1, %f2;
	mul.f32 %f11, %f3, %f4;
	st.global.f32 [%rd2+32], %f11;
	sub.f32 %f12, %f10, %f11; // 0
	st.global.f32 [%rd2+36], %f12;
	mul.f32 %f13, %f1, %f3;
	mul.f32 %f14, %f2, %f5;
	st.global.f32 [%rd2+40], %f13;
	sub.f32 %f15, %f13, %f14; // 1
	st.global.f32 [%rd2+44], %f15;
	mul.f32 %f16, %f1, %f5;
	mul.f32 %f17, %f5, %f1;
	mul.f32 %f18, %f2, %f6;
	st.global.f32 [%rd2+48], %f17;
	st.global.f32 [%rd2+52], %f18;
	sub.f32 %f19, %f16, %f18; // 0, by the machine code alone
	st.global.f32 [%rd2+56], %f19;
	mul.f32 %f22, %f3, %f6;
	mul.f32 %f23, %f6, %f3;
	st.global.f32 [%rd2+64], %f22;
	sub.f32 %f24, %f22, %f23; // -1
	st.global.f32 [%rd2+68], %f24;
	ld.param.f32 %f25, [a];
	ld.param.f32 %f26, [b];
	mul.f32 %f27, %f1, %f25;
	mul.f32 %f28, %f2, %f26;
	mul.f32 %f29, %f2, %f25;
	st.global.f32 [%rd2+72], %f29;
	st.global.f32 [%rd2+76], %f28;
	sub.f32 %f30, %f27, %f28; // 0
	st.global.f32 [%rd2+80], %f30;
	ld.param.f32 %f31, [c];
	st.global.f32 [%rd2], %f31;
	ld.global.f32 %f32, [%rd2];
	mul.f32 %f33, %f32, %f4;
	mul.f32 %f34, %f31, %f6;
	mul.f32 %f35, %f31, %f4;
	st.global.f32 [%rd2+84], %f34;
	st.global.f32 [%rd2+88], %f35;
	sub.f32 %f36, %f33, %f34; // 0, by the machine code alone
	st.global.f32 [%rd2+92], %f36;
	mul.f32 %f20, %f6, %f6;
	sub.f32 %f21, %f20, %f1; // -1
	st.global.f32 [%rd2+60], %f21;
	ret;
}
`

// TestWhich: it is known with which product a difference of two was contracted, and not where
// another statement may compute the one that is at no line.
func TestWhich(t *testing.T) {
	for _, version := range []string{"11.8", "12.4", "13.0", "13.3", "13.5"} {
		t.Run(version, func(t *testing.T) {
			b, j, m := ptxasOf(t, version, []string{"-arch=sm_80", "in.ptx", "-o", "out.cubin"}, whichText)
			did, err := b.done(context.Background(), j, m, "k", m, "k", nil)
			if err != nil {
				t.Fatal(err)
			}
			f, sums := m.Entry("k"), 0
			var all []same.Statement
			for i := range f.Stmts {
				if string(f.Base(i)) != "sub" {
					continue
				}
				sums++
				s := same.Statement{Func: f, Index: i}
				all = append(all, s)
				_, behind, _ := strings.Cut(string(f.Text()), text(s)+"; // ")
				want, _, _ := strings.Cut(behind, "\n")
				want, _, shown := strings.Cut(want, ", by the machine code alone")
				if got := fmt.Sprint(did.contractedWith(s)); got != want {
					t.Errorf("%s (%s): %s, not %s", text(s), did.did[s], got, want)
				}
				if shown {
					want = "-1"
				}
				if got := fmt.Sprint(newOutcomes(did.did, did.reach).contractedWith(s)); got != want {
					t.Errorf("%s, by lines alone: %s, not %s", text(s), got, want)
				}
			}
			if sums != 7 {
				t.Fatalf("%d differences", sums)
			}
			tired := newOutcomes(did.did, did.reach)
			tired.equal[f] = pairs{}
			for n := range mostPairs {
				tired.equal[f][[2]int{-1, n}] = false
			}
			for _, s := range all {
				if got := tired.contractedWith(s); got >= 0 {
					t.Errorf("%s: %d, though nothing more is looked at", text(s), got)
				}
			}
			// The first two are alike, and ptxas rounds the one's minuend and the other's subtrahend.
			for with, ok := range []bool{true, false} {
				answer := &same.Answer{Both: all[:2]}
				for n, s := range all {
					may := []same.Statement{s}
					if n == 0 {
						may = all[with : with+1]
					}
					if n != 2 && n < 4 { // of others it isn't known
						answer.Sums = append(answer.Sums, same.Sum{At: s, May: may, Ordered: may})
					}
				}
				for _, s := range all[2:] {
					did.did[s] = alone
				}
				if err := agree(t.Context(), answer, did, did); (err == nil) != ok {
					t.Errorf("the first with %d: %v", with, err)
				}
			}
		})
	}
}

// TestMayEqual: values that ptxas may find to be one count as equal: what is put together from
// registers, and what it may hand on from local memory or a function.
func TestMayEqual(t *testing.T) {
	const text = `.version 7.0
.target sm_80
.address_size 64

.func (.param .f64 out) g(.param .f64 in);

.visible .entry k(.param .f64 a, .param .f64 b)
{
	.local .align 8 .b8 two[16];
	.reg .b32 %r<9>;
	.reg .f64 %d<30>;
	ld.param.f64 %d1, [a];
	ld.param.f64 %d2, [a];
	ld.param.f64 %d3, [b];
	mov.b64 {%r1, %r2}, %d1;
	mov.b64 {%r3, %r4}, %d1;
	mov.b64 %d4, {%r1, %r2};
	mov.b64 %d5, {%r3, %r4};
	st.local.f64 [two], %d1;
	st.local.f64 [two+8], %d1;
	ld.local.f64 %d6, [two];
	ld.local.f64 %d7, [two+8];
	{
	.param .f64 in0;
	.param .f64 out0;
	st.param.f64 [in0], %d1;
	call.uni (out0), g, (in0);
	ld.param.f64 %d8, [out0];
	}
	{
	.param .f64 in1;
	.param .f64 out1;
	st.param.f64 [in1], %d1;
	call.uni (out1), g, (in1);
	ld.param.f64 %d9, [out1];
	}
	ret;
}
`
	m, err := ptx.Parse([]byte(text))
	if err != nil {
		t.Fatal(err)
	}
	f := m.Entry("k")
	d := newOutcomes(nil, map[*ptx.Func]*dataflow.Reaching{})
	if err := d.follow(f); err != nil {
		t.Fatal(err)
	}
	at := map[string]int{}
	for i, s := range f.Stmts {
		if o := f.Operands(i, nil); s.Kind == ptx.Inst && len(o) > 1 {
			at[string(f.Bytes(o[0]))] = i
		}
	}
	for _, c := range []struct {
		a, b string
		want bool
	}{{"%d1", "%d2", true}, {"%d1", "%d3", false}, {"%d4", "%d5", true}, {"%d6", "%d7", true},
		{"%d8", "%d9", true}, {"%d3", "%d9", false}} {
		if got := d.values(f).mayEqual(at[c.a], at[c.b]); got != c.want {
			t.Errorf("%s and %s: %v", c.a, c.b, got)
		}
	}
}

// TestFaces: differences of two products of what is many steps from memory, halved on the way, are
// known to be contracted alike in a variant.
func TestFaces(t *testing.T) {
	const text = `
__global__ void face(double *o, const double *__restrict__ x, const double *__restrict__ y,
    const int *__restrict__ at, int n) {
  int t = blockIdx.x * blockDim.x + threadIdx.x;
  if (t >= n) return;
  double p[4], q[4];
  for (int i = 0; i < 4; i++) { p[i] = x[at[t * 4 + i]]; q[i] = y[at[t * 4 + i]]; }
  double a = 0.5 * (p[3] + p[2] - p[1] - p[0]), b = 0.5 * (q[3] + q[2] - q[1] - q[0]);
  double c = 0.5 * (p[2] + p[1] - p[3] - p[0]), d = 0.5 * (q[2] + q[1] - q[3] - q[0]);
  o[t] = a * d - b * c;
}
int main() { face<<<1, 1>>>(0, 0, 0, 0, 0); }
`
	p := drivertest.NewProject(t, "13.0", map[string]string{"k.cu": text})
	p.Gnvcc("-arch=sm_90", "k.cu", "-o", "app")
	c := New(p.Store, t.TempDir())
	s, r := named(t, c, p.Cubin("app", "sm_90"), "_Z4facePdPKdS1_PKii",
		"spec{n=4096,blockDim.x=256,blockDim.y=1,blockDim.z=1}")
	if err := doubtful(t, c, s, r).Prove(context.Background()); err != nil {
		t.Error(err)
	}
}
