package compile

import (
	"context"
	"maps"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"gnvcc/cache"
	"gnvcc/driver/drivertest"
	"gnvcc/driver/record"
	"gnvcc/install/kits"
)

// What kernels of one file share: a device function with a loop, one that is not inlined, a
// variable, a constant, a template, strings.
const shares = `
#include <cstdio>
__device__ int visible;
__constant__ float table[4] = {1, 2, 3, 4};
static __device__ float norm(const float *p, int n) { float s = 0; for (int i = 0; i < n; i++) s = __fadd_rn(s, __fmul_rn(p[i], p[i])); return s; }
__device__ __noinline__ float chain(float x, int n) { for (int i = 0; i < n; i++) x = __fadd_rn(__fmul_rn(x, x), table[i & 3]); return x; }
__global__ void first(float *p, int n) { for (int i = 0; i < n; i++) p[i * 32 + threadIdx.x] = __fadd_rn(p[i * 32 + threadIdx.x], table[i & 3]); atomicAdd(&visible, n); }
__global__ void second(float *p, int n) { p[threadIdx.x] = __fadd_rn(norm(p, n), chain(p[0], n)); printf("second %d\n", n); }
__global__ void third(float *p, int n) { p[threadIdx.x] = __fmul_rn(3, norm(p, n)); printf("third %d\n", n); }
template <class T> __global__ void fourth(T *p, int n) { T s = 0; for (int i = 0; i < n; i++) if (p[i] / n > s) s = p[i] / n; p[threadIdx.x] = s; }
template __global__ void fourth<float>(float *, int);
template __global__ void fourth<double>(double *, int);
__global__ void fifth(float *p, int n) {
  __shared__ float buf[256];
  buf[threadIdx.x] = p[threadIdx.x];
  __syncthreads();
  float s = 0;
  for (int i = 0; i < n; i++) s = __fadd_rn(s, __fmul_rn(buf[i], buf[255 - i]));
  p[threadIdx.x] = s;
}
__global__ void untouched(float *p, int n) { p[0] = norm(p, n) + chain(p[1], n); printf("untouched\n"); }
int main() { first<<<1, 1>>>(0, 1); second<<<1, 1>>>(0, 1); third<<<1, 1>>>(0, 1); fifth<<<1, 1>>>(0, 1); }
`

// TestFirst: a machine that did not tune builds several kernels with source recipes by one slice
// each, by none the second time, and gets what the machine that did tune gets, to the byte.
func TestFirst(t *testing.T) {
	for _, version := range drivertest.Toolkits {
		t.Run(version, func(t *testing.T) {
			kit := drivertest.Toolkit(t, version)
			t.Parallel()
			calls := filepath.Join(t.TempDir(), "calls")
			shadow := t.TempDir()
			if err := drivertest.ShadowOf(kit, shadow, calls); err != nil {
				t.Fatal(err)
			}
			ciccs := func() int {
				text, _ := os.ReadFile(calls)
				os.Remove(calls)
				return strings.Count(string(text), "cicc\n")
			}
			for _, c := range []struct {
				name    string
				recipes map[string]string
				spoil   func(name string, d *cache.Decision)
				ciccs   int // of the first build, nvcc's included
				flags   []string
				left    int // kernels that stay nvcc's own
			}{
				{"slices", map[string]string{
					"_Z5firstPfi": "unroll=8", "_Z6secondPfi": "maxnreg=40 unroll@norm.1=2",
					"_Z5thirdPfi":       "spec{#1=7} unroll=2",
					"_Z6fourthIfEvPT_i": "spec{#1=64}", "_Z6fourthIdEvPT_i": "spec{#1=64}",
					"_Z5fifthPfi": "spec{#1=64}"}, nil, 7, nil, 0},
				{"a factor for a loop that another kernel has as it is", map[string]string{
					"_Z5firstPfi": "unroll=8", "_Z6secondPfi": "spec{#1=7}", "_Z5thirdPfi": "unroll=4"}, nil, 4,
					nil, 0},
				{"two sets of values for one body and for one template", map[string]string{
					"_Z5firstPfi": "spec{#1=3} spec{#1=4}", "_Z6fourthIfEvPT_i": "spec{#1=64}",
					"_Z6fourthIdEvPT_i": "spec{#1=65}", "_Z5fifthPfi": "spec{#1=64}"}, nil, 6, nil, 0},
				{"relocatable code for two targets with lines", map[string]string{
					"_Z5firstPfi": "unroll=8", "_Z6secondPfi": "unroll@norm.1=2", "_Z5fifthPfi": "spec{#1=64}"},
					nil, 8,
					[]string{"-rdc=true", "-lineinfo", "-gencode", "arch=compute_80,code=sm_80", "-gencode",
						"arch=compute_90,code=sm_90"}, 0},
				{"other code than was measured", map[string]string{"_Z5firstPfi": "unroll=8",
					"_Z6secondPfi": "unroll@norm.1=2", "_Z5fifthPfi": "spec{#1=64}"},
					func(name string, d *cache.Decision) {
						for text := range d.Evidence.Normals {
							if name == "_Z5fifthPfi" {
								d.Evidence.Normals[text] = strings.Repeat("0", 32)
							}
						}
					}, 4, nil, 1},
				{"decided by an earlier version", map[string]string{"_Z5firstPfi": "unroll=8",
					"_Z6secondPfi": "unroll@norm.1=2", "_Z5fifthPfi": "spec{#1=64}"},
					func(name string, d *cache.Decision) { d.Evidence.Normals = nil }, 1, nil, 3},
			} {
				if version != "13.0" && c.name != "slices" {
					continue // what stands in the way of what is not the toolkit's affair
				}
				t.Run(c.name, func(t *testing.T) {
					if c.name != "slices" {
						kits.Long(t, "slices has the same for other recipes")
					}
					flags := c.flags
					if flags == nil {
						flags = []string{"-arch=sm_80"}
					}
					flags = append(flags, "-c", "k.cu", "-o")
					tuned := drivertest.NewProject(t, version, map[string]string{"k.cu": shares})
					// The other machine's project lies in the same folder there: names of static symbols hold the
					// path.
					other := &drivertest.Project{T: t, Kit: kit, Dir: tuned.Dir}
					dir := filepath.Join(t.TempDir(), "store")
					var err error
					if other.Store, err = cache.Open(dir); err != nil {
						t.Fatal(err)
					}
					for _, p := range []*drivertest.Project{tuned, other} {
						p.Env = append(p.Env, tuned.Env...)
						p.Env = append(p.Env, "GNVCC_NVCC="+filepath.Join(shadow, "bin/nvcc"))
						if c.left > 0 {
							p.Env = append(p.Env, "GNVCC_STRICT=")
						}
					}
					other.Env = append(other.Env, "GNVCC_STORE="+dir)
					tuned.Gnvcc(append(flags, "tuned.o")...)

					// Tuning: every kernel's candidate, compiled alone.
					compiler := New(tuned.Store, t.TempDir())
					seen := map[string]bool{}
					for hash, list := range record.Read(tuned.Store).Assemblies {
						for _, k := range list[0].Kernels {
							text, ok := c.recipes[k.Name]
							if !ok || seen[k.Identity] {
								continue
							}
							seen[k.Identity] = true
							a := list[0]
							s, err := compiler.source(a, k.Name)
							if err != nil {
								t.Fatal(hash, err)
							}
							parts, err := drivertest.MustParse(t, text).Entries()
							if err != nil {
								t.Fatal(err)
							}
							if len(parts) == 0 {
								parts = append(parts, drivertest.MustParse(t, text))
							}
							d := cache.Decision{Identity: k.Identity, Kernel: k.Name, Target: a.Target, Recipe: text,
								Exactness: "checked", Time: time.Now()}
							d.Evidence.Normals = map[string]string{}
							for _, part := range parts {
								cand, err := compiler.Compile(context.Background(), s, part)
								if err != nil {
									t.Fatal(part, err)
								}
								if len(cand.Normals) != 1 {
									t.Fatalf("%s: %v", part, cand.Normals)
								}
								maps.Copy(d.Evidence.Normals, cand.Normals)
							}
							if c.spoil != nil {
								c.spoil(k.Name, &d)
							}
							for _, p := range []*drivertest.Project{tuned, other} {
								if err := p.Store.Spool(cache.Decisions, k.Identity, d); err != nil {
									t.Fatal(err)
								}
							}
						}
					}
					for _, p := range []*drivertest.Project{tuned, other} {
						if err := p.Store.PublishSpooled(context.Background()); err != nil {
							t.Fatal(err)
						}
					}
					base := 1
					if c.flags != nil {
						base = 2 // targets
					}
					ciccs()
					tuned.Gnvcc(append(flags, "tuned.o")...)
					if n := ciccs(); n != base {
						t.Errorf("%d runs of cicc on the machine that tuned, nvcc's own are %d", n, base)
					}
					other.Gnvcc(append(flags, "other.o")...)
					if n := ciccs(); n != c.ciccs {
						t.Errorf("%d runs of cicc at the first build, want %d", n, c.ciccs)
					}
					applied(t, other, c.recipes, len(seen)-c.left)
					first := cubins(t, other.Store)
					for key, want := range cubins(t, tuned.Store) {
						if c.flags == nil && first[key] != want {
							t.Errorf("%s is another one on the machine that did not tune", key)
						}
					}
					other.Gnvcc(append(flags, "other.o")...)
					if n := ciccs(); n != base {
						t.Errorf("%d runs of cicc at the second build, nvcc's own are %d", n, base)
					}
				})
			}
		})
	}
}

// applied checks that the newest build of every kernel has its recipe.
func applied(t *testing.T, p *drivertest.Project, recipes map[string]string, want int) {
	t.Helper()
	found := map[string]string{}
	for _, list := range record.Read(p.Store).Assemblies {
		for _, a := range list {
			for _, k := range a.Kernels {
				if k.Recipe != "" {
					found[k.Identity] = k.Recipe
					if recipes[k.Name] != k.Recipe {
						t.Errorf("%s was built with %q, not %q", k.Name, k.Recipe, recipes[k.Name])
					}
				}
			}
		}
	}
	if len(found) != want {
		t.Errorf("%d kernels were built with recipes, not %d", len(found), want)
	}
}

// cubins gives the hashes of cubins with recipes, by target.
func cubins(t *testing.T, store *cache.Store) map[string]string {
	t.Helper()
	out := map[string]string{}
	for hash, list := range record.Read(store).Assemblies {
		for _, a := range list {
			for _, k := range a.Kernels {
				if k.Recipe != "" {
					out[a.Target] = hash
				}
			}
		}
	}
	return out
}
