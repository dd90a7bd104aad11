package same

import (
	"slices"
	"strings"
	"testing"

	"gnvcc/rewrite/fold"
	"gnvcc/rewrite/ptx/ptxtest"
)

// TestForwards: a load finds what was stored where a compiler sees that the addresses are equal: a
// factor from another parameter's memory is no sum that was stored to this one's.
func TestForwards(t *testing.T) {
	const text = `struct S { float x, y; };
extern "C" __global__ void k(S *o, S *a, S *b, float f) {
  int t = threadIdx.x;
  for (int i = 0; i < 32; i++) {
    float p = a[i].x + f, q = a[i].y - f;
    o[t].y += p * FROM[i].y + q * FROM[i].x;
    o[t].x += p;
  }
}
`
	kits := ptxtest.Toolkits(t)
	for _, kit := range slices.Compact([]ptxtest.Toolkit{kits[0], kits[len(kits)-1]}) {
		for from, want := range map[string]bool{"b": true, "o": false} {
			def := strings.ReplaceAll(text, "FROM", from)
			variant := strings.Replace(def, "struct S", "struct __align__(8) S", 1)
			_, err := Same(built(sameLine(compiled(t, kit, def)), "k"),
				built(sameLine(compiled(t, kit, variant)), "k"), fold.Fixed{})
			if (err == nil) != want {
				t.Errorf("%s with %s: %v", from, kit.Version, err)
			}
		}
	}
}
