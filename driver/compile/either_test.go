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

// TestBlockAlone: a variant that knows its block and nothing else has the kernel's functions with
// the same numbers, though some may begin with a constant; one that knows a factor has not.
func TestBlockAlone(t *testing.T) {
	const text = `
__device__ float fitness(float *x, float phi) {
  float y1 = 1.f + (x[0] - 1.f) / 4.f, yn = 1.f + (x[29] - 1.f) / 4.f;
  float res = powf(sinf(phi * y1), 2.f) + powf(yn - 1, 2.f);
  for (int i = 0; i < 29; i++) {
    float y = 1.f + (x[i] - 1.f) / 4.f, yp = 1.f + (x[i + 1] - 1.f) / 4.f;
    res += powf(y - 1.f, 2.f) * (1.f + 10.f * powf(sinf(phi * yp), 2.f));
  }
  return res;
}
__global__ void best(const float *__restrict__ p, float *__restrict__ o, float phi, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  float a[30], b[30];
  for (int j = 0; j < 30; j++) { a[j] = p[i * 30 + j]; b[j] = o[i * 30 + j]; }
  if (fitness(a, phi) < fitness(b, phi)) for (int j = 0; j < 30; j++) o[i * 30 + j] = a[j];
}
int main() { best<<<1, 1>>>(0, 0, 0, 0); }
`
	p := drivertest.NewProject(t, "13.0", map[string]string{"k.cu": text})
	p.Gnvcc("-arch=sm_90", "k.cu", "-o", "app")
	hash := p.Cubin("app", "sm_90")
	for recipe, want := range map[string]bool{
		"spec{blockDim.x=256,blockDim.y=1,blockDim.z=1}":          true,
		"spec{phi=0.75,blockDim.x=256,blockDim.y=1,blockDim.z=1}": false,
	} {
		c := New(p.Store, t.TempDir())
		s, r := named(t, c, hash, "_Z4bestPKfPffi", recipe)
		if err := doubtful(t, c, s, r).Prove(context.Background()); (err == nil) != want {
			t.Errorf("%s: %v", recipe, err)
		}
	}
}
