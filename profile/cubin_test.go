package profile

import (
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"gnvcc/install/kits"
)

const cubinSource = `
#include <cstdio>
#include <cassert>
__device__ int dv[10]; __constant__ float cc[3]; static __device__ double sd = 2;
__device__ long __gnvcc_seconds[2] = {1, 2};
#ifdef MANAGED
__managed__ int mg;
#endif
__device__ __noinline__ void say(int x) { printf("x %d\n", x); }
__device__ __noinline__ int pure(int x) { return x * dv[x]; }
__global__ void prints(int *p) { printf("hi %d\n", p[0]); }
__global__ void prints_deeper(int *p) { say(p[0]); p[1] = pure(p[0]); }
__global__ void allocates(int **p) { p[0] = (int *)malloc(10); }
__global__ void asserts(int *p) { assert(p[0] > 2); p[1] = cc[p[2]] * sd; }
__global__ void plain(int *p) { p[0] = pure(p[1]); }
__global__ void by_pointer(int *p, void (*f)(int)) { f(*p); }
`

// compiled gives the path of what nvcc makes of a file, beside it.
func compiled(t *testing.T, root, source, kind string, args ...string) string {
	t.Helper()
	out := strings.TrimSuffix(source, filepath.Ext(source)) + kind
	if text, err := exec.Command(filepath.Join(root, "bin", "nvcc"), append(slices.Clone(args),
		"-arch=sm_90", source, "-o", out)...).CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, text)
	}
	return out
}

// cubinOf reads the cubin that nvcc makes of a file.
func cubinOf(t *testing.T, root, source string, args ...string) *contents {
	t.Helper()
	b, err := os.ReadFile(compiled(t, root, source, ".cubin", args...))
	if err != nil {
		t.Fatal(err)
	}
	got, err := readCubin(b)
	if err != nil {
		t.Fatal(err)
	}
	return got
}

func TestCubin(t *testing.T) {
	root := kits.Any(t).Dir
	for _, c := range []struct {
		name string
		args []string
	}{{"whole", []string{"-cubin"}}, {"managed", []string{"-cubin", "-DMANAGED"}},
		{"linked", []string{"-rdc=true", "-dlink", "-cubin"}}} {
		t.Run(c.name, func(t *testing.T) {
			source := filepath.Join(t.TempDir(), "k.cu")
			os.WriteFile(source, []byte(cubinSource), 0o600)
			if c.name == "linked" {
				source = compiled(t, root, source, ".o", "-rdc=true", "-c")
			}
			got := cubinOf(t, root, source, c.args...)
			var names []string
			for _, v := range got.variables {
				names = append(names, v.name)
				if v.constant != (v.name == "cc") {
					t.Errorf("%+v", v)
				}
			}
			for want, size := range map[string]uint64{"dv": 40, "cc": 12, "sd": 8} {
				found := slices.ContainsFunc(got.variables, func(v variable) bool {
					return strings.HasSuffix(v.name, want) && v.size == size
				})
				if !found {
					t.Errorf("no variable %s of %d bytes in %v", want, size, got.variables)
				}
			}
			for _, n := range names {
				if strings.HasPrefix(n, "$") || strings.HasPrefix(n, "__unnamed") ||
					strings.HasPrefix(n, "__gnvcc") {
					t.Errorf("%s is the compiler's own, or gnvcc's", n)
				}
			}
			// What is printed is compared.
			for _, kernel := range []string{"_Z6printsPi", "_Z13prints_deeperPi", "_Z9allocatesPPi",
				"_Z7assertsPi", "_Z5plainPi"} {
				why := got.unrepeatable(kernel)
				if (why != "") != (c.name == "managed" || kernel == "_Z9allocatesPPi") {
					t.Errorf("%s: %q", kernel, why)
				}
			}
		})
	}
}

func FuzzCubin(f *testing.F) {
	f.Add([]byte("\x7fELF"))
	f.Fuzz(func(t *testing.T, b []byte) {
		if c, err := readCubin(b); err == nil {
			c.unrepeatable("k")
		}
	})
}
