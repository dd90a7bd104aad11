package compile

import (
	"bytes"
	"debug/elf"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"gnvcc/install/kits"
)

// What must be refused, though ptxas takes it: launches that worked would fail, hang, or see other
// variables.

// TestBeside: no launch that worked waits for ever, or finds too little memory. Beside a kernel
// that waits a second entry must be loaded with its file, which is not possible for all
// architectures; local memory beyond what a context has is allocated at a launch.
func TestBeside(t *testing.T) {
	kits.Long(t, "TestLinkedSeconds has second entries, too")
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
	none := strings.ReplaceAll(waits, "while (!*flag)", "*flag = 1")
	for _, version := range []string{"11.8", "13.0"} {
		t.Run(version, func(t *testing.T) {
			for _, file := range []struct {
				arch, last string
				tries      [][3]string // kernel, recipe, why it is refused
			}{
				{"sm_80", waits, [][3]string{{"_Z1kPfPKfi", "spec{#2=4}", ""}, {"_Z1kPfPKfi", "maxnreg=64", ""},
					{"_Z4widePfPKfi", "maxnreg=40", "local memory"}, {"_Z4widePfPKfi", "maxnreg=168", ""}}},
				{"sm_80", none, [][3]string{{"_Z1kPfPKfi", "spec{#2=4}", ""}}},
				{"sm_100", waits, [][3]string{{"_Z1kPfPKfi", "spec{#2=4}", "may wait for other blocks"},
					{"_Z1kPfPKfi", "spec{host(block)=64x1x1,host(dynamic)=0} throttle=2", "may wait for other blocks"}}},
				{"sm_100", none, [][3]string{{"_Z1kPfPKfi", "spec{#2=4}", ""}}},
			} {
				if file.arch == "sm_100" && version == "11.8" {
					continue // not known there
				}
				p := built(t, version, file.arch, work+file.last)
				for _, c := range file.tries {
					s := p.kernel(c[0])
					p.rehearses(s, c[1], c[2])
					if !strings.Contains(c[1], "spec") {
						continue
					}
					if (s.NoSecond != "") != (c[2] != "") {
						t.Errorf("%s: no second entry: %q", c[1], s.NoSecond)
					}
					if c[2] == "" {
						if _, code := p.made(s, c[1]); bytes.Contains(code, []byte(withFile)) != (file.last == waits) {
							t.Errorf("%s: a candidate for the tuner is loaded in another way than a build", c[1])
						}
					}
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
			p := built(t, version, "sm_80", text)
			var size []uint64
			for _, recipe := range []string{"", "spec{#1=4}"} {
				_, code := p.made(p.kernel("_Z1kPfi"), recipe)
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

// TestSharedHost: a second entry is its file's, and the runtime may have the kernel from another
// file that registers it under the same address. So it reaches no variables, or that can't be.
func TestSharedHost(t *testing.T) {
	kits.Long(t, "TestLinkedSeconds has second entries, too")
	const text = `
static __device__ int calls;
static __constant__ float table[4] = {1, 2, 3, 4};
#define BODY { float s = 0; for (int i = 0; i < n; i++) s += o[i] * table[i & 3]; o[0] = s; if (n > 99) calls++; }
template <class T> __global__ void made(T *o, int n) BODY
inline __global__ void in_line(float *o, int n) BODY
extern "C" inline __global__ void c_in_line(float *o, int n) BODY
__global__ void strong(float *o, int n) BODY
static __global__ void still(float *o, int n) BODY
namespace { __global__ void unnamed(float *o, int n) BODY }
template <class T> __global__ void none(T *o, int n) { T s = 0; for (int i = 0; i < n; i++) s += sin(o[i]); o[0] = s; }
int main() { made<<<1, 1>>>((float *)0, 0); in_line<<<1, 1>>>(0, 0); c_in_line<<<1, 1>>>(0, 0); strong<<<1, 1>>>(0, 0);
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
			p := built(t, c.version, "sm_80", text, append(strings.Fields(c.flag), "-w")...)
			for _, f := range p.kernel("_Z6strongPfi").Module.Entries() {
				s, why := p.kernel(f.Name), ""
				if slices.ContainsFunc(c.refused, func(name string) bool { return strings.Contains(f.Name, name) }) {
					why = "variables of its own"
				}
				if strings.Contains(s.NoSecond, "variables of its own") != (why != "") {
					t.Errorf("%s: %q", f.Name, s.NoSecond)
				}
				p.rehearses(s, "spec{#1=4}", why)
			}
		})
	}
}

// TestWatched: what others see while a kernel runs is not moved, and local memory beyond what every
// context has grows only where the kernel itself stands in for it.
func TestWatched(t *testing.T) {
	const text = `
#include <cstdio>
__global__ void first(const float *__restrict__ x, float *o, int n) {
  long i = (blockIdx.x * (long)blockDim.x + threadIdx.x) / n; // a function of ptxas' own
  asm volatile("griddepcontrol.wait;" ::: "memory");
  float s = 0;
  for (int j = 0; j < n; j++) s += x[i + j * 64];
  asm volatile("griddepcontrol.launch_dependents;");
  o[i] = s;
}
__global__ void early(const float *__restrict__ x, float *o, int n) {
  float s = *(volatile float *)(o + n);
  asm volatile("griddepcontrol.wait;" ::: "memory");
  for (int j = 0; j < n; j++) s += x[threadIdx.x + j * 64];
  o[threadIdx.x] = s;
}
__global__ void prints(const float *x, float *o, int n) {
  float s = 0;
  for (int j = 0; j < n; j++) s += x[threadIdx.x + j * 64];
  if (s > 1e30f) printf("%f\n", s);
  o[threadIdx.x] = s;
}
__global__ void local(const float *x, float *o, int n) {
  float a[300], b[40];
  for (int j = 0; j < 300; j++) a[j] = x[j + threadIdx.x];
  for (int j = 0; j < 40; j++) b[j] = x[j * 3 + threadIdx.x];
  float s = 0;
  for (int j = 0; j < n; j++) {
    s += a[(j * 7) % 300];
#pragma unroll
    for (int k = 0; k < 40; k++) b[k] = b[k] * s + b[(k + 1) % 40];
  }
  for (int k = 0; k < 40; k++) s += b[k];
  o[threadIdx.x] = s;
}
`
	const second = "spec{host(block)=64x1x1,host(dynamic)=0} "
	for host, cases := range map[string][][3]string{
		`int main() { first<<<1, 1>>>(0, 0, 0); early<<<1, 1>>>(0, 0, 0); prints<<<1, 1>>>(0, 0, 0); local<<<1, 1>>>(0, 0, 0); }`: {
			{"_Z5firstPKfPfi", "maxnreg=24 hint@ld=cs hint@st=cs", ""},
			{"_Z5firstPKfPfi", "unroll=2", ""},
			{"_Z5firstPKfPfi", second + "throttle=2", "griddepcontrol"},
			{"_Z5earlyPKfPfi", "maxnreg=24", "before griddepcontrol.wait"},
			{"_Z6printsPKfPfi", "maxnreg=40 hint@ld=cs", ""},
			{"_Z6printsPKfPfi", "unroll=2", ""}, // as decided; who chooses a recipe refuses it (rewrite.Watched)
			{"_Z5localPKfPfi", "maxnreg=24", "second entry"},
			{"_Z5localPKfPfi", second + "maxnreg=24", ""},
		},
		`__global__ void waits(volatile int *flag) { while (!*flag); }
int main() { local<<<1, 1>>>(0, 0, 0); waits<<<1, 1>>>(0); }
`: {{"_Z5localPKfPfi", second + "maxnreg=24", "second entry"}},
	} {
		p := built(t, "13.0", "sm_90", text+host)
		for _, c := range cases {
			s := p.kernel(c[0])
			if c[0] == "_Z5localPKfPfi" && s.Default.Stack <= 1024 {
				t.Fatalf("local has %d bytes of local memory", s.Default.Stack)
			}
			p.rehearses(s, c[1], c[2])
		}
	}
}

// TestRefused: no value is fixed by which cicc would divide by 0, or shift by more than there is.
func TestRefused(t *testing.T) {
	const text = `
__global__ void share(int *p, int n, int m) { p[threadIdx.x] = 7; p[threadIdx.x] = p[threadIdx.x + 1] / (n - 4) + m; }
__global__ void shift(int *p, int n, int m) { p[threadIdx.x] = 7; p[threadIdx.x] = p[threadIdx.x + 1] << (n + m); }
__global__ void least(int *p, int n, int m) { p[threadIdx.x] = 7; p[threadIdx.x] = n / m; }
__global__ void count(int *p, int n, int m) { for (int i = 0; i <= n; i++) if (p[i] > m) p[i + 64] = p[i] << i; }
int main() { count<<<1, 1>>>(0, 0, 0); share<<<1, 1>>>(0, 0, 0); shift<<<1, 1>>>(0, 0, 0); least<<<1, 1>>>(0, 0, 0); }
`
	for _, version := range []string{"12.4", "13.0"} {
		t.Run(version, func(t *testing.T) {
			p := built(t, version, "sm_80", text)
			for name, recipes := range map[string]map[string]string{
				"_Z5sharePiii": {"spec{#1=4}": "divide by 0", "spec{#1=5}": ""},
				"_Z5shiftPiii": {"spec{#1=30,#2=2}": "shift by 32", "spec{#1=30,#2=-31}": "shift by 4294967295",
					"spec{#1=30,#2=1}": ""},
				"_Z5countPiii": {"spec{#1=32}": "shift by 32", "spec{#1=31}": ""},
				"_Z5leastPiii": {"spec{#1=-2147483648,#2=-1}": "no result that fits", "spec{#1=-2147483647,#2=-1}": ""},
			} {
				p.tries(p.kernel(name), recipes)
			}
		})
	}
}

// TestHostResident: the host code is found beside the PTX, for each target, in folders and under
// names that a pattern would take for its own signs.
func TestHostResident(t *testing.T) {
	dir := filepath.Join(t.TempDir(), `a[b]*\?`)
	if err := os.MkdirAll(dir, 0o700); err != nil {
		t.Fatal(err)
	}
	host := "# 1 \"k.cu\"\nint main() { cudaLaunchCooperativeKernel(0, 1, 1, 0, 0, 0); }\n"
	for ptx, file := range map[string]string{
		"k[1].ptx":                        "k[1].cudafe1.cpp",
		"tmpxft_1f_0-7_j*.compute_80.ptx": "tmpxft_1f_0-6_j*.compute_90.cudafe1.cpp",
		"tmpxft_1f_0-5_l.ptx":             "tmpxft_1f_0-6_l.cudafe1.cpp",
	} {
		if err := os.WriteFile(filepath.Join(dir, file), []byte(host), 0o600); err != nil {
			t.Fatal(err)
		}
		if HostResident(filepath.Join(dir, ptx)) == "" {
			t.Errorf("%s beside %s asks for nothing", file, ptx)
		}
	}
	if why := HostResident(filepath.Join(dir, "m.ptx")); why != "" {
		t.Errorf("m.ptx has no host code: %s", why)
	}
}
