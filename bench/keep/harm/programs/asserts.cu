// class: an assertion in a kernel, and an abort of the host
#include "common.h"
#include <cassert>
__global__ void check(const float *x, int n, int bad) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  assert(!(bad && i == 77));
}
int main() {
  setvbuf(stdout, 0, _IONBF, 0);
  Data d;
  for (int t = 0; t < 20; t++) {
    d.step(t);
    check<<<4, 256>>>(d.a, d.n, 0);
  }
  verdict(d.right());
  check<<<1, 128>>>(d.a, d.n, 1);
  printf("%s\n", cudaGetErrorName(cudaDeviceSynchronize()));
  abort();
}
