package policy

import (
	"math"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"gnvcc/profile"
	"gnvcc/rewrite"
	"gnvcc/rewrite/ptx"
)

func TestBounds(t *testing.T) {
	for _, text := range []string{"1e-3", "mean:1e-5", "0.5", "app:make check"} {
		if _, err := parseBound(text); err != nil {
			t.Error(err)
		}
	}
	for _, text := range []string{"", "0", "-1", "NaN", "Inf", "mean", "mean:", "max:1e-3", "1e-3 ", "app:", "app: "} {
		if b, err := parseBound(text); err == nil {
			t.Errorf("%q is read as %v", text, b)
		}
	}
	if b, _ := parseBound("app:./check"); !b.Allows(Error{Max: 1e7}) || b.Allows(Error{Max: UnknownError}) || b.App != "./check" {
		t.Errorf("a command's bound: %+v", b)
	}
	o := Defaults()
	o.Exact = rewrite.Approximate
	if err := o.Validate(nil); err == nil || !strings.Contains(err.Error(), "-within") {
		t.Errorf("approximation without a bound: %v", err)
	}
}

const writesCU = `
#include <cassert>
#include <cuda_fp16.h>
struct S { float x, y, z; };
extern "C" {
__global__ void f32_plain(float4 *a, float x) { assert(x > 0); a[threadIdx.x] = make_float4(x, x * 2, x / 3, x); }
__global__ void f32_zero(float *a, float x) { if (x > 0) a[threadIdx.x] = x; else a[threadIdx.x] = 0; }
__global__ void f32_struct(S *a, S b) { a[threadIdx.x] = b; }
__global__ void f32_atomic(float *a) { atomicAdd(a, 1.5f); }
__global__ void f32_shared(float *a) { __shared__ int s[32]; s[threadIdx.x] = a[threadIdx.x]; __syncthreads(); a[threadIdx.x] = s[31 - threadIdx.x] * .5f; }
__global__ void f64_plain(double2 *a, double x) { a[threadIdx.x] = make_double2(x, x * 2); }
__global__ void none_both(float *a, double *b, float x) { a[threadIdx.x] = x; b[threadIdx.x] = x; }
__global__ void none_integer(float *a, int *b) { a[threadIdx.x] = 1.5f * b[0]; b[threadIdx.x] = b[1]; }
__global__ void none_half(__half *a) { a[threadIdx.x] = __hadd(a[0], a[1]); }
__global__ void none_bytes(uchar4 *a, float x) { a[threadIdx.x] = make_uchar4(x, x, x, x); }
__global__ void none_copy(float4 *a, float4 *b) { a[threadIdx.x] = b[threadIdx.x]; }
__global__ void none_count(float *a, int *n) { if (a[threadIdx.x] > 0) atomicAdd(n, 1); }
__global__ void none_nothing(float *a) { }
}
`

// TestWrites: the type of all that is stored, from what the real nvcc makes of it.
func TestWrites(t *testing.T) {
	tool, dir := nvcc(t), t.TempDir()
	cu, out := filepath.Join(dir, "w.cu"), filepath.Join(dir, "w.ptx")
	if err := os.WriteFile(cu, []byte(writesCU), 0o666); err != nil {
		t.Fatal(err)
	}
	if text, err := exec.Command(tool, "-arch=sm_80", "-ptx", "-o", out,
		cu).CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, text)
	}
	text, err := os.ReadFile(out)
	if err != nil {
		t.Fatal(err)
	}
	m, err := ptx.Parse(text)
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range m.Entries() {
		want := f.Name[:3]
		if want == "non" {
			want = ""
		}
		if got, err := writes(m, f.Name); got != want || err != nil {
			t.Errorf("%s writes %q, %v", f.Name, got, err)
		}
	}
}

// TestErrorOf: which of the agent's figures count, and what is never within a bound.
func TestErrorOf(t *testing.T) {
	d := profile.Difference{Words: 4, Relative32: 1e-3, Relative64: 1e-9, Mean32: 1e-5, Mean64: 1e-12}
	for _, c := range []struct {
		writes string
		max    float64
	}{{"f32", 1e-3}, {"f64", 1e-9}, {"", UnknownError}} {
		k := &Kernel{Writes: c.writes}
		if e := k.ErrorOf(d); e.Max != c.max {
			t.Errorf("%q: %+v", c.writes, e)
		}
	}
	k := &Kernel{Writes: "f32"}
	if e := k.ErrorOf(profile.Difference{Words: 1, Relative32: math.Inf(1),
		Mean32: math.NaN()}); e.Max != UnknownError || e.Mean != UnknownError ||
		(Bound{Value: 1e8}).Allows(e) {
		t.Errorf("infinite: %+v", e)
	}
	if e := k.ErrorOf(profile.Difference{Same: true}); e != (Error{}) || !(Bound{}).Allows(e) {
		t.Errorf("the same: %+v", e)
	}
	// -0 in place of 0: other bits
	if e := k.ErrorOf(profile.Difference{Words: 1}); e == (Error{}) || (Bound{}).Allows(e) {
		t.Errorf("equal values of other bits: %+v", e)
	}
}
