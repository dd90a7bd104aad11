package ptx_test

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"gnvcc/rewrite/ptx"
	"gnvcc/rewrite/ptx/ptxtest"
)

// What a kernel is must not depend on what stands around it: a program is compiled again and again
// with something unrelated changed, and again with something that matters.

const program = `#include <cstdio>
#include <cassert>
static __device__ int counter;
namespace { __device__ float hidden[8] = {1, 2, 3.5f}; }
__constant__ float weights[4] = {1, 2, 3, 4};
__device__ __noinline__ int fib(int n) { return n < 2 ? n : fib(n - 1) + fib(n - 2); }
typedef float (*op)(float);
__device__ float one(float x) { return x + 1; }
__device__ float two(float x) { return x * 2; }
__device__ op table[2] = {one, two};
template <class T> __device__ T twice(T x) { __shared__ T s[32]; s[threadIdx.x & 31] = x; __syncthreads(); return s[(threadIdx.x + 1) & 31]; }
/*HERE*/
__global__ void plain(float *x, int n) { for (int i = threadIdx.x; i < n; i += blockDim.x) x[i] *= weights[i & 3]; }
__global__ void statics(float *x) { x[threadIdx.x] += hidden[threadIdx.x & 7]; atomicAdd(&counter, 1); }
__global__ void prints(int *x) { int a[8]; for (int i = 0; i < 8; i++) a[i] = x[i]; printf("%d %s\n", a[x[9] & 7], __func__); }
__global__ void asserts(int *x) { assert(x[threadIdx.x] > 3); x[0] = 1; assert(x[1] != 17); x[1] = 17; }
__global__ void calls(int *x) { x[0] = fib(x[0]); }
__global__ void pointers(float *x, int k) { x[0] = table[k & 1](x[0]); }
__global__ void shares(float *x) { x[threadIdx.x] = twice(x[threadIdx.x]); }
__global__ void inlines(int *x) { asm volatile("{ .reg .pred p; setp.ne.s32 p, %0, 0; @p bra DONE_%=; st.global.s32 [%1], 7; DONE_%=: }" :: "r"(x[1]), "l"(x)); }
namespace { __global__ void hiddenkernel(float *x) { x[0] += hidden[1]; } }
void host(float *x) { hiddenkernel<<<1, 1>>>(x); }
`

const unrelated = `static __device__ int another; __device__ int third[4] = {1, 2};
__global__ void above(int *x, float *y) {
  int a[16]; for (int i = 0; i < 16; i++) a[i] = x[i];
  assert(x[2] > 1);
  printf("%d %s %d\n", a[x[20] & 15], __func__, another += third[x[0]]);
  for (int i = 0; i < x[3]; i++) if (x[i] > 7) x[i + 1] -= 3; else y[i] = twice(y[i + 1]);
  asm volatile("{ bra.uni L_%=; L_%=: }" :: "r"(x[0]));
  x[5] = fib(x[4]) + (int)table[x[6] & 1](3.f);
}
`

func identities(t *testing.T, kit ptxtest.Toolkit, path, text string,
	flags ...string) (map[string]string, map[string]string) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
	m, err := ptx.Parse(kit.PTX(t, path, append([]string{"-arch=sm_80"}, flags...)...))
	if err != nil {
		t.Fatal(err)
	}
	hashes, normals := make(map[string]string), make(map[string]string)
	for _, f := range m.Entries() {
		h, err := m.Identity(f.Name)
		if err != nil {
			t.Fatal(err)
		}
		n, err := m.Normal(f.Name)
		if err != nil {
			t.Fatal(err)
		}
		name := ptx.StableName(f.Name)
		hashes[name], normals[name] = h.String(), string(n)
	}
	return hashes, normals
}

func TestIdentityStays(t *testing.T) {
	kits := ptxtest.Toolkits(t)
	for _, kit := range slices.Compact([]ptxtest.Toolkit{kits[0], kits[len(kits)-1]}) {
		for _, rdc := range []string{"-rdc=true", "-rdc=false"} {
			if kit != kits[len(kits)-1] && rdc == "-rdc=true" {
				continue
			}
			t.Run(kit.Version+rdc, func(t *testing.T) {
				t.Parallel()
				dir := t.TempDir()
				want, normal := identities(t, kit, filepath.Join(dir, "a.cu"), program, rdc)
				if len(want) != 9 {
					t.Fatalf("%d kernels", len(want))
				}
				for _, v := range []struct {
					what, path, text string
					flags            []string
				}{
					{"a kernel above", "a.cu", strings.Replace(program, "/*HERE*/", unrelated, 1), nil},
					{"another folder, lines above, a kernel below, -lineinfo", "sub/a.cu", "// hello\n\n\n" +
						program + unrelated, []string{"-lineinfo"}},
					{"a kernel less", "a.cu", strings.Replace(program, "__global__ void plain",
						"__device__ void plain", 1), nil},
				} {
					got, now := identities(t, kit, filepath.Join(dir, v.path), v.text, append(v.flags, rdc)...)
					for name, h := range want {
						if g, ok := got[name]; ok && g != h {
							t.Errorf("%s: %s is another kernel:\n%s", v.what, name, difference(normal[name], now[name]))
						}
					}
					if len(got) < len(want)-1 {
						t.Errorf("%s: only %d kernels", v.what, len(got))
					}
				}
			})
		}
	}
}

func TestIdentityChanges(t *testing.T) {
	kits := ptxtest.Toolkits(t)
	kit := kits[len(kits)-1]
	dir := t.TempDir()
	want, _ := identities(t, kit, filepath.Join(dir, "a.cu"), program)
	seen := make(map[string]string)
	for name, h := range want {
		if other, ok := seen[h]; ok {
			t.Errorf("%s and %s are one kernel", name, other)
		}
		seen[h] = name
	}
	type change struct{ what, old, new, kernel string }
	// The changes of a round go together into one compile: they are about different kernels.
	for _, round := range [][]change{
		{
			{"the body", "x[i] *= weights", "x[i] += weights", "_Z5plainPfi"},
			{"a function that it calls", "fib(n - 2)", "fib(n - 3)", "_Z5callsPi"},
			{"a function behind a pointer in a table", "return x * 2", "return x * 3", "_Z8pointersPfi"},
			{"the size of a shared array", "T s[32]", "T s[64]", "_Z6sharesPf"},
			{"inline assembly", "[%1], 7;", "[%1], 8;", "_Z7inlinesPi"},
		}, {
			{"launch bounds", "__global__ void plain", "__global__ void __launch_bounds__(128) plain",
				"_Z5plainPfi"},
			{"the order of that table", "{one, two}", "{two, one}", "_Z8pointersPfi"},
			{"initial values of a static", "1, 2, 3.5f", "1, 2, 4.5f",
				"_Z7staticsPf _ZN_GLOBAL__N_12hiddenkernelEPf"},
		},
		{
			{"a constant's values", "{1, 2, 3, 4}", "{1, 2, 3, 5}", "_Z5plainPfi"},
			// A recipe outvotes a hint that it was measured against, and no other.
			{"a hint for registers", "__global__ void calls", "__global__ void __maxnreg__(40) calls",
				"_Z5callsPi"},
		},
		{{"a parameter's type", "plain(float *x, int n)", "plain(float *x, unsigned n)", "_Z5plainPfj"}},
	} {
		text, changed := program, ""
		for _, c := range round {
			if !strings.Contains(text, c.old) {
				t.Fatalf("%s: nothing to replace", c.what)
			}
			text = strings.Replace(text, c.old, c.new, 1)
			changed += " " + c.kernel
		}
		got, _ := identities(t, kit, filepath.Join(dir, "a.cu"), text)
		for name, g := range got {
			if (g != want[name]) != slices.Contains(strings.Fields(changed), name) {
				t.Errorf("%v: %s: changed: %v", round, name, g != want[name])
			}
		}
	}
}

// difference shows the first lines that differ.
func difference(a, b string) string {
	x, y := strings.Split(a, "\n"), strings.Split(b, "\n")
	for i := 0; i < len(x) && i < len(y); i++ {
		if x[i] != y[i] {
			return "- " + x[i] + "\n+ " + y[i]
		}
	}
	return "one is longer"
}

func TestPlain(t *testing.T) {
	for _, c := range [][2]string{
		{"_Z4plusPfi", "_Z4plusPfi"},
		{"_ZN43_INTERNAL_72df0a26_12_templates_cu_b8db29f545_GLOBAL__N__72df0a26_12_templates_cu_b8db29f56hiddenE", "_ZN_INTERNAL__GLOBAL__N_6hiddenE"},
		{"_ZN45_GLOBAL__N__72df0a26_12_templates_cu_b8db29f55innerEPi", "_ZN_GLOBAL__N_5innerEPi"},
		{"_ZN32_INTERNAL_c10822b0_4_a_cu__Z1kPf34_GLOBAL__N__c10822b0_4_a_cu__Z1kPf6hiddenE",
			"_ZN_INTERNAL__GLOBAL__N_6hiddenE"},
		{"__nv_static_34__72df0a26_12_templates_cu_b8db29f5_counter", "__nv_static__counter"},
		{"__nv_static_34__72df0a26_12_templates_cu_b8db29f5__ZN43_INTERNAL_72df0a26_12_templates_cu_b8db29f545_GLOBAL__N__72df0a26_12_templates_cu_b8db29f56hiddenE",
			"__nv_static___ZN_INTERNAL__GLOBAL__N_6hiddenE"},
		// a template argument, a number in front
		{"_Z1fILi345_GLOBAL__N__72df0a26_12_templates_cu_b8db29f5EvT_", "_Z1fILi3_GLOBAL__N_EvT_"},
		// what only looks so stays
		// The process' number in it: another in every compile, and not always as long.
		{"_ZN41_INTERNAL_a47ef1fa_5_s3_cu_ef5c5f41_113823lib43_GLOBAL__N__a47ef1fa_5_s3_cu_ef5c5f41_113827counterE", "_ZN_INTERNAL_3lib_GLOBAL__N_7counterE"},
		{"_ZN40_INTERNAL_a47ef1fa_5_s3_cu_ef5c5f41_80753lib42_GLOBAL__N__a47ef1fa_5_s3_cu_ef5c5f41_80757counterE", "_ZN_INTERNAL_3lib_GLOBAL__N_7counterE"},
		{"my_INTERNAL_x", "my_INTERNAL_x"},
		{"__nv_static_99__short", "__nv_static_99__short"},
		{"__nv_static_", "__nv_static_"},
		{"", ""},
	} {
		if got := ptx.StableName(c[0]); got != c[1] {
			t.Errorf("StableName(%q) = %q, want %q", c[0], got, c[1])
		}
	}
}
