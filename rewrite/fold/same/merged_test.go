package same

import (
	"slices"
	"strings"
	"testing"

	"gnvcc/rewrite/fold"
	"gnvcc/rewrite/ptx/ptxtest"
)

// TestMergedStores: stores of two statements become one, which has the place of one of them, where
// the variant knows that they may. What is stored must be what the kernel stores all the same.
func TestMergedStores(t *testing.T) {
	const text = `struct S { float x, y; };
extern "C" __global__ void k(S *o, const float *__restrict__ a, int n) {
  int t = threadIdx.x;
  o[t].x = a[t] + a[t + 32];
  o[t].y = a[t] * a[t + 32] + a[t + 64];
}
`
	kits := ptxtest.Toolkits(t)
	for _, kit := range slices.Compact([]ptxtest.Toolkit{kits[0], kits[len(kits)-1]}) {
		def := compiled(t, kit, text)
		for twin, want := range map[string]bool{
			"": true,
			"__fadd_rn(__fmul_rn(a[t], a[t + 32]), a[t + 64])": false,
			"a[t] * a[t + 32]": false,
		} {
			other := strings.Replace(text, "struct S", "struct __align__(8) S", 1)
			if twin != "" {
				other = strings.Replace(other, "a[t] * a[t + 32] + a[t + 64]", twin, 1)
			}
			variant := compiled(t, kit, other)
			if !strings.Contains(string(variant.Bytes()), "st.global.v2.f32") {
				t.Fatalf("%s: the stores are not one", kit.Version)
			}
			_, err := Same(built(sameLine(def), "k"), built(sameLine(variant), "k"), fold.Fixed{})
			if (err == nil) != want {
				t.Errorf("%q with %s: %v", twin, kit.Version, err)
			}
		}
	}
}
