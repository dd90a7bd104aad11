// class: kernels that allocate and free on the device
#include "common.h"
__global__ void allocate(int **p) {
  if (!p[threadIdx.x]) {
    p[threadIdx.x] = (int *)malloc(64);
    if (p[threadIdx.x]) p[threadIdx.x][0] = 0;
  }
  if (p[threadIdx.x]) p[threadIdx.x][0]++;
}
__global__ void sum(int **p, int *o) {
  atomicAdd(o, p[threadIdx.x] ? p[threadIdx.x][0] : 0);
  free(p[threadIdx.x]);
  p[threadIdx.x] = 0;
}
int main() {
  int **p, *o, h;
  Data d;
  CK(cudaMalloc(&p, 256 * 8));
  CK(cudaMemset(p, 0, 256 * 8));
  CK(cudaMalloc(&o, 4));
  CK(cudaMemset(o, 0, 4));
  for (int k = 0; k < 10; k++) {
    allocate<<<1, 256>>>(p);
    d.step(k);
    if (k % 5 == 4) sum<<<1, 256>>>(p, o);
  }
  CK(cudaMemcpy(&h, o, 4, cudaMemcpyDeviceToHost));
  return verdict(h == 256 * 10 && d.right());
}
