package same

import (
	"slices"
	"strings"
	"testing"

	"gnvcc/rewrite/fold"
	"gnvcc/rewrite/ptx/ptxtest"
)

// TestHandedOn: in an unrolled loop the compiler hands what one round stores to the next round's
// load. It does not hand on what another array may hold; and of a product that it hands on it is
// asked whether ptxas contracts it with the sum, which in the default adds what was loaded.
func TestHandedOn(t *testing.T) {
	const text = `
#define KERNEL(name, first, next) extern "C" __global__ void name(float *o, \
    const float *a, const float *b, float *q, int n) { \
  int t = threadIdx.x; \
  float s = 0; \
  UNROLL for (int k = 0; k < n; k++) { \
    float x = a[t + k] * b[t] + a[t + k + 9]; \
    if (k == 0) o[t] = first; else o[t] = next; \
    s = x; \
  } \
}
KERNEL(same, x, o[t] + x)
KERNEL(array, x, PREVIOUS + x)
KERNEL(product, a[t] * b[t], o[t] + b[t + k])
`
	kits := ptxtest.Toolkits(t)
	for _, kit := range slices.Compact([]ptxtest.Toolkit{kits[0], kits[len(kits)-1]}) {
		def := compiled(t, kit, strings.NewReplacer("UNROLL", "_Pragma(\"unroll 1\")", "PREVIOUS",
			"q[t]").Replace(text))
		variant := compiled(t, kit, strings.NewReplacer("UNROLL", "n = 4; _Pragma(\"unroll\")",
			"PREVIOUS", "s").Replace(text))
		for name, want := range map[string]int{"same": 0, "array": -1, "product": 3} {
			answer, err := Same(built(sameLine(def), name), built(sameLine(variant), name),
				fold.Fixed{Params: map[int]bool{4: true}})
			sums := -1
			if err == nil {
				sums = len(answer.Sums)
			}
			if sums != want {
				t.Errorf("%s, %s: %d sums are left, %v", kit.Version, name, sums, err)
			}
		}
	}
}
