// class: a kernel that waits for a later one, in another stream
#include "common.h"
__global__ void wait_for(volatile int *flag) {
  while (*flag == 0) {}
}
__global__ void set(volatile int *flag) { *flag = 1; }
int main() {
  cudaStream_t a, b;
  int *f;
  CK(cudaStreamCreateWithFlags(&a, cudaStreamNonBlocking));
  CK(cudaStreamCreateWithFlags(&b, cudaStreamNonBlocking));
  CK(cudaMalloc(&f, 4096));
  Data d;
  set<<<1, 1>>>(f); // loaded now: loading waits for the device
  d.step(0);
  CK(cudaDeviceSynchronize());
  for (int k = 0; k < 3; k++) {
    CK(cudaMemset(f, 0, 4));
    CK(cudaDeviceSynchronize());
    wait_for<<<1, 1, 0, a>>>(f);
    d.step(k, b);
    set<<<1, 1, 0, b>>>(f);
    CK(cudaDeviceSynchronize());
  }
  return verdict(d.right());
}
