// class: mapped host memory that kernels write and the host reads while later kernels run
#include "common.h"
__global__ void put(volatile float *to, const float *from, int n, int t) {
  for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x) to[i] = from[i] + t;
}
int main() {
  Data d;
  float *m, *there;
  cudaEvent_t done;
  CK(cudaEventCreate(&done));
  CK(cudaHostAlloc(&m, d.n * 4, cudaHostAllocMapped));
  CK(cudaHostGetDevicePointer(&there, m, 0));
  bool good = true;
  for (int t = 0; t < 20; t++) {
    put<<<64, 256>>>(there, d.b, d.n, t);
    CK(cudaEventRecord(done));
    d.step(t);
    CK(cudaEventSynchronize(done));
    for (int i = 0; i < d.n; i += 101) good &= m[i] == d.hb[i] + t;
  }
  return verdict(good && d.right());
}
