#include "ring.h"
#include <cuda_runtime.h>

int main() {
  float *p = nullptr;
  if (cudaMalloc(&p, 4096 * sizeof(float)) != cudaSuccess) return 0; // no GPU
  ring(p, 4096);
  ripple(p, 4096);
  return cudaDeviceSynchronize() != cudaSuccess;
}
