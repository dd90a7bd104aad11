package compile

import (
	"context"
	"maps"
	"testing"

	"gnvcc/driver/drivertest"
	"gnvcc/rewrite/recipe"
	"gnvcc/sim/cubin"
)

// TestRehearseAlone: a pin gives ptxas its kernel and not all of the file, and finds what a build
// finds.
func TestRehearseAlone(t *testing.T) {
	const text = `
template <int N> __device__ float weight(float x) { return x * N; }
__global__ void k(float *p, const float *q, int n) {
  float s = 0;
  for (int i = 0; i < n; i++) s += weight<3>(q[i * n]) * q[i];
  p[threadIdx.x] = s;
}
__global__ void other(float *p) { p[threadIdx.x] += 1; }
int main() { k<<<1, 1>>>(0, 0, 0); other<<<1, 1>>>(0); }
`
	for _, version := range []string{"11.8", "13.0"} {
		t.Run(version, func(t *testing.T) {
			const kernel = "_Z1kPfPKfi"
			p := built(t, version, "sm_80", text)
			c, s := p.c, p.kernel(kernel)
			r := drivertest.MustParse(t, "spec{#2=64}")
			d, err := c.Rehearse(context.Background(), s, r)
			if err != nil {
				t.Fatal(err)
			}
			_, b, done, err := c.workbench(context.Background(), Limit, forBuild)
			if err != nil {
				t.Fatal(err)
			}
			defer done()
			recipes := map[string]recipe.Recipe{kernel: r}
			whole, err := b.Build(context.Background(), s.job, s.translation, recipes, s.std)
			if err != nil || !maps.Equal(whole.normals, d.Evidence.Normals) {
				t.Errorf("a build finds %v, a pin %v; %v", whole, d.Evidence.Normals, err)
			}
			b.mode = forPin
			out, err := b.Build(context.Background(), s.job, s.translation, recipes, s.std)
			if err != nil {
				t.Fatal(err)
			}
			for _, c := range []struct {
				content []byte
				want    int
			}{{whole.Content, 3}, {out.Content, 2}} { // the kernel, its second entry, and the other one
				if f, err := cubin.Read(c.content); err != nil || len(f.Kernels) != c.want {
					t.Errorf("%d kernels, want %d; %v", len(f.Kernels), c.want, err)
				}
			}
			one, _ := cubin.Read(whole.Content)
			two, _ := cubin.Read(out.Content)
			for _, k := range two.Kernels {
				if same, ok := one.Kernel(k.Name); !ok || same.Registers != k.Registers {
					t.Errorf("%s has %d registers alone, %d in its file", k.Name, k.Registers, same.Registers)
				}
			}
		})
	}
}
