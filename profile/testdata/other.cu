// The second translation unit: a static kernel and a static variable with the names of the first one's, and other code.
#include "self.h"
static __device__ float state = 7;
__device__ float shared_with_all[64];
static __global__ void twin(float *p, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) p[i] = p[i] * 2 - state;
}
template <class T> __global__ void generic(T *p, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) p[i] += T(3);
}
void other(float *p, int n, cudaStream_t s) {
  twin<<<(n + 127) / 128, 128, 0, s>>>(p, n);
  generic<<<(n + 127) / 128, 128, 0, s>>>(p, n);
}
float *other_variable() {
  void *p;
  CK(cudaGetSymbolAddress(&p, shared_with_all));
  return (float *)p;
}
