package compile

import (
	"bytes"
	"context"
	"debug/elf"
	"os"
	"strings"
	"testing"

	"gnvcc/driver/drivertest"
	"gnvcc/driver/record"
	"gnvcc/install/kits"
)

// What a slice must not lose, and what it need not have.
const sliced = `
#include <algorithm>
#include <cmath>
#include <cstdio>
#include <string>
#include <vector>
namespace { __device__ float scale = 3; template <class T> __device__ T twice(T x) { return x + x; } }
namespace geo {
struct Point { float x, y; __host__ __device__ Point(float v) : x(v), y(v) {} };
__host__ __device__ inline Point operator+(Point a, Point b) { a.x += b.x; a.y += b.y; return a; }
__device__ inline float length(Point p) { return sqrtf(p.x * p.x + p.y * p.y); }
}
template <class T> struct Traits { static constexpr int width = 4; };
template <> struct Traits<float> { static constexpr int width = 8; };
enum purpose { fast, exact };
struct Square { template <class T> __device__ T operator()(T x) const { return x * x; } };
constexpr int block = 128, batch = 4;
__constant__ float table[batch] = {1, 2, 3, 4};
static __device__ int seen;
__device__ __noinline__ float chain(float x, int n) { for (int i = 0; i < n; i++) x = x * x + table[i & 3]; return x; }
__global__ void __launch_bounds__(block) plain(float *p, int n) {
  static __shared__ float buf[block];
  buf[threadIdx.x] = p[threadIdx.x];
  __syncthreads();
  float s = 0;
  for (int i = 0; i < n; i++) s += buf[i & (block - 1)] * table[i & 3] + max(s, 1.5f);
  p[threadIdx.x] = s;
}
__global__ void named(float *p, int n) {
  using namespace geo;
  for (int i = 0; i < n; i++) p[i] = length(Point(p[i]) + 2.0f) + twice(scale);
  if (n == 7) atomicAdd(&seen, 1);
}
template <class T, int N, purpose M, class F> __global__ void typed(T *p, int n, F f) {
  T s = 0;
  for (int i = 0; i < n; i++) s += f(p[i]) / N + Traits<T>::width;
  p[threadIdx.x] = M == exact ? s : twice(s);
}
__global__ void calls(float *p, int n) {
  for (int i = 0; i < n; i++) p[i] = chain(p[i], n) + fabs((double)p[i]);
  printf("%f\n", p[0]);
}
static __global__ void hidden(double *p, int n) { for (int i = 0; i < n; i++) p[i] += 1; }
int main() {
  std::vector<std::string> words;
  plain<<<1, 1>>>(0, 1); named<<<1, 1>>>(0, 1); calls<<<1, 1>>>(0, 1); hidden<<<1, 1>>>(0, 1);
  typed<float, 3, exact><<<1, 1>>>((float *)0, 1, Square());
  typed<double, 4, fast><<<1, 1>>>((double *)0, 1, Square());
  return (int)words.size();
}
`

// TestDraft: a draft is, in normal form and as machine code, what the whole text gives, for kernels
// that use what C++ has; it is marked; and a build does not take it.
func TestDraft(t *testing.T) {
	for _, version := range drivertest.Toolkits {
		t.Run(version, func(t *testing.T) {
			drivertest.Toolkit(t, version)
			if testing.Short() && version != "13.0" {
				t.Skip("SKIPPED: -short")
			}
			t.Parallel()
			modes := [][]string{{"-arch=sm_80"}, {"-arch=sm_80", "-rdc=true", "-lineinfo", "-std=c++20"}}
			if version == "11.8" {
				modes[1] = modes[1][:3]
			}
			if !kits.Every() {
				modes = modes[:1]
			}
			text := sliced
			if version == "11.8" || version == "12.4" { // else no second entries (shared.go)
				text = strings.ReplaceAll(text, "\n__global__", "\nstatic __global__")
			}
			for _, flags := range modes {
				p := drivertest.NewProject(t, version, map[string]string{"k.cu": text})
				p.Gnvcc(append(flags, "-c", "k.cu", "-o", "k.o")...)
				compiler := New(p.Store, t.TempDir())
				kernels := 0
				for _, list := range record.Read(p.Store).Assemblies {
					for _, k := range list[0].Kernels {
						kernels++
						s, err := compiler.source(list[0], k.Name)
						if err != nil {
							t.Fatal(err)
						}
						recipes := []string{"unroll=2"}
						if !list[0].Reloc {
							recipes = append(recipes, "maxnreg=40 unroll=3 spec{#1=64}")
						}
						for _, text := range recipes {
							sameAsWhole(t, compiler, s, text)
						}
					}
				}
				if kernels != 6 {
					t.Errorf("%d kernels", kernels)
				}
			}
		})
	}
}

// sameAsWhole compares the draft by a recipe with what the whole text gives.
func sameAsWhole(t *testing.T, compiler *Compiler, s *Source, text string) {
	t.Helper()
	ctx, r := context.Background(), drivertest.MustParse(t, text)
	fast, err := compiler.Draft(ctx, s, r)
	if err != nil {
		t.Errorf("%s %s: %v", s.Kernel, text, err)
		return
	}
	whole, err := compiler.Compile(ctx, s, r)
	if err != nil {
		t.Fatal(err)
	}
	if !fast.Draft || whole.Draft {
		t.Errorf("%s %s: draft %v, whole %v", s.Kernel, text, fast.Draft, whole.Draft)
	}
	for v, normal := range whole.Normals {
		if fast.Normals[v] != normal || normal == "" {
			t.Errorf("%s %s: %s is other code", s.Kernel, text, v)
		}
	}
	if !bytes.Equal(machineCode(t, fast), machineCode(t, whole)) {
		t.Errorf("%s %s: other machine code", s.Kernel, text)
	}
	if again, err := compiler.Draft(ctx, s, r); err != nil || again.Draft {
		t.Errorf("%s %s: the draft is preferred to the real one: %v", s.Kernel, text, err)
	}
}

// machineCode is a candidate's, without what stands beside it (lines, sizes of names).
func machineCode(t *testing.T, c *Candidate) []byte {
	t.Helper()
	content, err := os.ReadFile(c.Path)
	if err != nil {
		t.Fatal(err)
	}
	copy(content[20:24], []byte{1, 0, 0, 0}) // e_version: 11.8 has its own there
	f, err := elf.NewFile(bytes.NewReader(content))
	if err != nil {
		t.Fatal(err)
	}
	code, err := f.Section(".text." + c.Entry).Data()
	if err != nil || len(code) == 0 {
		t.Fatalf("no code: %v", err)
	}
	return code
}

// TestDraftless: where a slice is not to be had, or was wrong once, candidates are what they were.
func TestDraftless(t *testing.T) {
	p := drivertest.NewProject(t, "13.0", map[string]string{"k.cu": `
template <class F> __global__ void apply(float *p, int n, F f) { for (int i = 0; i < n; i++) p[i] = f(p[i]); }
__global__ void simple(float *p, int n) { for (int i = 0; i < n; i++) p[i] += n; }
int main() { apply<<<1, 1>>>((float *)0, 1, [] __device__(float x) { return x + 1; }); simple<<<1, 1>>>(0, 1); }
`})
	p.Gnvcc("-arch=sm_80", "--extended-lambda", "-c", "k.cu", "-o", "k.o")
	compiler := New(p.Store, t.TempDir())
	ctx := context.Background()
	for _, list := range record.Read(p.Store).Assemblies {
		for _, k := range list[0].Kernels {
			s, err := compiler.source(list[0], k.Name)
			if err != nil {
				t.Fatal(err)
			}
			if strings.Contains(k.Name, "apply") {
				c, err := compiler.Draft(ctx, s, drivertest.MustParse(t, "unroll=2"))
				if err != nil || c.Draft {
					t.Errorf("a kernel without a name: %+v, %v", c, err)
				}
				continue
			}
			// A draft that is other code, as if the slice had lost something.
			if c, err := compiler.Draft(ctx, s, drivertest.MustParse(t, "unroll=2")); err != nil || !c.Draft {
				t.Fatal(c, err)
			}
			spoilDraft(t, compiler, s)
			if c, err := compiler.Compile(ctx, s, drivertest.MustParse(t, "unroll=2")); err != nil || c.Draft {
				t.Error(c, err)
			}
			if c, err := compiler.Draft(ctx, s, drivertest.MustParse(t, "unroll=3")); err != nil || c.Draft {
				t.Errorf("a draft after a wrong one: %+v, %v", c, err)
			}
		}
	}
}

// spoilDraft writes another normal form into the memo of the draft by unroll=2.
func spoilDraft(t *testing.T, compiler *Compiler, s *Source) {
	t.Helper()
	v := variantOf{entry: s.Kernel, terms: drivertest.MustParse(t, "unroll=2").Terms}
	r, err := requestOf(s.translation, s.Module, v)
	if err != nil {
		t.Fatal(err)
	}
	kept, ok := memoDraft.Get(compiler.store, r.variantKey())
	if !ok {
		t.Fatal("the draft is not on record under its key")
	}
	kept.Value.Normal = strings.Repeat("0", 32)
	memoDraft.Put(compiler.store, r.variantKey(), kept)
}
