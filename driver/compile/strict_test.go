package compile

import (
	"context"
	"maps"
	"strings"
	"testing"

	"gnvcc/driver/drivertest"
	"gnvcc/rewrite/recipe"
)

// strictText has kernels whose variants the compilers contract in another way, or compute.
const strictText = `
__global__ void stored(float *o, const float *x, float a, int n) {
  float s = 0;
  for (int i = 0; i < n; i++) {
    float p = x[i] * a;
    s += p;
    o[i] = p + x[i + 1];
  }
  o[n] = s;
}
__global__ void both(float *p, float x, float y) { p[threadIdx.x] += x * y; }
__global__ void angles(float *o, const float *x, int n) {
  float s = 0;
  for (int i = 0; i < n; i++) {
    float v = x[i];
    float w = cosf(v + s);
    s += w * v;
  }
  o[threadIdx.x] = s;
}
__global__ void steps(float *o, const float *x, int n) {
  float s = 0;
  for (int i = 0; i < n; i++)
    s += cosf(i * 0.1f) * x[i];
  o[threadIdx.x] = s;
}
int main() {
  stored<<<1, 1>>>(0, 0, 0, 0); both<<<1, 1>>>(0, 0, 0); angles<<<1, 1>>>(0, 0, 0); steps<<<1, 1>>>(0, 0, 0);
}
`

// TestStrict: a variant rounds as nvcc's own build does, with nothing left to prove; and is not
// written so where a compiler has computed what the GPU computes.
func TestStrict(t *testing.T) {
	for _, version := range []string{"11.8", "13.0"} {
		t.Run(version, func(t *testing.T) {
			p := drivertest.NewProject(t, version, map[string]string{"k.cu": strictText})
			p.Gnvcc("-arch=sm_80", "k.cu", "-o", "app")
			hash := p.Cubin("app", "sm_80")
			c := New(p.Store, t.TempDir())
			ctx := context.Background()
			for _, v := range []struct {
				kernel, recipe string
				times          int // what is in the loop's body, of that in the kernel; 0: not written
			}{
				{"_Z6storedPfPKffi", "unroll=1", 1},
				{"_Z4bothPfff", "spec{x=1.7,y=3.3}", 0},
				{"_Z6anglesPfPKfi", "unroll=1", 1},
				{"_Z5stepsPfPKfi", "spec{n=4}", 0},
			} {
				s, r := named(t, c, hash, v.kernel, v.recipe)
				cand, err := c.Compile(ctx, s, r)
				switch {
				case err != nil:
					if v.times > 0 {
						t.Errorf("%s %s: %v", v.kernel, v.recipe, err)
					}
					continue
				case (cand.Prove == nil) != (v.times > 0):
					t.Errorf("%s %s: nothing is to be proved: %v", v.kernel, v.recipe, cand.Prove == nil)
				}
				if v.times == 0 || cand.Prove != nil {
					continue
				}
				own, err := c.Compile(ctx, s, recipe.Recipe{})
				if err != nil {
					t.Fatal(err)
				}
				was, now := kinds(floatsIn(t, own.Path, v.kernel)), kinds(floatsIn(t, cand.Path, cand.Entry))
				if !maps.Equal(was, now) {
					t.Errorf("%s %s: in the kernel %v, in the variant %v", v.kernel, v.recipe, was, now)
				}
			}
		})
	}
}

// kinds are which floating-point instructions there are, however often.
func kinds(of map[string]int) map[string]bool {
	out := map[string]bool{}
	for op := range of {
		base, _, _ := strings.Cut(op, ".")
		out[base] = true
	}
	return out
}
