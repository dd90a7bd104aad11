// class: managed memory that is prefetched and advised, and managed variables behind a pointer in memory
#include "common.h"
struct List {
  float *data;
  int n;
};
__managed__ List list;
__global__ void through(const List *l, float s) {
  for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < l->n; i += gridDim.x * blockDim.x) l->data[i] = l->data[i] * s + 1;
}
int main() {
  const int n = 1 << 18;
  int device = 0;
  CK(cudaGetDevice(&device));
  float *m, *copy;
  List *mine;
  CK(cudaMallocManaged(&m, 4 * n));
  CK(cudaMallocManaged(&mine, sizeof(List)));
  CK(cudaMalloc(&copy, 4 * n));
  for (int i = 0; i < n; i++) m[i] = i % 9;
  list = *mine = {m, n};
#if CUDART_VERSION >= 13000
  cudaMemLocation there = {cudaMemLocationTypeDevice, device};
  cudaMemAdvise(m, 4 * n, cudaMemAdviseSetPreferredLocation, there);
  cudaMemPrefetchAsync(m, 4 * n, there, 0, 0);
#else
  cudaMemAdvise(m, 4 * n, cudaMemAdviseSetPreferredLocation, device);
  cudaMemPrefetchAsync(m, 4 * n, device, 0);
#endif
  cudaGetLastError();
  List *variable;
  CK(cudaGetSymbolAddress((void **)&variable, list));
  for (int t = 0; t < 20; t++) {
    through<<<64, 256>>>(t % 2 ? mine : variable, 0.5f);
    CK(cudaMemcpyAsync(copy, m, 4 * n, cudaMemcpyDeviceToDevice));
  }
  CK(cudaDeviceSynchronize());
  std::vector<float> h(n);
  CK(cudaMemcpy(h.data(), copy, 4 * n, cudaMemcpyDeviceToHost));
  bool good = true;
  for (int i = 0; i < n; i++) {
    float x = i % 9;
    for (int t = 0; t < 20; t++) x = x * 0.5f + 1;
    good &= h[i] == x && m[i] == x;
  }
  return verdict(good);
}
