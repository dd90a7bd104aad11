package same

import (
	"slices"
	"strings"
	"testing"

	"gnvcc/rewrite/fold"
	"gnvcc/rewrite/ptx/ptxtest"
)

// TestSelections: which of two values is multiplied with which follows from selections by one
// predicate. Not so where a predicate was turned round, by the source or by what the variant knows
// of it.
func TestSelections(t *testing.T) {
	const text = `extern "C" __global__ void k(float *o, const float *__restrict__ a, int n) {
  int t = threadIdx.x;
  float p = 0, q = 0;
  UNROLL for (int i = 0; i < n; i++) {
    float x = a[i + t], u = x * x * 0.3f + 1, v = x * x * 0.7f + x;
    int odd = __float2int_rn(x);
    float s = FIRST ? u : v, c = SECOND;
    p += a[t] * s; q += a[t] * c;
  }
  float x = a[t + 9], u = x * x * 0.3f + 1, v = x * x * 0.7f + x;
  int odd = __float2int_rn(x);
  float s = FIRST ? u : v, c = SECOND;
  o[t] = p * c + q * s;
}
`
	kits := ptxtest.Toolkits(t)
	for _, kit := range slices.Compact([]ptxtest.Toolkit{kits[0], kits[len(kits)-1]}) {
		for _, c := range []struct {
			first, second string
			same          bool
		}{
			{"odd & 1", "odd & 1 ? v : u", true},
			{"odd & 1", "odd & 1 ? v : u * x * x", true},
			{"odd & 1", "odd & 2 ? v : u", false},       // of another predicate
			{"odd & 1", "(odd + 1) & 1 ? v : u", false}, // s again
			{"x > a[t]", "x > a[t] ? v : u", false},     // floats may be compared the other way round
			{"n == 7", "n == 7 ? v : u", false},         // a loop may know it
		} {
			def := strings.NewReplacer("FIRST", c.first, "SECOND", c.second).Replace(text)
			variant := compiled(t, kit, strings.Replace(def, "UNROLL", "\n#pragma unroll 2\n#line 4\n", 1))
			_, err := Same(built(sameLine(compiled(t, kit, strings.Replace(def, "UNROLL", "", 1))), "k"),
				built(sameLine(variant), "k"), fold.Fixed{})
			if (err == nil) != c.same {
				t.Errorf("%s with %s: %v", c.second, kit.Version, err)
			}
		}
	}
}
