package compile

import (
	"context"
	"strings"
	"testing"

	"gnvcc/driver/drivertest"
)

// TestProved: a variant that rewrite/fold refuses is proved by what the compilers did, and a later
// compile asks the store alone. What the compilers did otherwise is refused.
func TestProved(t *testing.T) {
	text := "__global__ void loop(float *e, const float *a, int n, float s) {\n" +
		"  float x = s * blockIdx.x, v = 0;\n" +
		"  for (int i = 0; i < n; i++) v += rsqrtf(x + a[i]);\n" +
		"  e[blockIdx.x] = v;\n" +
		"}\n" +
		"__global__ void both(float *p, float x, float y) { p[threadIdx.x] += x * y; }\n" +
		"int main() { loop<<<1, 1>>>(0, 0, 0, 0); both<<<1, 1>>>(0, 0, 0); }\n"
	for _, version := range []string{"11.8", "12.4", "13.0", "13.3", "13.5"} {
		t.Run(version, func(t *testing.T) {
			p := drivertest.NewProject(t, version, map[string]string{"k.cu": text})
			p.Gnvcc("-arch=sm_80", "k.cu", "-o", "app")
			hash := p.Cubin("app", "sm_80")
			prove := func(kernel, recipe string) (runs int, err error) {
				c := New(p.Store, t.TempDir())
				s, r := named(t, c, hash, kernel, recipe)
				cand := doubtful(t, c, s, r)
				err = cand.Prove(context.Background())
				_, again := c.Rehearse(context.Background(), s, r) // as a build does
				if (again == nil) != (err == nil) {
					t.Errorf("%s %s: proof %v, build %v", kernel, recipe, err, again)
				}
				runs, _ = c.Spent("cicc")
				return runs, err
			}
			const loop, spec = "_Z4loopPfPKfif", "spec{n=100}"
			// the kernel at -O1, the variant, and both with line information
			if runs, err := prove(loop, spec); err != nil || runs != 4 {
				t.Errorf("%d runs of cicc, %v", runs, err)
			}
			if runs, err := prove(loop, "ld=cs "+spec); err != nil || runs != 0 {
				t.Errorf("the same source again: %d runs of cicc, %v", runs, err)
			}
			_, err := prove("_Z4bothPfff", "spec{x=1.7,y=3.3}")
			if err == nil || !strings.Contains(err.Error(), "would be rounded") {
				t.Errorf("both: %v", err)
			}
		})
	}
}
