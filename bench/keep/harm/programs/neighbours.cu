// class: a kernel reads what the one before it leaves in the cache
/* 24 MB that fit into the L2 cache: what keeps the first kernel's data out of it may make that faster, and
   the second one, which reads them, slower. */
#include "common.h"
__global__ void first(float *b, const float *a, int n, float s) {
  for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x) b[i] = a[i] * s + 1;
}
__global__ void second(float *sum, const float *a, const float *b, int n) {
  float x = 0;
  for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x) x += a[i] - b[i];
  sum[blockIdx.x * blockDim.x + threadIdx.x] += x;
}
int main() {
  const int n = 3 << 20, threads = 512 * 256;
  std::vector<float> h(n), got(threads);
  for (int i = 0; i < n; i++) h[i] = i % 8;
  float *a, *b, *sum;
  CK(cudaMalloc(&a, n * 4));
  CK(cudaMalloc(&b, n * 4));
  CK(cudaMalloc(&sum, threads * 4));
  CK(cudaMemset(sum, 0, threads * 4));
  CK(cudaMemcpy(a, h.data(), n * 4, cudaMemcpyHostToDevice));
  for (int k = 0; k < 2000; k++) {
    first<<<512, 256>>>(b, a, n, 0.5f);
    second<<<512, 256>>>(sum, a, b, n);
  }
  CK(cudaMemcpy(got.data(), sum, threads * 4, cudaMemcpyDeviceToHost));
  bool good = true;
  for (int t = 0; t < threads; t++) {
    float x = 0;
    for (int i = t; i < n; i += threads) x += h[i] - (h[i] * 0.5f + 1);
    good = good && got[t] == 2000 * x; // small whole and half numbers: no sum is rounded
  }
  return verdict(good);
}
