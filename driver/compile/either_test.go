package compile

import (
	"context"
	"testing"

	"gnvcc/driver/drivertest"
)

// TestEither: cicc contracts a difference of the variant, which it leaves to ptxas in the kernel;
// arrays in local memory become registers; approximate instructions may begin with a number. What
// the compilers do is the same, and is proved to be. With delta known it is not: cicc computes what
// the first round divides by, and ptxas its reciprocal.
func TestEither(t *testing.T) {
	const text = `
__global__ void path(float *o, const float *__restrict__ lambda, float delta, int m, int n) {
  float L[24], z[24];
  for (int i = 0; i < n; i++) {
    z[i] = 0.3f;
    L[i] = 0.05f;
  }
  for (int k = 0; k < m; k++) {
    float sqez = sqrtf(delta) * z[k], v = 0.f;
    for (int i = k + 1; i < n; i++) {
      float lam = lambda[i - k - 1], con1 = delta * lam;
      v += __fdividef(con1 * L[i], 1.f + delta * L[i]);
      float vrat = __expf(con1 * v + lam * (sqez - 0.5f * con1));
      L[i] = L[i] * vrat;
    }
  }
  o[threadIdx.x] = L[n - 1];
}
int main() { path<<<1, 1>>>(0, 0, 0, 0, 0); }
`
	for _, version := range []string{"11.8", "13.0", "13.5"} {
		t.Run(version, func(t *testing.T) {
			p := drivertest.NewProject(t, version, map[string]string{"k.cu": text})
			p.Gnvcc("-arch=sm_80", "k.cu", "-o", "app")
			hash := p.Cubin("app", "sm_80")
			for recipe, want := range map[string]bool{"spec{m=12,n=24}": true,
				"spec{delta=0.25,m=1,n=24}": false} {
				c := New(p.Store, t.TempDir())
				s, r := named(t, c, hash, "_Z4pathPfPKffii", recipe)
				if err := doubtful(t, c, s, r).Prove(context.Background()); (err == nil) != want {
					t.Errorf("%s: %v", recipe, err)
				}
			}
		})
	}
}
