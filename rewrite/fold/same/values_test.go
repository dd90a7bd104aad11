package same

import (
	"testing"

	"gnvcc/rewrite/fold"
	"gnvcc/rewrite/ptx/ptxtest"
)

// TestValues: what a sum of a few numbers may be is known, unless a comparison may tell it.
func TestValues(t *testing.T) {
	const text = `extern "C" __global__ void sum(float *o, const float *a, int n, float s) {
  float x = 0.0f;
#pragma unroll 1
  for (int i = 0; i < n; i++) { o[i + 64] = (x + 3.0f) * o[i]; x = a[i]; }
}
extern "C" __global__ void known(float *o, const float *a, int n, float s) {
  float x = 0.0f;
#pragma unroll 1
  for (int i = 0; i < n; i++) { float y = x + 3.0f; if (y == s) o[i + 64] = y * o[i]; x = a[i]; }
}
`
	kits := ptxtest.Toolkits(t)
	m := compiled(t, kits[len(kits)-1], text)
	for name, any := range map[string]bool{"sum": false, "known": true} {
		g, err := read(built(m, name))
		if err != nil {
			t.Fatal(err)
		}
		all, sums := outcomes(g, fold.Fixed{Params: map[int]bool{3: true}}, false), 0
		for i, n := range g.nodes {
			if n.kind != operation || n.base != "add" {
				continue
			}
			sums++
			if f := all[i]; !f.constant || f.any != any || !any && f.values[0] != "0f40400000" {
				t.Errorf("%s: %+v", name, f)
			}
		}
		if sums != 1 {
			t.Errorf("%s: %d sums", name, sums)
		}
	}
}
