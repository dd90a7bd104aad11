package compile

import (
	"bytes"
	"context"
	"os"
	"strings"
	"testing"

	"gnvcc/driver/drivertest"
	"gnvcc/rewrite/recipe"
	"gnvcc/sim/cubin"
)

// TestShapedCandidates: in blocks of any size a candidate is the kernel's own code, compiled once;
// code that knows its block is told the one that it is launched with.
func TestShapedCandidates(t *testing.T) {
	for _, version := range []string{"11.8", "13.0", "13.5"} {
		t.Run(version, func(t *testing.T) {
			p := drivertest.NewProject(t, version, map[string]string{"k.cu": `
__global__ void plane(const unsigned *a, unsigned *b, int w, int h, unsigned f) {
  int x = blockIdx.x * blockDim.x + threadIdx.x, y = blockIdx.y * blockDim.y + threadIdx.y;
  unsigned s[72];
  for (int k = 0; k < 72; k++) s[k] = a[(y * 3 + k) * w + x] * f;
  for (int k = 0; k < h; k++) for (int i = 0; i < 72; i++) s[i] = s[i] * s[(i + 1) % 72] + a[k];
  unsigned sum = s[0];
  for (int k = 1; k < 72; k++) sum += s[k];
  if (x < w && y < h) b[y * w + x] = sum;
}
__global__ void seen(float *b) { b[blockIdx.x] = 1; }
int main() { plane<<<1, 1>>>(0, 0, 0, 0, 0); seen<<<1, 1>>>(0); }
`})
			p.Gnvcc("-arch=sm_80", "k.cu", "-o", "app")
			c, ctx := New(p.Store, t.TempDir()), context.Background()
			hash := p.Cubin("app", "sm_80")
			s, err := c.Kernel(hash, "_Z5planePKjPjiij")
			if err != nil {
				t.Fatal(err)
			}
			made := func(text string) (*Candidate, []byte) {
				t.Helper()
				cand, err := c.Compile(ctx, s, drivertest.MustParse(t, text))
				if err != nil {
					t.Fatalf("%s: %v", text, err)
				}
				content, err := os.ReadFile(cand.Path)
				if err != nil {
					t.Fatal(err)
				}
				code, _, err := cubin.ReadCode(content)
				if err != nil || len(code) != 1 || code[0].Name != cand.Entry {
					t.Fatalf("%s: %v, %d functions", text, err, len(code))
				}
				return cand, code[0].Data
			}
			_, own := made("")
			const host = " spec{host(block)=16x16x1,host(dynamic)=0}"
			first, code := made("shape=64x4x1" + host)
			if !bytes.Equal(own, code) || first.Manner.Block != [3]int{64, 4, 1} ||
				!strings.Contains(first.Entry, "__tuned_") {
				t.Errorf("%d bytes of code for %d, %+v", len(code), len(own), first)
			}
			runs, _ := c.Spent("ptxas")
			for _, text := range []string{"shape=32x8x1" + host, "shape=128x1x1" + host, "shape=32x2x1" +
				host + " throttle=3"} {
				if other, _ := made(text); other.Path != first.Path ||
					other.Manner.Block == first.Manner.Block ||
					other.Manner.Reserve.On != strings.Contains(text, "throttle") {
					t.Errorf("%s: %+v", text, other)
				}
			}
			if again, _ := c.Spent("ptxas"); again != runs {
				t.Errorf("%d runs of ptxas more for other blocks", again-runs)
			}
			slots, _ := made("demote=8:loops maxnreg=40 shape=64x1x1" + host)
			if slots.Build.Shared != 8*4*64 {
				t.Errorf("%d bytes of slots for 64 threads", slots.Build.Shared)
			}
			if value,
				_ := made("shape=64x4x1 spec{align(#0)=16,host(block)=16x16x1}"); value.Manner.Block != [3]int{64, 4,
				1} || value.Path == first.Path {
				t.Errorf("an aligned copy: %+v", value)
			}
			for text, want := range map[string]string{
				"shape=64x4x1 spec{blockDim.x=16,host(block)=16x16x1}": "blockDim.x=16",
				"shape=64x4x1":                              "second entry",
				"shape=64x16x1" + host:                      "could not be launched",
				"shape=16x16x1" + host:                      "such blocks",
				"demote=8:loops shape=1024x1x1" + host:      "",
				"maxnreg=255 shape=512x1x1 unroll=4" + host: "",
			} {
				cand, err := c.Compile(ctx, s, drivertest.MustParse(t, text))
				if want != "" && (err == nil || !strings.Contains(err.Error(), want)) {
					t.Errorf("%s: %+v, %v", text, cand, err)
				}
			}
			if s, err = c.Kernel(hash, "_Z4seenPf"); err != nil {
				t.Fatal(err)
			}
			if _, err := c.Compile(ctx, s, drivertest.MustParse(t,
				"shape=64x1x1 spec{host(block)=256x1x1}")); err == nil || !strings.Contains(err.Error(),
				"index over the grid") {
				t.Errorf("a kernel that sees its blocks: %v", err)
			}
			if _, err := c.Compile(ctx, s, recipe.Recipe{}); err != nil {
				t.Error(err)
			}
		})
	}
}

// TestShapedArithmetic: where ptxas computes a value twice to save registers, builds refuse the
// kernel in other blocks, and so does the search.
func TestShapedArithmetic(t *testing.T) {
	p := drivertest.NewProject(t, "13.0", map[string]string{"k.cu": `
__global__ void twice(double *out, const double *in, double a, double b, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  double s = a * b, t = a * 3.0, u = b * 5.0, w = a + b, z = a - b, v[24];
#pragma unroll
  for (int k = 0; k < 24; k++) v[k] = in[i + k * n] * s;
#pragma unroll
  for (int k = 0; k < 24; k++) out[i + k * n] = v[k] / (v[(k + 7) % 24] + t) + u;
  out[i + 24 * n] = s + w; out[i + 25 * n] = t * z; out[i + 26 * n] = u - s;
}
int main() { twice<<<1, 64>>>(0, 0, 1, 2, 64); }
`})
	p.Gnvcc("-arch=sm_90", "k.cu", "-o", "app")
	c, ctx := New(p.Store, t.TempDir()), context.Background()
	s, err := c.Kernel(p.Cubin("app", "sm_90"), "_Z5twicePdPKdddi")
	if err != nil {
		t.Fatal(err)
	}
	for text, same := range map[string]bool{"maxnreg=32": false, "maxnreg=64": true} {
		if _, err := c.Compile(ctx, s, drivertest.MustParse(t, text)); err != nil {
			t.Errorf("%s, which has its own blocks: %v", text, err)
		}
		_, err := c.Compile(ctx, s, drivertest.MustParse(t, text+
			" shape=32x1x1 spec{host(block)=64x1x1,host(dynamic)=0}"))
		if same && err != nil {
			t.Errorf("%s: %v", text, err)
		}
		if !same && (err == nil || !strings.Contains(err.Error(), "other floating-point instructions")) {
			t.Errorf("%s: %v", text, err)
		}
	}
}
