package compile

import (
	"context"
	"encoding/binary"
	"fmt"
	"math"
	"strings"
	"testing"

	"gnvcc/driver/drivertest"
	"gnvcc/sim/cubin"
	"gnvcc/sim/emulate"
)

// several is a program of three objects, two of them in a library, in which kernels of all kinds of
// names have a part of their own: variables of their file and of another one.
var several = map[string]string{
	"a.cu": `
extern __device__ float scale[4];
static __device__ float own[4] = {3, 1, 4, 1};
#define BODY { float s = 0; for (int i = 0; i < n; i++) s += p[i] * scale[i & 3] + own[i & 3]; p[blockIdx.x * blockDim.x + threadIdx.x + 64] = s; }
static __global__ void still(float *p, int n) BODY
namespace { __global__ void unnamed(float *p, int n) BODY }
__global__ void strong(float *p, int n) BODY
template <class T> __global__ void made(T *p, int n) { T s = 0; for (int i = 0; i < n; i++) s += p[i]; p[threadIdx.x] = s; }
namespace { struct here { float x; }; }
template <class T> __global__ void local(T *p, int n) BODYOF
void run(float *p) { still<<<1, 1>>>(p, 0); unnamed<<<1, 1>>>(p, 1); strong<<<1, 1>>>(p, 1); made<<<1, 1>>>(p, 1); local<<<1, 1>>>((here *)p, 1); }
`,
	"b.cu": "__device__ float scale[4] = {2, 7, 1, 8};\ntemplate <class T> __global__ void made(T *p, int n) { p[n] = 1; }\n" +
		"void other(float *p) { made<<<1, 1>>>(p, 1); }\n",
	"m.cu": "void run(float *); void other(float *); __device__ char odd[3] = {1, 2, 3};\nint main() { run(0); other(0); }\n",
}

// TestLinkedSeconds: with -rdc=true a second entry is in the linked program, beside its kernel, and
// gives its bits; but not where the link may take the kernel itself from another object.
func TestLinkedSeconds(t *testing.T) {
	several["a.cu"] = strings.ReplaceAll(several["a.cu"], "BODYOF",
		"{ float s = 0; for (int i = 0; i < n; i++) s += p[i].x; p[threadIdx.x].x = s; }")
	for _, version := range []string{"12.4", "13.0"} {
		t.Run(version, func(t *testing.T) {
			p := drivertest.NewProject(t, version, several)
			for _, file := range []string{"a", "b", "m"} {
				p.Gnvcc("-arch=sm_90", "-w", "-rdc=true", "-c", file+".cu", "-o", file+".o")
			}
			p.Gnvcc("-arch=sm_90", "-rdc=true", "-lib", "a.o", "b.o", "-o", "liball.a")
			p.Gnvcc("-arch=sm_90", "-rdc=true", "m.o", "liball.a", "-o", "app")
			q := loaded(p, "app", "sm_90")
			file, err := p.Store.Object(p.Cubin("a.o", "sm_90"))
			if err != nil {
				t.Fatal(err)
			}
			object, err := cubin.Read(file)
			if err != nil || len(object.Kernels) != 5 {
				t.Fatalf("%d kernels, %v", len(object.Kernels), err)
			}
			for _, k := range object.Kernels {
				s, why := q.kernel(k.Name), ""
				switch {
				case strings.Contains(k.Name, "4made"):
					why = "the link takes the first"
				case strings.Contains(k.Name, "strong") && version < "13": // as without -rdc=true
					why = "under the same host function"
				}
				if why != "" || s.NoSecond != "" {
					if why == "" || !strings.Contains(s.NoSecond, why) {
						t.Errorf("%s: %s", k.Name, s.NoSecond)
					}
					q.tries(s, map[string]string{"spec{#1=8}": why})
					continue
				}
				linkedSame(q, s, "spec{#1=8} unroll=2", emulate.Launch{Grid: [3]int{2, 1, 1},
					Block: [3]int{32, 1, 1}})
				if strings.Contains(k.Name, "strong") {
					linkedSame(q, s, "spec{host(block)=64x1x1,host(dynamic)=0} coarsen=2x1x1 maxnreg=24",
						emulate.Launch{Grid: [3]int{2, 1, 1}, Block: [3]int{64, 1, 1}})
				}
			}
		})
	}
}

// linkedSame links a candidate and runs both entries of it on the same memory.
func linkedSame(p *program, s *Source, text string, l emulate.Launch) {
	t, kernel := p.T, s.Kernel
	t.Helper()
	cand, code := p.made(s, text)
	if cand.Entry == kernel {
		t.Fatalf("%s is no second entry", kernel)
	}
	memory := emulate.NewMemory()
	own, err := emulate.Load(code, kernel, memory)
	if err != nil {
		t.Fatal(err)
	}
	other, err := emulate.Load(code, cand.Entry, memory)
	if err != nil {
		t.Fatal(err)
	}
	content := make([]byte, 4*512)
	for i := range 512 {
		binary.LittleEndian.PutUint32(content[4*i:], math.Float32bits(float32(i*i%97)/7))
	}
	at := memory.Allocate("p", content)
	l.Params = binary.LittleEndian.AppendUint32(binary.LittleEndian.AppendUint64(nil, at.Address), 8)
	first, second := memory.Clone(), memory.Clone()
	if _, err := own.Run(first, l); err != nil {
		t.Fatalf("%s: %v", kernel, err)
	}
	if l.Grid, l.Block, _ = cand.Manner.Launch(l.Grid, l.Block); l.Grid == [3]int{} {
		t.Fatal("it can't be launched so")
	}
	if _, err := other.Run(second, l); err != nil {
		t.Fatalf("%s: %v", cand.Entry, err)
	}
	changed := false
	for n, b := range first.Buffers() {
		if string(b.Bytes) != string(second.Buffers()[n].Bytes) {
			t.Errorf("%s %s: other bits in %s", kernel, text, b.Name)
		}
		changed = changed || string(b.Bytes) != string(memory.Buffers()[n].Bytes)
	}
	if !changed {
		t.Errorf("%s writes nothing", kernel)
	}
}

// TestDeep: a kernel takes the local memory of what it calls as well, which with -rdc=true stands
// in the linked cubin alone. A candidate that nvlink gives more of it than nvcc's own program has
// is refused, and none that takes no more.
func TestDeep(t *testing.T) {
	p := drivertest.NewProject(t, "13.0", map[string]string{
		"a.cu": `__device__ float far(const float *p, int n);
__device__ __noinline__ float near(const float *p, float *o, int n) {
  float x[40];
#pragma unroll
  for (int i = 0; i < 40; i++) x[i] = p[i];
  for (int j = 0; j < n; j++)
#pragma unroll
    for (int i = 0; i < 40; i++) x[i] = x[i] * x[(i + 7) % 40] + p[j + i];
#pragma unroll
  for (int i = 0; i < 40; i++) o[i] = x[i];
  return x[3];
}
__global__ void k(float *p, int n) { p[threadIdx.x + blockIdx.x] = far(p, n); p[1] = p[7] + near(p, p + n, n); }
int main() { k<<<1, 1>>>(0, 1); }
`,
		"b.cu": `__device__ float far(const float *p, int n) {
  float t[600], s = 0;
  for (int i = 0; i < n; i++) t[i * 7 % 600] = p[i];
  for (int i = 0; i < n; i++) s += t[i * 11 % 600];
  return s;
}
`})
	for _, file := range []string{"a", "b"} {
		p.Gnvcc("-arch=sm_90", "-w", "-rdc=true", "-c", file+".cu", "-o", file+".o")
	}
	p.Gnvcc("-arch=sm_90", "-rdc=true", "a.o", "b.o", "-o", "app")
	q := loaded(p, "app", "sm_90")
	s := q.kernel("_Z1kPfi")
	q.made(s, "hint@ld=cs") // the same local memory, more than every context has
	for deep, why := range map[int]string{2400: "", 4000: "4000 bytes of local memory a thread with all"} {
		says(t, fmt.Sprint(deep), q.c.deeper(context.Background(), s, cubin.Kernel{StackAll: deep}), why)
	}
}
