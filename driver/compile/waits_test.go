package compile

import (
	"context"
	"strings"
	"testing"

	"gnvcc/driver/drivertest"
)

// TestWatched: what others see while a kernel runs is not moved, and local memory beyond what every
// context has grows only where the kernel itself stands in for it.
func TestWatched(t *testing.T) {
	const text = `
#include <cstdio>
__global__ void first(const float *__restrict__ x, float *o, int n) {
  long i = (blockIdx.x * (long)blockDim.x + threadIdx.x) / n; // a function of ptxas' own
  asm volatile("griddepcontrol.wait;" ::: "memory");
  float s = 0;
  for (int j = 0; j < n; j++) s += x[i + j * 64];
  asm volatile("griddepcontrol.launch_dependents;");
  o[i] = s;
}
__global__ void early(const float *__restrict__ x, float *o, int n) {
  float s = *(volatile float *)(o + n);
  asm volatile("griddepcontrol.wait;" ::: "memory");
  for (int j = 0; j < n; j++) s += x[threadIdx.x + j * 64];
  o[threadIdx.x] = s;
}
__global__ void prints(const float *x, float *o, int n) {
  float s = 0;
  for (int j = 0; j < n; j++) s += x[threadIdx.x + j * 64];
  if (s > 1e30f) printf("%f\n", s);
  o[threadIdx.x] = s;
}
__global__ void local(const float *x, float *o, int n) {
  float a[300], b[40];
  for (int j = 0; j < 300; j++) a[j] = x[j + threadIdx.x];
  for (int j = 0; j < 40; j++) b[j] = x[j * 3 + threadIdx.x];
  float s = 0;
  for (int j = 0; j < n; j++) {
    s += a[(j * 7) % 300];
#pragma unroll
    for (int k = 0; k < 40; k++) b[k] = b[k] * s + b[(k + 1) % 40];
  }
  for (int k = 0; k < 40; k++) s += b[k];
  o[threadIdx.x] = s;
}
`
	const host = `int main() { first<<<1, 1>>>(0, 0, 0); early<<<1, 1>>>(0, 0, 0); prints<<<1, 1>>>(0, 0, 0); local<<<1, 1>>>(0, 0, 0); }`
	const waits = `__global__ void waits(volatile int *flag) { while (!*flag); }
int main() { local<<<1, 1>>>(0, 0, 0); waits<<<1, 1>>>(0); }
`
	const second = "spec{host(block)=64x1x1,host(dynamic)=0} "
	for _, file := range []struct {
		host  string
		cases [][3]string
	}{
		{host, [][3]string{
			{"first", "maxnreg=24 hint@ld=cs hint@st=cs", ""},
			{"first", "unroll=2", ""},
			{"first", second + "throttle=2", "griddepcontrol"},
			{"early", "maxnreg=24", "before griddepcontrol.wait"},
			{"prints", "maxnreg=40 hint@ld=cs", ""},
			{"prints", "unroll=2", ""}, // as decided; who chooses a recipe refuses it (rewrite.Watched)
			{"local", "maxnreg=24", "second entry"},
			{"local", second + "maxnreg=24", ""},
		}},
		{waits, [][3]string{{"local", second + "maxnreg=24", "second entry"}}},
	} {
		p := drivertest.NewProject(t, "13.0", map[string]string{"k.cu": text + file.host})
		p.Gnvcc("-arch=sm_90", "k.cu", "-o", "app")
		compiler := New(p.Store, t.TempDir())
		for _, c := range file.cases {
			name := map[string]string{"first": "_Z5firstPKfPfi", "early": "_Z5earlyPKfPfi",
				"prints": "_Z6printsPKfPfi", "local": "_Z5localPKfPfi"}[c[0]]
			s, err := compiler.Kernel(p.Cubin("app", "sm_90"), name)
			if err != nil {
				t.Fatal(err)
			}
			if c[0] == "local" && s.Default.Stack <= 1024 {
				t.Fatalf("local has %d bytes of local memory", s.Default.Stack)
			}
			_, err = compiler.Rehearse(context.Background(), s, drivertest.MustParse(t, c[1]))
			if c[2] == "" && err != nil || c[2] != "" &&
				(err == nil || !strings.Contains(err.Error(), c[2])) {
				t.Errorf("%s %s: %v, want %q", c[0], c[1], err, c[2])
			}
		}
	}
}
