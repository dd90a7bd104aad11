// class: variables of the kernel's own module that launches change
#include "common.h"
__device__ int counter;
__device__ float table[1000];
__constant__ float scale[4];
__global__ void count(float *a, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i == 0) counter++;
  if (i < n) a[i] = a[i] * scale[i & 3] + table[i % 1000];
}
int main() {
  Data d(50000);
  float s[4] = {1, 2, 0.5f, 0.25f};
  std::vector<float> t(1000, 3.0f);
  CK(cudaMemcpyToSymbol(scale, s, 16));
  CK(cudaMemcpyToSymbol(table, t.data(), 4000));
  for (int k = 0; k < 20; k++) {
    count<<<200, 256>>>(d.a, d.n);
    for (int i = 0; i < d.n; i++) d.ha[i] = fmaf(d.ha[i], s[i & 3], 3.0f);
  }
  int c = 0;
  CK(cudaMemcpyFromSymbol(&c, counter, 4));
  return verdict(c == 20 && d.right());
}
