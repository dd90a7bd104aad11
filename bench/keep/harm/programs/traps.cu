// class: a kernel that traps; what the program says after it
#include "common.h"
__global__ void trap(int bad) {
  if (bad) __trap();
}
int main() {
  Data d;
  for (int t = 0; t < 20; t++) {
    d.step(t);
    trap<<<1, 32>>>(0);
  }
  int bad = verdict(d.right());
  trap<<<1, 32>>>(1);
  cudaError_t e = cudaDeviceSynchronize();
  printf("%s\n", cudaGetErrorName(e));
  printf("%s\n", cudaGetErrorName(cudaMemset(d.a, 0, 4)));
  return bad ? bad : e == cudaSuccess ? 1 : 7;
}
