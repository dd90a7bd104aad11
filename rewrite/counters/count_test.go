package counters

import (
	"encoding/binary"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"gnvcc/rewrite/ptx"
	"gnvcc/rewrite/ptx/ptxtest"
)

// Every ptxas takes the counting kernels of a source with guards, loops, atomics, barriers and calls;
// the blocks are those of nvcc's own PTX.
func TestCount(t *testing.T) {
	source := filepath.Join(t.TempDir(), "k.cu")
	text := `
__global__ void loop(const float *a, float *b, const int *n) {
  float s = 0;
  for (int i = threadIdx.x; i < *n; i += blockDim.x) s += a[i * 2];
  if (s > 1) atomicAdd(b, s);
}
__global__ void wide(const float4 *a, float4 *b, char *p) {
  __shared__ float4 t[64];
  t[threadIdx.x] = a[threadIdx.x];
  __syncthreads();
  b[threadIdx.x] = t[63 - threadIdx.x];
  char *q = threadIdx.x & 1 ? p : (char *)t;
  q[threadIdx.x] = 1;
}
__device__ int counter;
__device__ __noinline__ float called(float x) { return x > 1 ? x * counter : 2; }
__global__ void caller(float *p) { for (int i = 0; i < 9; i++) p[i] = called(p[i]); }
__global__ void variable(int n) { counter = n; }
`
	if err := os.WriteFile(source, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, kit := range ptxtest.Toolkits(t) {
		in := kit.PTX(t, source, "-arch=sm_80")
		m, err := ptx.Parse(in)
		if err != nil {
			t.Fatal(err)
		}
		for _, e := range m.Entries() {
			out, c, err := Insert(m, e.Name, 30)
			if err != nil {
				t.Errorf("%s: %v", e.Name, err)
				continue
			}
			if _, err := kit.Assemble(t, out, "-arch=sm_80"); err != nil {
				t.Errorf("%s: %v\n%s", e.Name, err, out)
			}
			blocks, err := e.Blocks()
			if err != nil {
				t.Fatal(err)
			}
			if e.Name == "_Z6callerPf" {
				f, err := m.Func("_Z6calledf").Blocks()
				if err != nil {
					t.Fatal(err)
				}
				blocks = append(blocks, f...)
			}
			adds, notes := strings.Count(string(out), "red.global.add.u64 [%gnvcc_ct"), strings.Count(string(out), "st.global.u64 [%gnvcc_ct")
			if adds != len(blocks) || len(c) != adds+notes || e.Name == "_Z4widePK6float4PS_Pc" && notes != 2 {
				t.Errorf("%s: %d counters, %d additions, %d notes, %d blocks", e.Name, len(c), adds, notes, len(blocks))
			}
			for _, b := range c { // they are those of the text that was given, which stays
				if !slices.Contains(m.Funcs, b.Func) || b.Choice > 0 && (b.Choice < b.Block.First || b.Choice >= b.Block.Last) {
					t.Errorf("%s: a counter of another text, %d to %d, %d", e.Name, b.Block.First, b.Block.Last, b.Choice)
				}
			}
			if !strings.Contains(string(out), ".maxnreg 32") {
				t.Errorf("%s: more registers than nvcc's own: a launch may fail", e.Name)
			}
		}
		if string(m.Bytes()) != string(in) {
			t.Error("the module was changed")
		}
	}
}

// TestSum: the parts of a table are added up.
func TestSum(t *testing.T) {
	c := make(Counters, 3)
	table := make([]byte, c.Size())
	binary.LittleEndian.PutUint64(table[8:], 5)
	binary.LittleEndian.PutUint64(table[8*len(c)*3+8:], 300)
	if blocks, err := c.Sum(table); err != nil || !slices.Equal(blocks, []uint64{0, 305, 0}) {
		t.Errorf("%v, %v", blocks, err)
	}
	if _, err := c.Sum(table[8:]); err == nil {
		t.Error("a table of another size is taken")
	}
}

// What can't be counted is refused, with the reason.
func TestCountRefuses(t *testing.T) {
	head := ".version 8.0\n.target sm_80\n.address_size 64\n"
	body := ".visible .entry k()\n{\n\tret;\n}\n"
	for text, want := range map[string]string{
		strings.Replace(head, "8.0", "6.1", 1) + body:     "activemask",
		strings.Replace(head, "64", "32", 1) + body:       "addresses of 32 bits",
		head + ".global .b8 gnvcc_counts[8];\n" + body:    "names that begin with gnvcc_c",
		head + strings.Replace(body, " k(", " other(", 1): "no such kernel",
	} {
		m, err := ptx.Parse([]byte(text))
		if err != nil {
			t.Fatal(err)
		}
		if _, _, err := Insert(m, "k", 0); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %v", want, err)
		}
	}
}
