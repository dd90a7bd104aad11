package compile

import (
	"context"
	"strings"
	"testing"

	"gnvcc/driver/drivertest"
)

// TestLeft: what ptxas contracts decides, also where PTX shows nothing that a variant could change.
func TestLeft(t *testing.T) {
	text := "" +
		// a product with a second use: the last round's, which only a loop that is unrolled tells
		"__global__ void twice(float *o, const float *x, int m) {\n" +
		"  float a = x[threadIdx.x], c = 1, l[4] = {a, x[7], x[9], 1};\n" +
		"  for (int i = 0; i < m; i++) { c = l[i & 3] * a; a -= c; }\n" +
		"  o[threadIdx.x] = a; o[threadIdx.x + 64] = c;\n" +
		"}\n" +
		// a square root's slow path comes between a product and its sum, where the branch is gone
		"__global__ void slow(double *o, const double *x, int m, double p) {\n" +
		"  double c = x[threadIdx.x], b = x[threadIdx.x + 1], e = p - c * p;\n" +
		"  double a = sqrt(fabs((m + p) * e));\n" +
		"  if (m > 2) {\n" +
		"    for (int i = 0; i < 4; i++) e = e * c * b;\n" +
		"    e -= a * x[threadIdx.x * 3 + 7] * 2.0;\n" +
		"  }\n" +
		"  o[threadIdx.x] = a; o[threadIdx.x + 64] = e;\n" +
		"}\n" +
		// all sums are contracted, in both
		"__global__ void all(float *o, const float *x, const float *y, int m) {\n" +
		"  float v = 0;\n" +
		"  for (int i = 0; i < m; i++) v -= x[i] * y[threadIdx.x + i];\n" +
		"  o[threadIdx.x] = v;\n" +
		"}\n" +
		// a difference of two products, of which one is used a second time
		"__global__ void area(float *o, const float4 *p, int m) {\n" +
		"  float v = 0, w = 0;\n" +
		"  for (int i = 0; i < m; i++) {\n" +
		"    float4 q = p[i]; float r = q.z * q.w;\n" +
		"    v += sqrtf(q.x * q.y - r); w += r;\n" +
		"  }\n" +
		"  o[threadIdx.x] = v; o[threadIdx.x + 64] = w;\n" +
		"}\n" +
		"int main() { twice<<<1, 1>>>(0, 0, 0); slow<<<1, 1>>>(0, 0, 0, 0); all<<<1, 1>>>(0, 0, 0, 0);\n" +
		"  area<<<1, 1>>>(0, 0, 0); }\n"
	for _, version := range []string{"11.8", "12.4", "13.0", "13.3", "13.5"} {
		t.Run(version, func(t *testing.T) {
			p := drivertest.NewProject(t, version, map[string]string{"k.cu": text})
			p.Gnvcc("-arch=sm_80", "k.cu", "-o", "app")
			hash := p.Cubin("app", "sm_80")
			c := New(p.Store, t.TempDir())
			prove := func(kernel, recipe string) error {
				t.Helper()
				s, r := named(t, c, hash, kernel, recipe)
				return doubtful(t, c, s, r).Prove(context.Background())
			}
			if err := prove("_Z5twicePfPKfi", "unroll=1"); err == nil ||
				!strings.Contains(err.Error(), "left to the compilers") {
				t.Errorf("twice: %v", err)
			}
			// What ptxas would do otherwise is written into the variant (contraction.go).
			if err := prove("_Z4slowPdPKdid", "spec{m=4}"); err != nil {
				t.Errorf("slow: %v", err)
			}
			for _, recipe := range []string{"unroll=4", "spec{m=16}"} {
				if err := prove("_Z3allPfPKfS1_i", recipe); err != nil {
					t.Errorf("all %s: %v", recipe, err)
				}
			}
			if err := prove("_Z4areaPfPK6float4i", "unroll=4"); err != nil {
				t.Errorf("area: %v", err)
			}
		})
	}
}
