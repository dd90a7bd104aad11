package compile

import (
	"context"
	"strings"
	"testing"

	"gnvcc/driver/drivertest"
	"gnvcc/install/kits"
)

// TestSharedHost: a second entry is its file's, and the runtime may have the kernel from another
// file that registers it under the same address. So it reaches no variables, or that can't be.
func TestSharedHost(t *testing.T) {
	const text = `
static __device__ int calls;
static __constant__ float table[4] = {1, 2, 3, 4};
#define BODY { float s = 0; for (int i = 0; i < n; i++) s += o[i] * table[i & 3]; o[0] = s; if (n > 99) calls++; }
template <class T> __global__ void made(T *o, int n) BODY
inline __global__ void in_line(float *o, int n) BODY
__global__ void strong(float *o, int n) BODY
static __global__ void still(float *o, int n) BODY
namespace { __global__ void unnamed(float *o, int n) BODY }
template <class T> __global__ void none(T *o, int n) { T s = 0; for (int i = 0; i < n; i++) s += sin(o[i]); o[0] = s; }
int main() { made<<<1, 1>>>((float *)0, 0); in_line<<<1, 1>>>(0, 0); strong<<<1, 1>>>(0, 0);
  still<<<1, 1>>>(0, 0); unnamed<<<1, 1>>>(0, 0); none<<<1, 1>>>((float *)0, 0); }
`
	for _, c := range []struct {
		version, flag string
		refused       []string
	}{
		{"11.8", "", []string{"made", "in_line", "strong"}},
		{"13.0", "", []string{"in_line"}},
		{"13.0", "-static-global-template-stub=false", []string{"made", "in_line"}},
		{"13.0", "-device-entity-has-hidden-visibility=false", []string{"in_line", "strong"}},
	} {
		t.Run(c.version+c.flag, func(t *testing.T) {
			if c.flag != "" {
				kits.Long(t, "it is compiled without that flag")
			}
			p := drivertest.NewProject(t, c.version, map[string]string{"k.cu": text})
			p.Gnvcc(append(strings.Fields(c.flag), "-w", "-arch=sm_80", "k.cu", "-o", "app")...)
			compiler := New(p.Store, t.TempDir())
			file, err := compiler.Kernel(p.Cubin("app", "sm_80"), "_Z6strongPfi")
			if err != nil {
				t.Fatal(err)
			}
			for _, f := range file.Module.Entries() {
				s, err := compiler.Kernel(p.Cubin("app", "sm_80"), f.Name)
				if err != nil {
					t.Fatal(err)
				}
				refused := false
				for _, name := range c.refused {
					refused = refused || strings.Contains(f.Name, name)
				}
				const why = "variables of its own"
				if strings.Contains(s.NoSecond, why) != refused {
					t.Errorf("%s: %q", f.Name, s.NoSecond)
				}
				_, err = compiler.Rehearse(context.Background(), s, drivertest.MustParse(t, "spec{#1=4}"))
				if err == nil && refused || err != nil && (!refused || !strings.Contains(err.Error(), why)) {
					t.Errorf("%s: %v", f.Name, err)
				}
			}
		})
	}
}
