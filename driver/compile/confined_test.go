package compile

import (
	"bytes"
	"context"
	"os"
	"testing"

	"gnvcc/driver/drivertest"
	"gnvcc/sim/cubin"
)

// TestConfinedCode: for launches like one alone an entry has the code of the recipe that was checked,
// and where that knew a value, no run of cicc of its own.
func TestConfinedCode(t *testing.T) {
	p := drivertest.NewProject(t, "13.0", map[string]string{"k.cu": `
__global__ void sum(float *p, int n, float a) {
  float s = 0;
  for (int i = 0; i < n; i++) s = s * a + p[i * 32 + threadIdx.x];
  p[threadIdx.x] = s;
}
int main() { sum<<<1, 32>>>(0, 7, 1.5f); }
`})
	p.Gnvcc("-arch=sm_80", "k.cu", "-o", "app")
	c, ctx := New(p.Store, t.TempDir()), context.Background()
	s, err := c.Kernel(p.Cubin("app", "sm_80"), "_Z3sumPfif")
	if err != nil {
		t.Fatal(err)
	}
	made := func(text string) []byte {
		t.Helper()
		cand, err := c.Compile(ctx, s, drivertest.MustParse(t, text))
		if err != nil {
			t.Fatalf("%s: %v", text, err)
		}
		content, err := os.ReadFile(cand.Path)
		if err != nil {
			t.Fatal(err)
		}
		code, _, err := cubin.ReadCode(content)
		for _, f := range code {
			if f.Name == cand.Entry {
				return f.Data
			}
		}
		t.Fatalf("%s: %v, %d functions", text, err, len(code))
		return nil
	}
	for _, text := range []string{"spec{host(#3:4)=7}", "spec{host(#1:8)=7}", "unroll=2 spec{host(#1+4:4)=7}"} {
		if _, err := c.Compile(ctx, s, drivertest.MustParse(t, text)); err == nil {
			t.Errorf("%s compares what is no argument", text)
		}
	}
	const sizes = "host(grid)=1x1x1,host(block)=32x1x1,host(dynamic)=0"
	for base, confined := range map[string]string{
		"unroll=2":            "unroll=2 spec{" + sizes + ",host(#1:4)=7}",
		"maxnreg=32":          "maxnreg=32 spec{" + sizes + ",host(#1:4)=7}",
		"spec{#2=1.5}":        "spec{#2=1.5," + sizes + ",host(#1:4)=7}",
		"spec{#1=7} unroll=4": "spec{#1=7," + sizes + "} unroll=4",
	} {
		own := made(base)
		runs, _ := c.Spent("cicc")
		if is := made(confined); !bytes.Equal(own, is) {
			t.Errorf("%s: %d bytes of code, and %d of %s", confined, len(is), len(own), base)
		}
		if again, _ := c.Spent("cicc"); again != runs && base[0] == 's' {
			t.Errorf("%s: %d runs of cicc", confined, again-runs)
		}
	}
}
