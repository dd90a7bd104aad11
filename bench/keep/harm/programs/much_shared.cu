// class: attributes of functions; more dynamic shared memory than kernels have without them
#include "common.h"
__global__ void __launch_bounds__(256) reversed(float *a, int n) {
  extern __shared__ float s[];
  int i = blockIdx.x * 256 + threadIdx.x;
  s[threadIdx.x * 60] = i < n ? a[i] : 0;
  __syncthreads();
  if (i < n) a[i] = s[(255 - threadIdx.x) * 60] + 1;
}
int main() {
  Data d(25600);
  CK(cudaFuncSetAttribute(reversed, cudaFuncAttributeMaxDynamicSharedMemorySize, 61440));
  CK(cudaFuncSetCacheConfig(reversed, cudaFuncCachePreferShared));
  for (int k = 0; k < 4; k++) reversed<<<100, 256, 61440>>>(d.a, d.n);
  reversed<<<100, 256, 90000>>>(d.a, d.n); // more than was asked for: refused
  printf("refused: %s\n", cudaGetErrorName(cudaGetLastError()));
  for (auto &x : d.ha) x += 4;
  return verdict(d.right());
}
