#include "ring.h"

__global__ void rippleKernel(float *p, int n) {
  for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x) p[i] = sinf(p[i]);
}

void ripple(float *p, int n) { rippleKernel<<<32, 256>>>(p, n); }
