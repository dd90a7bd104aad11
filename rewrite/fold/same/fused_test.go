package same

import (
	"slices"
	"strings"
	"testing"

	"gnvcc/rewrite/fold"
	"gnvcc/rewrite/ptx/ptxtest"
)

// TestContracted: a sum that cicc leaves to ptxas is compared as what ptxas makes of it. Without
// the branch cicc contracts it itself.
func TestContracted(t *testing.T) {
	const text = `extern "C" __global__ void k(float *o, const float *a, float s) {
  float x = a[threadIdx.x] * a[threadIdx.x + 32];
  if (s > 2) { o[threadIdx.x + 64] = x; __syncthreads(); }
  o[threadIdx.x] = x + o[threadIdx.x + 32];
}
`
	fixed := fold.Fixed{Params: map[int]bool{2: true}}
	kits := ptxtest.Toolkits(t)
	for _, kit := range slices.Compact([]ptxtest.Toolkit{kits[0], kits[len(kits)-1]}) {
		def := compiled(t, kit, text)
		own := contractions(nil, def.Entry("k"), true)
		if len(own) != 1 {
			t.Fatalf("%s: %d sums are left to ptxas", kit.Version, len(own))
		}
		for _, c := range []struct {
			s                   string
			kernel, other, same bool // whether ptxas contracts the sum in the one and the other
			left                int  // sums that ptxas has to be asked about
		}{
			{"1.0f", false, false, false, 0},
			{"1.0f", true, false, true, 0},
			{"3.0f", false, false, true, 1},
			{"3.0f", true, true, true, 0},
			{"3.0f", true, false, false, 0},
			{"3.0f", false, true, false, 0},
		} {
			variant := compiled(t, kit, strings.Replace(text, "s) {", "s) { s = "+c.s+";", 1))
			one, other := built(def, "k"), built(variant, "k")
			if c.kernel {
				one.Contracted = own
			}
			if c.other {
				other.Contracted = contractions(nil, variant.Entry("k"), true)
			}
			answer, err := Same(one, other, fixed)
			if (err == nil) != c.same || err == nil && len(answer.Sums) != c.left {
				t.Errorf("%s, %+v: %v, %+v", kit.Version, c, err, answer)
			}
		}
	}
}

// TestOtherSign: where cicc contracts x - y*0.3, it multiplies with -0.3; in the variant the number
// comes from memory, and the difference is left to ptxas.
func TestOtherSign(t *testing.T) {
	const text = `extern "C" __global__ void k(float *o, const float *__restrict__ b, int n) {
  float u[4] = {b[threadIdx.x], b[1] * b[2], 0.3f, 1.0f}, v = 1.0f;
  UNROLL for (int k = 1; k < n + 1; k++) v -= b[k] * u[k & 3];
  o[threadIdx.x] = v;
}
`
	kits := ptxtest.Toolkits(t)
	for _, kit := range slices.Compact([]ptxtest.Toolkit{kits[0], kits[len(kits)-1]}) {
		def := compiled(t, kit, strings.Replace(text, "UNROLL", "", 1))
		variant := compiled(t, kit, strings.Replace(text, "UNROLL", "\n#pragma unroll 2\n#line 3\n", 1))
		if !strings.Contains(strings.ToLower(string(def.Entry("k").Text())), "0fbe99999a") {
			t.Fatalf("%s: nothing is multiplied with -0.3", kit.Version)
		}
		_, err := Same(built(def, "k"), built(variant, "k"), fold.Fixed{})
		if err == nil || !strings.Contains(err.Error(), "contracted otherwise") {
			t.Errorf("%s: %v", kit.Version, err)
		}
	}
}
