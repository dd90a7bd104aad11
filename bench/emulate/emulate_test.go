package main

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"gnvcc/install/kits"
	"gnvcc/policy/judge"
)

// TestMain makes the test binary gnvcc, as main does.
func TestMain(m *testing.M) {
	become()
	os.Exit(m.Run())
}

// TestDifference: it tells a variant that has other bits from one that has the same.
func TestDifference(t *testing.T) {
	kit, dir := kits.Any(t), t.TempDir()
	file := filepath.Join(dir, "k.cu")
	if err := os.WriteFile(file, []byte(`
__global__ void both(float *p, float x, float y) { p[threadIdx.x] += x * y; }
__global__ void sum(double *p, const double *q, int n) {
  double s = 0; for (int i = 0; i < n; i++) s += q[threadIdx.x + i] * q[i]; p[threadIdx.x] = s; }
__global__ void turn(int *p, const int *q) {
  __shared__ int s[64]; s[threadIdx.x] = q[threadIdx.x]; __syncthreads();
  int v = s[63 - threadIdx.x]; for (int m = 16; m; m >>= 1) v += __shfl_xor_sync(~0u, v, m);
  atomicAdd(p + 512, v); p[blockIdx.x * 64 + threadIdx.x] = v * (int)blockIdx.x; }
`), 0o600); err != nil {
		t.Fatal(err)
	}
	ctx := context.Background()
	p, err := build(ctx, kit.Nvcc(), file, dir, nil)
	if err != nil {
		t.Fatal(err)
	}
	o := options{grid: [3]int{4, 1, 1}, block: [3]int{64, 1, 1}, rounds: judge.Kinds, bytes: 1 << 12}
	for _, c := range []struct{ kernel, recipe, what string }{
		{"_Z4bothPfff", "spec{x=1.7,y=3.3}", "OTHER"}, // the product is rounded
		{"_Z4bothPfff", "spec{x=1.7}", "same"},
		{"_Z3sumPdPKdi", "spec{n=4}", "same"},
		{"_Z3sumPdPKdi", "unroll=4", "same"},
		{"_Z4turnPiPKi", "coarsen=2x1x1 spec{host(block)=64x1x1,host(dynamic)=0}", "same"},
	} {
		v := p.try(ctx, c.kernel, c.recipe, o)
		if v.what != c.what || v.what == "same" && v.launches != judge.Kinds {
			t.Errorf("%s %s: %+v, want %s", c.kernel, c.recipe, v, c.what)
		}
	}
}

// TestSpillToShared: a block's threads find their spilled registers also where they are no whole
// warps. For .maxntid 48 ptxas reserves too little; the last threads wrote behind it.
func TestSpillToShared(t *testing.T) {
	kit, dir := kits.Any(t), t.TempDir()
	file := filepath.Join(dir, "k.cu")
	if err := os.WriteFile(file, []byte(`
__global__ void live(double *p, const double *q, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  double v[24];
  for (int k = 0; k < 24; k++) v[k] = q[i + k * 8];
  for (int t = 0; t < n; t++)
    for (int k = 0; k < 24; k++) v[k] = v[k] * v[(k + 1) % 24] + v[(k + 7) % 24];
  for (int k = 0; k < 24; k++) p[i + k * 256] = v[k]; }
__global__ void __launch_bounds__(48) bounded(double *p, const double *q) { p[threadIdx.x] = q[threadIdx.x]; }
`), 0o600); err != nil {
		t.Fatal(err)
	}
	ctx := context.Background()
	p, err := build(ctx, kit.Nvcc(), file, dir, nil)
	if err != nil {
		t.Fatal(err)
	}
	for _, threads := range []int{32, 34, 48, 162} {
		recipe := fmt.Sprintf(
			"spec{host(block)=%dx1x1,host(dynamic)=0} smemspill=on maxnreg=32", threads)
		o := options{grid: [3]int{1, 1, 1}, block: [3]int{threads, 1, 1}, rounds: 1, bytes: 1 << 16}
		if v := p.try(ctx, "_Z4livePdPKdi", recipe, o); v.what != "same" || v.launches != 1 {
			t.Errorf("%s: %+v, want the same", recipe, v)
		}
	}
	o := options{grid: [3]int{1, 1, 1}, block: [3]int{48, 1, 1}, rounds: 1, bytes: 1 << 12}
	v := p.try(ctx, "_Z7boundedPdPKd", "spec{host(dynamic)=0} smemspill=on", o)
	if v.what != "refused" || !strings.Contains(v.why, "no whole warps") {
		t.Errorf("bounded to 48: %+v, want a refusal", v)
	}
}

// TestFuzz: random kernels and recipes, each with the bits of nvcc's own; a thousand with
// GNVCC_TESTS=longer.
func TestFuzz(t *testing.T) {
	kit := kits.Any(t)
	if _, err := exec.LookPath("python3"); err != nil {
		t.Skip("SKIPPED: no python3, in which the generators of kernels are written")
	}
	n := 4
	if kits.Longer() {
		n = 250
	}
	generators, err := filepath.Abs("../rounding")
	if err != nil {
		t.Fatal(err)
	}
	f := &fuzz{nvcc: kit.Nvcc(), generators: generators, kernels: 2, recipes: 2, rounds: 2, jobs: 2,
		say: func(line string) { t.Log(line) }}
	ctx, stop := context.WithTimeout(context.Background(), time.Hour)
	defer stop()
	if bad := f.seeds(ctx, 1, n); bad > 0 {
		t.Errorf("%d have other results", bad)
	}
	t.Log(f)
	// Else nothing would have been compared.
	if f.count["same"] < n {
		t.Errorf("of %d files no more than %d recipes could be compared:\n%s", n, f.count["same"],
			strings.TrimSpace(f.String()))
	}
}
