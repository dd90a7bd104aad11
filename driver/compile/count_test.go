package compile

import (
	"context"
	"os"
	"testing"

	"gnvcc/driver/drivertest"
	"gnvcc/sim/cubin"
)

// The counting build of a kernel has the table, no more registers than a launch has room for, and
// what is counted is nvcc's own PTX.
func TestCounting(t *testing.T) {
	p := built(t, "13.0", "sm_80", "__global__ void shown(float *p, int n) {"+drivertest.Wide+"}\n"+
		"__global__ void other(float *p) { p[threadIdx.x] = 1; }\n"+
		"int main() { shown<<<1, 1>>>(0, 0); other<<<1, 1>>>(0); }\n")
	s := p.kernel("_Z5shownPfi")
	cand, counters, err := p.c.Counting(context.Background(), s)
	if err != nil {
		t.Fatal(err)
	}
	blocks, err := s.Entry.Blocks()
	if err != nil {
		t.Fatal(err)
	}
	if len(counters) != len(blocks) {
		t.Errorf("%+v for %d blocks", counters, len(blocks))
	}
	content, err := os.ReadFile(cand.Path)
	if err != nil {
		t.Fatal(err)
	}
	f, err := cubin.Read(content)
	if err != nil || len(f.Kernels) != 1 || f.Kernels[0].Name != "_Z5shownPfi" {
		t.Fatalf("%+v, %v", f, err)
	}
	if cand.Build.Registers > (s.Default.Registers+7)/8*8 {
		t.Errorf("%d registers, nvcc's own has %d: a launch may not fit", cand.Build.Registers,
			s.Default.Registers)
	}
}
