package main

import (
	"context"
	"os"
	"path/filepath"
	"testing"

	"gnvcc/install/kits"
)

// TestMain makes the test binary gnvcc, as main does.
func TestMain(m *testing.M) {
	become()
	os.Exit(m.Run())
}

// TestCompare: a variant with other bits is told from one that has the same, and from one that is
// the same code.
func TestCompare(t *testing.T) {
	kits.Long(t, "bench/keep/harm builds such programs")
	kit, dir, ctx := kits.Any(t), t.TempDir(), context.Background()
	file := filepath.Join(dir, "k.cu")
	if err := os.WriteFile(file, []byte(`
__global__ void both(float *p, float x, float y) { p[blockIdx.x * 256 + threadIdx.x] += x * y; }
__global__ void sum(double *p, const double *q, int n) { int t = blockIdx.x * 256 + threadIdx.x;
  double s = 0; for (int i = 0; i < n; i++) s += q[t + i] * q[i]; p[t] = s; }
`), 0o600); err != nil {
		t.Fatal(err)
	}
	p, err := build(ctx, kit.Nvcc(), file, dir, nil)
	if err != nil {
		t.Fatal(err)
	}
	all, err := shapes("both 256x1x1 0 16x1x1 x=1.7,2 y=3.3,4\nsum 256x1x1 0 16x1x1,8x1x1 n=4,1,7\n")
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		kernel, recipe, what string
		launches             int
	}{
		{"both", "spec{x=1.7,y=3.3}", "differs", 1}, // the product is rounded
		{"both", "spec{host(block)=256x1x1}", "identical", 1},
		{"sum", "spec{n=4}", "same", 70},
		{"sum", "unroll=4", "same", 70},
	} {
		full, ok := p.named(c.kernel)
		if !ok {
			t.Fatalf("no kernel %s", c.kernel)
		}
		out := Record{Recipe: c.recipe}
		p.try(ctx, full, &kernel{shape: all[c.kernel], seed: 1, did: map[string]*did{}}, &out)
		if out.What != c.what || out.Launches != c.launches {
			t.Errorf("%s %s: %+v, want %s", c.kernel, c.recipe, out, c.what)
		}
		if out.What == "same" && (out.Accepted != checks || out.Own.Ran[0] == 0) {
			t.Errorf("%s %s: %+v, want all checks passed, and arithmetic run", c.kernel, c.recipe, out)
		}
	}
}
