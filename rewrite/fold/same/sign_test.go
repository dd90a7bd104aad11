package same

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"gnvcc/rewrite/fold"
	"gnvcc/rewrite/ptx/ptxtest"
)

// signText is a kernel with a difference of two products, made of the factors that are put in.
const signText = `
extern "C" __global__ void k%d(double *o, const double *a, const double *b, double q, int n) {
  int t = threadIdx.x;

  double x = a[t] - b[t], y = a[t + 1] + b[t], z = a[t + 2] - b[t + 2], w = a[t + 3] + b[t];
  for (int i = 0; i < n; i++) o[t + i] = a[i];
  o[t] = %s;
}`

// TestOrdered: it is known of a difference of two products which is subtracted, also where numbers
// above 0 are among their factors; not where one is below, or may be what the variant knows.
func TestOrdered(t *testing.T) {
	cases := []struct {
		expression string
		want       int
	}{
		{"x * y - z * w", 1},
		{"(x * 0.25) * y - (z * 0.25) * w", 1},
		{"(x * 0.25) * (y * 3) - z * (w / 3)", 1},
		{"(x * -0.25) * y - (z * -0.25) * w", 0},
		{"-(x * 0.25) * y - (z * 0.25) * w", 0},
		{"(x * 0.25) * y - (z * 0.25) * (0 - w)", 0},
		{"(x * q) * y - (z * 0.25) * w", 0},
		{"(x * n) * y - (z * 0.25) * w", 0},
	}
	text := ""
	for n, c := range cases {
		text += fmt.Sprintf(signText, n, c.expression)
	}
	kits := ptxtest.Toolkits(t)
	for _, kit := range slices.Compact([]ptxtest.Toolkit{kits[0], kits[len(kits)-1]}) {
		def := compiled(t, kit, text)
		variant := compiled(t, kit, strings.ReplaceAll(text, "threadIdx.x;\n\n",
			"threadIdx.x;\n  q = 0.5, n = 3;\n"))
		for n, c := range cases {
			entry := fmt.Sprint("k", n)
			answer, err := Same(built(def, entry), built(variant, entry),
				fold.Fixed{Params: map[int]bool{3: true, 4: true}})
			if err != nil {
				t.Logf("%s, %s: %v", kit.Version, c.expression, err)
				answer = &Answer{}
			}
			ordered := 0
			for _, s := range answer.Sums {
				if slices.Contains(answer.Both, s.At) {
					ordered += len(s.Ordered)
				}
			}
			if ordered != c.want {
				t.Errorf("%s, %s: %d of %d are known", kit.Version, c.expression, ordered, len(answer.Sums))
			}
		}
	}
}
