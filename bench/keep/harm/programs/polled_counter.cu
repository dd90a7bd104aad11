// class: a counter that kernels raise and the host polls
#include "common.h"
__global__ void tick(volatile unsigned *p) { *p = *p + 1; }
int main() {
  volatile unsigned *p;
  CK(cudaHostAlloc((void **)&p, 4096, cudaHostAllocMapped));
  *p = 0;
  unsigned last = 0, steps = 0;
  for (int k = 0; k < 20; k++) {
    tick<<<1, 1>>>((volatile unsigned *)p);
    while (*p == last) {}
    steps += *p - last;
    last = *p;
  }
  CK(cudaDeviceSynchronize());
  return verdict(steps == 20 && *p == 20, "counted more than there was");
}
