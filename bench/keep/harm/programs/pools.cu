// class: memory pools, stream-ordered and reused at once
#include "common.h"
int main() {
  Data d;
  cudaMemPool_t pool;
  cudaMemPoolProps p = {};
  p.allocType = cudaMemAllocationTypePinned;
  p.location.type = cudaMemLocationTypeDevice;
  CK(cudaMemPoolCreate(&pool, &p));
  for (int t = 0; t < 40; t++) {
    float *x;
    if (t % 2) CK(cudaMallocAsync(&x, 400000, 0));
    else CK(cudaMallocFromPoolAsync(&x, 400000 + 4096 * (t % 5), pool, 0));
    CK(cudaMemcpyAsync(x, d.b, 400000, cudaMemcpyDeviceToDevice, 0));
    d.from(x, t);
    CK(cudaFreeAsync(x, 0));
    if (t % 10 == 9) CK(cudaMemPoolTrimTo(pool, 0));
  }
  bool good = d.right();
  CK(cudaMemPoolDestroy(pool));
  return verdict(good);
}
