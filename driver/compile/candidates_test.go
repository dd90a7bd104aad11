package compile

import (
	"bytes"
	"debug/elf"
	"strings"
	"testing"

	"gnvcc/driver/drivertest"
	"gnvcc/install/kits"
	"gnvcc/rewrite/manner"
)

// Candidates that are launched otherwise than the kernel, or for some launches alone.

// TestShapedCandidates: in blocks of any size a candidate is the kernel's own code, compiled once;
// code that knows its block is told the one that it is launched with.
func TestShapedCandidates(t *testing.T) {
	for _, version := range []string{"11.8", "13.0", "13.5"} {
		t.Run(version, func(t *testing.T) {
			p := built(t, version, "sm_80", `
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
`)
			s := p.kernel("_Z5planePKjPjiij")
			own := p.code(s, "")
			const host = " spec{host(block)=16x16x1,host(dynamic)=0}"
			first, _ := p.made(s, "shape=64x4x1"+host)
			if !bytes.Equal(own, p.code(s, "shape=64x4x1"+host)) || first.Manner.Block != [3]int{64, 4, 1} ||
				!strings.Contains(first.Entry, "__tuned_") {
				t.Errorf("%d bytes of code, %+v", len(own), first)
			}
			runs, _ := p.c.Spent("ptxas")
			for _, text := range []string{"shape=32x8x1" + host, "shape=128x1x1" + host, "shape=32x2x1" +
				host + " throttle=3"} {
				if other, _ := p.made(s, text); other.Path != first.Path ||
					other.Manner.Block == first.Manner.Block ||
					other.Manner.Reserve.On != strings.Contains(text, "throttle") {
					t.Errorf("%s: %+v", text, other)
				}
			}
			if again, _ := p.c.Spent("ptxas"); again != runs {
				t.Errorf("%d runs of ptxas more for other blocks", again-runs)
			}
			if slots, _ := p.made(s, "demote=8:loops maxnreg=40 shape=64x1x1"+host); slots.Build.Shared != 8*4*64 {
				t.Errorf("%d bytes of slots for 64 threads", slots.Build.Shared)
			}
			if value, _ := p.made(s, "shape=64x4x1 spec{align(#0)=16,host(block)=16x16x1}"); value.Manner.Block !=
				[3]int{64, 4, 1} || value.Path == first.Path {
				t.Errorf("an aligned copy: %+v", value)
			}
			p.tries(s, map[string]string{
				"shape=64x4x1 spec{blockDim.x=16,host(block)=16x16x1}": "blockDim.x=16",
				"shape=64x4x1":         "second entry",
				"shape=64x16x1" + host: "could not be launched",
				"shape=16x16x1" + host: "such blocks",
			})
			s = p.kernel("_Z4seenPf")
			p.tries(s, map[string]string{"shape=64x1x1 spec{host(block)=256x1x1}": "index over the grid", "": ""})
		})
	}
}

// TestShapedArithmetic: where ptxas computes a value twice to save registers, builds refuse the
// kernel in other blocks, and so does the search.
func TestShapedArithmetic(t *testing.T) {
	p := built(t, "13.0", "sm_90", `
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
`)
	const shape = " shape=32x1x1 spec{host(block)=64x1x1,host(dynamic)=0}"
	p.tries(p.kernel("_Z5twicePdPKdddi"), map[string]string{"maxnreg=32": "", "maxnreg=64": "",
		"maxnreg=64" + shape: "", "maxnreg=32" + shape: "other floating-point instructions"})
}

// TestNamesOfSeconds: of several targets of one compile one stub chooses for all, and launches what
// it finds by its name. So no two entries of one name are launched in two ways.
func TestNamesOfSeconds(t *testing.T) {
	const host = "spec{host(block)=256x1x1,host(dynamic)=0}"
	name := func(text string) string {
		seconds, err := secondsOf("k", drivertest.MustParse(t, text))
		if err != nil || len(seconds) != 1 {
			t.Fatalf("%s: %d, %v", text, len(seconds), err)
		}
		if of, ok := KernelOf(seconds[0].name); of != "k" || !ok {
			t.Errorf("%s is no second entry of k", seconds[0].name)
		}
		return seconds[0].name
	}
	seen := map[string]string{}
	for _, text := range []string{host, "coarsen=2x1x1 " + host, "coarsen=4x1x1 " + host,
		"coarsen=1x2x1 " + host, "shape=128x1x1 " + host, "shape=64x1x1 " + host} {
		if other := seen[name(text)]; other != "" {
			t.Errorf("%s and %s have one name", text, other)
		}
		seen[name(text)] = text
	}
	for _, text := range []string{"hint@ld=cs " + host, "throttle=3 " + host} { // launched in the same grid
		if name(text) != name(host) {
			t.Errorf("%s has a name of its own", text)
		}
	}
}

// TestCoarseCandidates: code of its own for each value, which is launched in a smaller grid.
func TestCoarseCandidates(t *testing.T) {
	for _, version := range []string{"11.8", "13.0", "13.5"} {
		t.Run(version, func(t *testing.T) {
			p := built(t, version, "sm_80", `
__global__ void plane(const float *a, float *b, int w, int h) {
  int x = blockIdx.x * blockDim.x + threadIdx.x, y = blockIdx.y * blockDim.y + threadIdx.y;
  if (x < w && y < h) b[y * w + x] = a[y * w + x] + a[x];
}
int main() { plane<<<1, 1>>>(0, 0, 0, 0); }
`)
			s := p.kernel("_Z5planePKfPfii")
			const host = " spec{host(block)=16x16x1,host(dynamic)=0}"
			var codes [][]byte
			for text, want := range map[string]manner.Manner{
				host:                   {},
				"coarsen=2x1x1" + host: {Coarse: [3]int{2, 1, 1}},
				"coarsen=1x4x1" + host: {Coarse: [3]int{1, 4, 1}},
				"coarsen=2x1x1 maxnreg=24 throttle=2" + host: {Coarse: [3]int{2, 1, 1},
					Reserve: manner.Reserve{On: true, Dynamic: 3072, Carveout: 0, Binary: 80}},
			} {
				if cand, _ := p.made(s, text); cand.Manner != want || !strings.Contains(cand.Entry, "__tuned_") {
					t.Errorf("%s: %+v", text, cand)
				}
				code := p.code(s, text)
				for _, other := range codes {
					if bytes.Equal(other, code) {
						t.Errorf("%s has another value's code", text)
					}
				}
				codes = append(codes, code)
			}
			p.tries(s, map[string]string{
				"coarsen=2x1x1":                       "second entry",
				"coarsen=1x1x2" + host:                "does not read blockIdx.z",
				"coarsen=2x1x1 shape=64x4x1" + host:   "shape",
				"coarsen=2x2x1" + host:                "one of the three",
				"coarsen=2x1x1 spec{host(dynamic)=0}": "host(block)",
			})
		})
	}
}

// TestConfinedCode: for launches like one alone an entry has the code of the recipe that was checked,
// and where that knew a value, no run of cicc of its own.
func TestConfinedCode(t *testing.T) {
	p := built(t, "13.0", "sm_80", `
__global__ void sum(float *p, int n, float a) {
  float s = 0;
  for (int i = 0; i < n; i++) s = s * a + p[i * 32 + threadIdx.x];
  p[threadIdx.x] = s;
}
int main() { sum<<<1, 32>>>(0, 7, 1.5f); }
`)
	s := p.kernel("_Z3sumPfif")
	p.tries(s, map[string]string{ // which compare what is no argument
		"spec{host(#3:4)=7}": "argument", "spec{host(#1:8)=7}": "argument", "unroll=2 spec{host(#1+4:4)=7}": "argument"})
	const sizes = "host(grid)=1x1x1,host(block)=32x1x1,host(dynamic)=0"
	for base, confined := range map[string]string{
		"unroll=2":            "unroll=2 spec{" + sizes + ",host(#1:4)=7}",
		"maxnreg=32":          "maxnreg=32 spec{" + sizes + ",host(#1:4)=7}",
		"spec{#2=1.5}":        "spec{#2=1.5," + sizes + ",host(#1:4)=7}",
		"spec{#1=7} unroll=4": "spec{#1=7," + sizes + "} unroll=4",
	} {
		own := p.code(s, base)
		runs, _ := p.c.Spent("cicc")
		if is := p.code(s, confined); !bytes.Equal(own, is) {
			t.Errorf("%s: %d bytes of code, and %d of %s", confined, len(is), len(own), base)
		}
		if again, _ := p.c.Spent("cicc"); again != runs && base[0] == 's' {
			t.Errorf("%s: %d runs of cicc", confined, again-runs)
		}
	}
}

// TestApproximateCandidates: recipes that approximate go the whole way, from the source stage to a
// cubin, with others beside them.
func TestApproximateCandidates(t *testing.T) {
	kits.Long(t, "TestCompiler compiles candidates")
	p := built(t, "13.0", "sm_90", `
#include <cmath> // fastmath writes what sin is for every type
__global__ void wave(float *a, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    for (int k = 0; k < n; k++) a[i] = sinf(a[i]) / (1 + expf(a[i])) + sqrtf(a[i]);
}
int main() { wave<<<1, 256>>>(0, 1); }
`)
	s := p.kernel("_Z4wavePfi")
	if calls := s.Code.MathCalls(); calls["sin"] != 1 || calls["exp"] != 1 || len(calls) != 2 {
		t.Errorf("calls %v", calls)
	}
	seen := map[string]string{}
	for _, text := range []string{
		"", "approx=all.ftz", "fastmath=all.ftz", "approx=all.ftz fastmath=all.ftz",
		"approx=all.ftz fastmath=all.ftz unroll=2 maxnreg=64",
		"approx=div fastmath=sin spec{#1=4}",
	} {
		made, _ := p.made(s, text)
		if other, ok := seen[made.Path]; ok {
			t.Errorf("%q gives the same cubin as %q", text, other)
		}
		seen[made.Path] = text
	}
}

// TestThrottledCode: a throttled entry is the plain kernel's machine code, byte for byte, so that
// it is exact by construction.
func TestThrottledCode(t *testing.T) {
	for _, version := range []string{"11.8", "12.4", "13.0", "13.5"} {
		t.Run(version, func(t *testing.T) {
			p := built(t, version, "sm_80", "__device__ int counter = 3; __constant__ float table[7];\n"+
				"__global__ void other(float *p) { __shared__ float t[64]; t[threadIdx.x] = *p; __syncthreads(); *p = t[5]; }\n"+
				"static __global__ void shown(float *p, int n) { __shared__ float t[32]; if (n < 0) goto end; {"+
				drivertest.Wide+
				"} t[threadIdx.x] = p[n] + table[n & 3] + counter; __syncthreads(); p[1] = t[n & 31]; end:; }\n"+
				"int main() { shown<<<1, 1>>>(0, 0); other<<<1, 1>>>(0); }\n")
			s := p.kernel("_Z5shownPfi")
			if s.NoSecond != "" {
				t.Fatal(s.NoSecond)
			}
			code := func(r string) []byte {
				cand, content := p.made(s, r)
				copy(content[20:24], []byte{1, 0, 0, 0}) // e_version, in which ABI 7 has the toolkit's
				f, err := elf.NewFile(bytes.NewReader(content))
				if err != nil {
					t.Fatal(err)
				}
				text, err := f.Section(".text." + cand.Entry).Data()
				if err != nil || len(text) < 1000 {
					t.Fatalf("%d bytes of code, %v", len(text), err)
				}
				return text
			}
			if plain, second := code(""),
				code("spec{host(block)=32x1x1,host(dynamic)=64} throttle=2"); !bytes.Equal(plain, second) {
				t.Errorf("the throttled entry has other code: %d and %d bytes", len(plain), len(second))
			}
		})
	}
}
