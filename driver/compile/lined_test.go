package compile

import (
	"context"
	"slices"
	"strings"
	"testing"

	"gnvcc/driver/drivertest"
	"gnvcc/driver/record"
	"gnvcc/rewrite/fold"
)

// TestDraftProof: a draft whose sums are left to the compilers is proved without another run of
// cicc, and what a build makes of its recipe is proved with it. Where a kernel has no slice, the
// proof compiles the whole text.
func TestDraftProof(t *testing.T) {
	const text = `
template <class F> __global__ void apply(float *p, int n, F f) { for (int i = 0; i < n; i++) p[i] = f(p[i]) * 3 + p[0]; }
static __global__ void dot(float *o, const float *x, const float *y, int n) {
  float s = 0;
  for (int i = 0; i < n; i++) s += x[i] * y[i];
  o[threadIdx.x] = s;
}
int main() { apply<<<1, 1>>>((float *)0, 1, [] __device__(float x) { return x + 1; }); dot<<<1, 1>>>(0, 0, 0, 1); }
`
	for _, version := range []string{"11.8", "12.4", "13.0", "13.5"} {
		t.Run(version, func(t *testing.T) {
			p := drivertest.NewProject(t, version, map[string]string{"k.cu": text})
			p.Gnvcc("-arch=sm_80", "--extended-lambda", "k.cu", "-o", "app")
			c, hash, ctx := New(p.Store, t.TempDir()), p.Cubin("app", "sm_80"), context.Background()
			c.free = true
			cicc, ptxas := 0, 0
			spent := func() (more, then int) {
				a, _ := c.Spent("cicc")
				b, _ := c.Spent("ptxas")
				more, then, cicc, ptxas = a-cicc, b-ptxas, a, b
				return more, then
			}
			kernels := record.Read(p.Store).Assemblies[hash][0].Kernels
			if len(kernels) != 2 {
				t.Fatalf("%d kernels", len(kernels))
			}
			for _, k := range kernels {
				kernel := k.Name
				s, r := named(t, c, hash, kernel, "unroll=3")
				draft, err := c.Draft(ctx, s, r)
				if err != nil || draft.Prove == nil || draft.Draft == strings.Contains(kernel, "apply") {
					t.Fatalf("%s: %+v, %v", kernel, draft, err)
				}
				spent()
				if err := draft.Prove(ctx); err != nil {
					t.Fatalf("%s: %v", kernel, err)
				}
				runs, _ := spent()
				if !draft.Draft {
					if runs != 2 {
						t.Errorf("%s: %d runs of cicc", kernel, runs)
					}
					continue
				}
				if runs != 0 {
					t.Errorf("%s: %d runs of cicc for a proof", kernel, runs)
				}
				real, err := c.Compile(ctx, s, r)
				if err != nil || real.Prove == nil {
					t.Fatal(real, err)
				}
				if err := real.Prove(ctx); err != nil {
					t.Error(err)
				}
				if runs, assembled := spent(); runs != 1 || assembled != 0 {
					t.Errorf("%d runs of cicc and %d of ptxas for what a build makes of a draft", runs, assembled)
				}
				if !slices.Equal(machineCode(t, real), machineCode(t, draft)) {
					t.Error("a build's code is another")
				}
			}
		})
	}
}

// TestHoldsPower: the powers of two are found as the words of a text have them.
func TestHoldsPower(t *testing.T) {
	for text, want := range map[string]bool{"": false, "0f3f000000": true, "mul.f32 %f1, %f2, 0f40000000;": true,
		"0F3E800000": true, "0f3F0000000": false, "%r0f3f000000": false, "-0f3f000000": false,
		"0f3f00000": false, "0f3f800000": false, "a,0f3f000000": true, "0f0f3f000000": false,
		"[0f41000000]": true, "@0f3e000000!": true, "0f3f000000.x": false, "\xe90f3f000000\xe9": true} {
		words := slices.ContainsFunc(anyNumber().FindAll([]byte(text), -1), func(w []byte) bool {
			return fold.PowerOfTwo(string(w))
		})
		if holdsPower([]byte(text)) != want || words != want {
			t.Errorf("%q: %v, by words %v", text, !want, words)
		}
	}
}
