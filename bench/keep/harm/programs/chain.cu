// class: pointers in memory
#include "common.h"
__global__ void list(float **rows, int n, int m) {
  for (int i = blockIdx.x; i < n; i += gridDim.x)
    for (int j = threadIdx.x; j < m; j += blockDim.x) rows[i][j] = rows[i][j] * 1.5f + i;
}
int main() {
  const int n = 64, m = 5000;
  std::vector<float *> rows(n);
  std::vector<float> h(m);
  for (int i = 0; i < n; i++) {
    for (int j = 0; j < m; j++) h[j] = j % 13;
    CK(cudaMalloc(&rows[i], m * 4));
    CK(cudaMemcpy(rows[i], h.data(), m * 4, cudaMemcpyHostToDevice));
  }
  float **d;
  CK(cudaMalloc(&d, n * 8));
  CK(cudaMemcpy(d, rows.data(), n * 8, cudaMemcpyHostToDevice));
  for (int k = 0; k < 5; k++) list<<<32, 128>>>(d, n, m);
  bool good = true;
  for (int i = 0; i < n; i++) {
    CK(cudaMemcpy(h.data(), rows[i], m * 4, cudaMemcpyDeviceToHost));
    for (int j = 0; j < m; j++) {
      float x = j % 13;
      for (int k = 0; k < 5; k++) x = fmaf(x, 1.5f, i);
      good = good && x == h[j];
    }
  }
  return verdict(good);
}
