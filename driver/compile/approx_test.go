package compile

import (
	"context"
	"testing"

	"gnvcc/driver/drivertest"
)

// TestApproximateCandidates: recipes that approximate go the whole way, from the source stage to a
// cubin, with others beside them.
func TestApproximateCandidates(t *testing.T) {
	p := drivertest.NewProject(t, "13.0", map[string]string{"k.cu": `
#include <cmath> // fastmath writes what sin is for every type
__global__ void wave(float *a, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    for (int k = 0; k < n; k++) a[i] = sinf(a[i]) / (1 + expf(a[i])) + sqrtf(a[i]);
}
int main() { wave<<<1, 256>>>(0, 1); }
`})
	p.Gnvcc("-arch=sm_90", "-o", "k", "k.cu")
	c := New(p.Store, t.TempDir())
	s, err := c.Kernel(p.Cubin("k", "sm_90"), "_Z4wavePfi")
	if err != nil {
		t.Fatal(err)
	}
	if calls := s.Code.MathCalls(); calls["sin"] != 1 || calls["exp"] != 1 || len(calls) != 2 {
		t.Errorf("calls %v", calls)
	}
	seen := map[string]string{}
	for _, text := range []string{
		"", "approx=all.ftz", "fastmath=all.ftz", "approx=all.ftz fastmath=all.ftz",
		"approx=all.ftz fastmath=all.ftz unroll=2 maxnreg=64",
		"approx=div fastmath=sin spec{#1=4}",
	} {
		made, err := c.Compile(context.Background(), s, drivertest.MustParse(t, text))
		if err != nil {
			t.Errorf("%s: %v", text, err)
			continue
		}
		if other, ok := seen[made.Path]; ok {
			t.Errorf("%q gives the same cubin as %q", text, other)
		}
		seen[made.Path] = text
	}
}
