package compile

import (
	"context"
	"os"
	"strings"
	"testing"

	"gnvcc/driver/drivertest"
	"gnvcc/rewrite/lowered"
	"gnvcc/rewrite/recipe"
	"gnvcc/sim/cubin"
)

// The counting build of a kernel has the table, no more registers than a launch has room for, and
// what is counted is nvcc's own PTX.
func TestCounting(t *testing.T) {
	p := built(t, "13.0", "sm_80", "__global__ void shown(float *p, int n) {"+drivertest.Wide+"}\n"+
		"__global__ void other(float *p) { p[threadIdx.x] = 1; }\n"+
		"int main() { shown<<<1, 1>>>(0, 0); other<<<1, 1>>>(0); }\n")
	s := p.kernel("_Z5shownPfi")
	cand, counters, err := p.c.Counting(context.Background(), s, recipe.Recipe{})
	if err != nil {
		t.Fatal(err)
	}
	blocks, err := s.Entry.Blocks()
	if err != nil {
		t.Fatal(err)
	}
	if len(counters) < len(blocks) {
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

// What is counted of a candidate is its own PTX, of a second entry that entry's, which is launched as
// the candidate is.
func TestCountingVariant(t *testing.T) {
	p := built(t, "13.0", "sm_80", "__global__ void k(float *p, int n) { float s = 0; for (int i = 0; i < n; i++) s += p[i] * s;\n"+
		"p[blockIdx.x * blockDim.x + threadIdx.x] = s; }\nint main() { k<<<1, 1>>>(0, 0); }\n")
	s := p.kernel("_Z1kPfi")
	blocks := map[string]int{}
	for _, text := range []string{"", "unroll=1", "unroll=8", "spec{host(#1:4)=7} unroll=8", "spec{host(block)=64x1x1} coarsen=2x1x1",
		"spec{host(block)=64x1x1} shape=32x1x1 unroll=8", "spec{host(block)=64x1x1,host(dynamic)=0} throttle=3 unroll=8"} {
		r, err := recipe.Parse(text)
		if err != nil {
			t.Fatal(err)
		}
		cand, counters, err := p.c.Counting(context.Background(), s, r)
		if err != nil {
			t.Fatal(text, err)
		}
		for _, c := range counters {
			if c.Choice == 0 {
				blocks[text]++
			}
		}
		content, err := os.ReadFile(cand.Path)
		if err != nil {
			t.Fatal(err)
		}
		f, err := cubin.Read(content)
		if _, is := f.Kernel(cand.Entry); err != nil || !is || (cand.Entry != s.Kernel) != r.HasSecond() ||
			cand.Manner.Own() == (strings.Contains(text, "coarsen") || strings.Contains(text, "shape")) ||
			cand.Manner.Reserve.On != strings.Contains(text, "throttle") {
			t.Errorf("%s: %+v, %v", text, cand, err)
		}
	}
	if blocks["unroll=1"] >= blocks[""] || blocks["unroll=8"] <= blocks["unroll=1"] || blocks["unroll=8"] != blocks["spec{host(#1:4)=7} unroll=8"] {
		t.Errorf("%v", blocks)
	}
}

// A pointer to an array is a pointer, with or without a name in the source.
func TestPointerToArray(t *testing.T) {
	p := built(t, "13.0", "sm_80", "__global__ void k(const double (*c)[16][16], double (*)[16], int n, int) { if (threadIdx.x < n) (void)c; }\n"+
		"int main() { k<<<1, 1>>>(0, 0, 0, 0); }\n")
	s := p.kernel("_Z1kPA16_A16_KdPA16_dii")
	values, err := s.Code.Values(s.Signature)
	if err != nil || len(values) != 4 {
		t.Fatalf("%+v, %v", values, err)
	}
	for i, want := range []lowered.Class{lowered.Pointer, lowered.Pointer, lowered.Integer, lowered.Integer} {
		if v := values[i]; v.Class != want || v.Bits != []int{64, 64, 32, 32}[i] || v.Why != "" {
			t.Errorf("%d: %+v", i, v)
		}
	}
}
