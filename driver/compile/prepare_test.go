package compile

import (
	"context"
	"testing"

	"gnvcc/driver/drivertest"
)

// TestPrepare: what proofs need of the kernel itself is made once, beforehand; a proof then runs
// the tools for its variant alone.
func TestPrepare(t *testing.T) {
	text := "__global__ void loop(float *e, const float *a, int n, float s) {\n" +
		"  float x = s * blockIdx.x, v = 0;\n" +
		"  for (int i = 0; i < n; i++) v += rsqrtf(x + a[i]);\n" +
		"  e[blockIdx.x] = v;\n" +
		"}\n" +
		"__global__ void whole(int *e, int n) { e[threadIdx.x] = n; }\n" +
		"int main() { loop<<<1, 1>>>(0, 0, 0, 0); whole<<<1, 1>>>(0, 0); }\n"
	p := drivertest.NewProject(t, "13.0", map[string]string{"k.cu": text})
	p.Gnvcc("-arch=sm_80", "k.cu", "-o", "app")
	hash := p.Cubin("app", "sm_80")
	c := New(p.Store, t.TempDir())
	runs := func(do func()) (cicc, ptxas int) {
		before, was := c.Spent("cicc")
		one, _ := c.Spent("ptxas")
		do()
		after, now := c.Spent("cicc")
		two, _ := c.Spent("ptxas")
		if now < was {
			t.Error("time went back")
		}
		return after - before, two - one
	}
	const kernel = "_Z4loopPfPKfif"
	prepare := func(kernel string) (cicc, ptxas int) {
		s, err := c.Kernel(hash, kernel)
		if err != nil {
			t.Fatal(err)
		}
		return runs(func() {
			if err := c.Prepare(context.Background(), s); err != nil {
				t.Error(err)
			}
		})
	}
	if cicc, ptxas := prepare(kernel); cicc != 2 || ptxas != 2 {
		t.Errorf("prepared with %d runs of cicc and %d of ptxas", cicc, ptxas)
	}
	if cicc, ptxas := prepare(kernel); cicc+ptxas != 0 {
		t.Errorf("again: %d runs of cicc and %d of ptxas", cicc, ptxas)
	}
	if cicc, ptxas := prepare("_Z5wholePii"); cicc+ptxas != 0 {
		t.Errorf("without floating point: %d runs of cicc and %d of ptxas", cicc, ptxas)
	}
	for n, spec := range []string{"spec{n=100}", "spec{n=101}"} {
		s, r := named(t, c, hash, kernel, spec)
		early := 0
		if n == 0 {
			early = 1 // the kernel at -O1
		}
		cicc, ptxas := runs(func() {
			if err := doubtful(t, c, s, r).Prove(context.Background()); err != nil {
				t.Errorf("%s: %v", spec, err)
			}
		})
		// the variant, also with line information; the candidate, also with lines of its own
		if cicc != 2+early || ptxas != 2 {
			t.Errorf("%s: %d runs of cicc and %d of ptxas", spec, cicc, ptxas)
		}
	}
}
