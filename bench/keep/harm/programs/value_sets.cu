// class: values that come later; a step in time that looks constant at first
// other: 3
#include "common.h"
__global__ void steps(float *a, int n, int mode, int t) {
  for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x) {
    float x = a[i];
    for (int k = 0; k < 50 * mode; k++) x = x * 0.999f + (t & 1);
    a[i] = x;
  }
}
int main(int argc, char **argv) {
  int mode = argc > 1 ? atoi(argv[1]) : 4;
  Data d(200000);
  for (int t = 0; t < 40; t++) steps<<<512, 256>>>(d.a, d.n, t < 2 ? 1 : mode, t);
  CK(cudaMemcpy(d.ha.data(), d.a, d.n * 4, cudaMemcpyDeviceToHost));
  for (int i = 0; i < 32; i++) printf("%a\n", d.ha[i * 6007]);
  puts("ok");
}
