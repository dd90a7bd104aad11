package compile

import (
	"bytes"
	"context"
	"debug/elf"
	"os"
	"strings"
	"testing"

	"gnvcc/driver/drivertest"
)

// TestBeside: no launch that worked waits for ever, or finds too little memory. Beside a kernel
// that waits a second entry must be loaded with its file, which is not possible for all
// architectures; local memory beyond what a context has is allocated at a launch.
func TestBeside(t *testing.T) {
	const work = `
__global__ void k(float *o, const float *x, int n) { float s = 0; for (int i = 0; i < n; i++) s += x[i] * x[i + threadIdx.x]; o[threadIdx.x] = s; }
__device__ char bytes[300] = "some"; // aligned to nothing, and initialised: a table stands behind it
__global__ void wide(float *o, const float *x, int n) {
  float a[180];
  for (int j = 0; j < 180; j++) a[j] = x[threadIdx.x * 7 + j * 5];
  for (int r = 0; r < n; r++) {
    float c = a[r % 3];
#pragma unroll
    for (int j = 0; j < 180; j++) a[j] = a[j] * c + a[(j + 1) % 180];
  }
  float v = 0;
  for (int j = 0; j < 180; j++) v += a[j];
  o[threadIdx.x] = v;
}
`
	const waits = `__global__ void waits(volatile int *flag) { while (!*flag); }
int main() { k<<<1, 1>>>(0, 0, 0); wide<<<1, 1>>>(0, 0, 0); waits<<<1, 1>>>(0); }
`
	for _, version := range []string{"11.8", "13.0"} {
		t.Run(version, func(t *testing.T) {
			none := strings.ReplaceAll(waits, "while (!*flag)", "*flag = 1")
			for _, c := range []struct{ arch, last, kernel, recipe, refused string }{
				{"sm_80", waits, "_Z1kPfPKfi", "spec{#2=4}", ""},
				{"sm_100", waits, "_Z1kPfPKfi", "spec{#2=4}", "may wait for other blocks"},
				{"sm_100", waits, "_Z1kPfPKfi", "spec{host(block)=64x1x1,host(dynamic)=0} throttle=2",
					"may wait for other blocks"},
				{"sm_80", waits, "_Z1kPfPKfi", "maxnreg=64", ""},
				{"sm_80", waits, "_Z4widePfPKfi", "maxnreg=40", "local memory"},
				{"sm_80", waits, "_Z4widePfPKfi", "maxnreg=168", ""},
				{"sm_80", none, "_Z1kPfPKfi", "spec{#2=4}", ""},
				{"sm_100", none, "_Z1kPfPKfi", "spec{#2=4}", ""},
			} {
				if c.arch == "sm_100" && version == "11.8" {
					continue // not known there
				}
				p := drivertest.NewProject(t, version, map[string]string{"k.cu": work + c.last})
				p.Gnvcc("-arch="+c.arch, "k.cu", "-o", "app")
				compiler := New(p.Store, t.TempDir())
				s, err := compiler.Kernel(p.Cubin("app", c.arch), c.kernel)
				if err != nil {
					t.Fatal(err)
				}
				_, err = compiler.Rehearse(context.Background(), s, drivertest.MustParse(t, c.recipe))
				if c.refused == "" && err != nil || c.refused != "" &&
					(err == nil || !strings.Contains(err.Error(), c.refused)) {
					t.Errorf("%s %s: %v, want %q", c.kernel, c.recipe, err, c.refused)
				}
				if c.refused == "" && strings.Contains(c.recipe, "spec") {
					cand, err := compiler.Compile(context.Background(), s, drivertest.MustParse(t, c.recipe))
					if err != nil {
						t.Fatal(err)
					}
					code, err := os.ReadFile(cand.Path)
					if err != nil {
						t.Fatal(err)
					}
					if bytes.Contains(code, []byte(withFile)) != (c.last == waits) {
						t.Errorf("%s %s: a candidate for the tuner is loaded in another way than a build", c.kernel,
							c.recipe)
					}
				}
				if strings.Contains(c.recipe, "spec") && (s.NoSecond != "") != (c.refused != "") {
					t.Errorf("%s: no second entry: %q", c.recipe, s.NoSecond)
				}
			}
		})
	}
}

// TestTableSize: variables without first values may stand behind a file's table of second entries.
// It is of a size by which they keep the alignment that they had by chance.
func TestTableSize(t *testing.T) {
	const text = `
__device__ char bytes[300] = "some";
__device__ float four[4]; // a program may read it as one float4
static __global__ void k(float *o, int n) { float s = bytes[n]; for (int i = 0; i < n; i++) s += o[i] * four[i]; o[0] = s; }
__global__ void waits(volatile int *flag) { while (!*flag); }
int main() { k<<<1, 1>>>(0, 0); waits<<<1, 1>>>(0); }
`
	for _, version := range []string{"11.8", "13.0"} {
		t.Run(version, func(t *testing.T) {
			p := drivertest.NewProject(t, version, map[string]string{"k.cu": text})
			p.Gnvcc("-arch=sm_80", "k.cu", "-o", "app")
			compiler := New(p.Store, t.TempDir())
			s, err := compiler.Kernel(p.Cubin("app", "sm_80"), "_Z1kPfi")
			if err != nil {
				t.Fatal(err)
			}
			var size []uint64
			for _, recipe := range []string{"", "spec{#1=4}"} {
				c, err := compiler.Compile(context.Background(), s, drivertest.MustParse(t, recipe))
				if err != nil {
					t.Fatal(err)
				}
				code, err := os.ReadFile(c.Path)
				if err != nil {
					t.Fatal(err)
				}
				copy(code[0x14:], []byte{1, 0, 0, 0}) // in 11.8 the ELF's version is the toolkit's
				f, err := elf.NewFile(bytes.NewReader(code))
				if err != nil {
					t.Fatal(err)
				}
				size = append(size, f.Section(".nv.global.init").Size)
			}
			if more := size[1] - size[0]; size[1] <= size[0] || more%512 != 0 {
				t.Errorf("first values take %d bytes, and %d with a table", size[0], size[1])
			}
		})
	}
}
