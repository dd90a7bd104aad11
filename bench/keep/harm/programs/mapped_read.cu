// class: mapped host memory that kernels read, and the host writes between launches
#include "common.h"
int main() {
  Data d;
  float *m, *there;
  CK(cudaHostAlloc(&m, d.n * 4, cudaHostAllocMapped | cudaHostAllocPortable));
  CK(cudaHostGetDevicePointer(&there, m, 0));
  for (int t = 0; t < 20; t++) {
    for (int i = 0; i < d.n; i++) m[i] = d.hb[i] = (i + t) % 29;
    d.from(there, t);
    CK(cudaDeviceSynchronize());
  }
  bool good = d.right();
  CK(cudaFreeHost(m));
  return verdict(good);
}
