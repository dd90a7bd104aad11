package same

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"gnvcc/rewrite/fold"
	"gnvcc/rewrite/ptx/ptxtest"
)

// TestNeutral: the variant has the other operand where an operation is with 1, or with 0. Twins are
// refused, or leave a question to ptxas: where the compiler's 1 may be another number on the GPU,
// where subnormals are flushed, and where a product comes to stand beside a sum.
func TestNeutral(t *testing.T) {
	const refused = -1
	cases := []struct {
		name, typ, body string
		alone           int // products and sums that ptxas must not have contracted
		flushing        int // the same, with -ftz=true
	}{
		{"quotient", "double", "o[t] = (x - y) / (s * s) + y / s;", 1, 1},
		{"product", "double", "o[t] = (x - y) * s; o[t + 32] = x / s;", 0, 0},
		{"difference", "double", "o[t] = sqrt(x) - z;", 0, 0},
		{"sum", "double", "o[t] = (x - y) / (s + z) + y / s;", 1, 1},
		{"two", "double", "o[t] = (x - y) / (s * s + s) + y / s;", refused, refused},
		{"contracted", "double", "o[t] = (x - y) / (s * s + z) + y / s;", refused, refused},
		{"slips", "double", "o[t] = x * y * s + x;", refused, refused},
		{"beside", "float",
			"T q = x * y * s; if (x > 2) { o[t] = q; __syncthreads(); } o[t + 32] = q + y;", refused, refused},
		{"before", "float",
			"T q = (x + y) * s; if (x > 2) { o[t] = q; __syncthreads(); } o[t + 32] = q + y;", 0, refused},
		{"root", "float", "o[t] = sqrtf(x) * s;", 0, refused},
		{"cosine", "float", "o[t] = (x - y) * __cosf(z);", refused, refused},
		{"approximate", "float", "o[t] = __fdividef(x - y, s);", refused, refused},
	}
	const set = "s = 1; z = 0;"
	var text strings.Builder
	for _, c := range cases {
		text.WriteString(strings.ReplaceAll(fmt.Sprintf(`extern "C" __global__ void %s(T *o,
    const T *__restrict__ a, T s, T z) {
  %s
  int t = threadIdx.x; T x = a[t], y = a[t + 32];
  %s
}
`, c.name, set, c.body), "T ", c.typ+" "))
	}
	kits := ptxtest.Toolkits(t)
	for _, kit := range slices.Compact([]ptxtest.Toolkit{kits[0], kits[len(kits)-1]}) {
		for _, flag := range []string{"-ftz=false", "-ftz=true"} {
			def := compiled(t, kit, strings.ReplaceAll(text.String(), set, ""), flag)
			variant := compiled(t, kit, text.String(), flag)
			for _, c := range cases {
				want := c.alone
				if flag == "-ftz=true" {
					want = c.flushing
				}
				answer, err := Same(built(def, c.name), built(variant, c.name),
					fold.Fixed{Params: map[int]bool{2: true, 3: true}})
				switch {
				case (err != nil) != (want == refused):
					t.Errorf("%s with %s %s: %v", c.name, kit.Version, flag, err)
				case err == nil && len(answer.Alone) != want:
					t.Errorf("%s with %s %s: %d must not be contracted, want %d", c.name, kit.Version, flag,
						len(answer.Alone), want)
				}
			}
		}
	}
}
