package policy

import (
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"gnvcc/install/kits"
	"gnvcc/rewrite"
	"gnvcc/rewrite/lowered"
	"gnvcc/rewrite/ptx"
	"gnvcc/rewrite/recipe"
)

const describeCU = `
#include <cassert>
#include <cstdio>
__global__ void __launch_bounds__(256, 2) work(float *a, const float *b, int n, float f) {
  for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += blockDim.x * gridDim.x) {
    float s = 0;
    for (int j = 0; j < 8; j++) s += b[i + j] * f;
    a[i] = s;
  }
}
__global__ void speak(int n) { printf("%d\n", n); }
#define AT int i = blockIdx.x * blockDim.x + threadIdx.x
__global__ void asserts(float *a, int n) { AT; assert(i < n); a[i] = 1; }
__global__ void report(float *a, int n) { AT; if (i >= n) printf("%d of %d\n", i, n); else a[i] = 1; }
__global__ void allocate(float *a, int n) { AT; if (i >= n) a = (float *)malloc(4 * n); a[i] = 1; }
template <typename T> __global__ void shared(T *a) { extern __shared__ float s[]; s[threadIdx.x] = a[threadIdx.x]; __syncthreads(); a[threadIdx.x] = s[31 - threadIdx.x]; }
template __global__ void shared<float>(float *);
`

// nvcc finds a real toolkit, or skips.
func nvcc(t *testing.T) string {
	t.Helper()
	return kits.Any(t).Nvcc()
}

// TestDescribe reads what the real nvcc makes of real kernels.
func TestDescribe(t *testing.T) {
	tool, dir := nvcc(t), t.TempDir()
	cu := filepath.Join(dir, "k.cu")
	if err := os.WriteFile(cu, []byte(describeCU), 0o666); err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(tool, "-arch=sm_90", "--keep", "--keep-dir", dir, "-cubin", "-o",
		filepath.Join(dir, "k.cubin"), cu)
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	read := func(pattern string) []byte {
		found, _ := filepath.Glob(filepath.Join(dir, pattern))
		if len(found) != 1 {
			t.Fatalf("%s: %v", pattern, found)
		}
		b, err := os.ReadFile(found[0])
		if err != nil {
			t.Fatal(err)
		}
		return b
	}
	m, err := ptx.Parse(read("k*.ptx"))
	if err != nil {
		t.Fatal(err)
	}
	unit, err := lowered.Parse(read("k*.gpu"))
	if err != nil {
		t.Fatal(err)
	}
	get := func(name string) Kernel {
		k := Kernel{Name: name}
		if err := k.ReadPTX(m); err != nil {
			t.Fatal(err)
		}
		code, err := unit.Kernel(name)
		if err != nil {
			t.Fatal(err)
		}
		k.ReadSource(code, nil)
		return k
	}
	work := get("_Z4workPfPKfif")
	if work.Short != "work" || work.MaxThreads != 256 || !strings.Contains(work.Bounds, "2") ||
		work.Loads == 0 || work.Stores == 0 || work.Alone != "" || work.Dynamic {
		t.Errorf("work: %+v", work)
	}
	if !slices.Equal(work.Reads, []string{"blockDim.x", "gridDim.x"}) || len(work.Loops) != 2 ||
		len(work.Values) != 4 || work.NoSpec != "" {
		t.Errorf("work: reads %v, loops %v, values %v, %s", work.Reads, work.Loops, work.Values,
			work.NoSpec)
	}
	if err := rewrite.Throttleable(m, work.Name); err != nil {
		t.Errorf("work can't be throttled: %s", err)
	}
	if k := get("_Z5speaki"); k.Alone != "" || k.NoSecond != "" || k.Shut(recipe.Recipe{
		Terms: []recipe.Term{{Lever: "unroll", Value: "2"}}}) != "" || !k.Calls || k.Functions {
		t.Errorf("speak: %+v", k)
	}
	// What the driver does is not about the launch's shape; what is printed may be.
	for _, name := range []string{"_Z7assertsPfi", "_Z6reportPfi", "_Z8allocatePfi"} {
		if k, err := get(name), rewrite.Shapeable(m, name); k.Alone != "" || err != nil || k.Functions {
			t.Errorf("%s: alone %q, shape %v", name, k.Alone, err)
		}
	}
	if k := get("_Z6sharedIfEvPT_"); !k.Dynamic || k.Short != "shared<float>" || k.Bounds != "" ||
		k.MaxThreads != 1024 {
		t.Errorf("shared: %+v", k)
	}
	bad := Kernel{Name: "nosuch"}
	if bad.ReadPTX(m) == nil {
		t.Error("a kernel that is not in the PTX is described")
	}

	// The hash of code: the same for equal code under another cap, another for other code, an error
	// for what is no cubin.
	hash := func(name string, flags ...string) string {
		path := filepath.Join(dir, "h.cubin")
		args := append([]string{"-arch=sm_90", "-cubin", "-o", path, cu}, flags...)
		if out, err := exec.Command(tool, args...).CombinedOutput(); err != nil {
			t.Fatalf("%v\n%s", err, out)
		}
		b, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		h, err := CodeHash(b, name)
		if err != nil {
			t.Fatal(err)
		}
		return h
	}
	const w = "_Z4workPfPKfif"
	plain := hash(w)
	if again := hash(w, "-maxrregcount=64"); again != plain {
		t.Error("a cap that changes nothing changes the hash")
	}
	if o1 := hash(w, "-Xptxas=-O1"); o1 == plain {
		t.Error("other code has the same hash")
	}
	if other := hash("_Z6sharedIfEvPT_"); other == plain {
		t.Error("another kernel has the same hash")
	}
	older := read("k.cubin")
	before, err := CodeHash(older, w)
	if err != nil {
		t.Fatal(err)
	}
	older[20] = 0x7c // as ptxas 12.4 writes it
	if after, err := CodeHash(older, w); err != nil || after != before {
		t.Errorf("another version in the header: %v", err)
	}
	for _, b := range [][]byte{nil, []byte("no cubin"), read("k.cubin")[:200]} {
		if _, err := CodeHash(b, w); err == nil {
			t.Errorf("%d bytes that are no cubin have a hash", len(b))
		}
	}
	if _, err := CodeHash(read("k.cubin"), "nosuch"); err == nil {
		t.Error("a kernel that is not there has a hash")
	}
}

// TestLongNames: taking a name apart is recursive, and a stack that overflows ends the process.
func TestLongNames(t *testing.T) {
	for _, name := range []string{"_Z1k" + strings.Repeat("P", 5_000_000) + "f",
		"_Z1k" + strings.Repeat("P", 1<<15-10) + "f", "_ZN" + strings.Repeat("1a", 2_000_000) + "E1kv"} {
		if got := ShortName(name); got == "" {
			t.Errorf("%.20s of %d bytes: nothing", name, len(name))
		}
	}
}

func TestShortName(t *testing.T) {
	for mangled, want := range map[string]string{
		"_Z7stencilIfLi4EEvPT_S1_i":          "stencil<float, 4>",
		"plain":                              "plain",
		"_ZN2ns1kEPf":                        "ns::k",
		"_ZN12_GLOBAL__N_14hideEPf":          "hide",
		"_Z1kIiEvT_":                         "k<int>",
		"_Z3refIRKfEvT_":                     "ref<float const&>",
		"_Z4voidIvEvv":                       "void<void>",
		"_ZN3cub9AgentIiNS_3OpsEE3runEPKfi1": "_ZN3cub9AgentIiNS_3OpsEE3runEPKfi1",
	} {
		if got := ShortName(mangled); got != want {
			t.Errorf("ShortName(%q) = %q, want %q", mangled, got, want)
		}
	}
}
