package compile

import (
	"context"
	"strings"
	"testing"

	"gnvcc/driver/drivertest"
	"gnvcc/sim/cubin"
)

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
	c := New(p.Store, t.TempDir())
	s, err := c.Kernel(p.Cubin("app", "sm_90"), "_Z1kPfi")
	if err != nil {
		t.Fatal(err)
	}
	if _, err := c.Compile(context.Background(), s, drivertest.MustParse(t, "hint@ld=cs")); err != nil {
		t.Error(err) // the same local memory, more than every context has
	}
	for deep, why := range map[int]string{2400: "", 4000: "4000 bytes of local memory a thread with all"} {
		err := c.deeper(context.Background(), s, cubin.Kernel{StackAll: deep})
		if (why == "") != (err == nil) || err != nil && !strings.Contains(err.Error(), why) {
			t.Errorf("%d bytes with what it calls: %v", deep, err)
		}
	}
}
