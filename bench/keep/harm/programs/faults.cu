// class: a kernel that reads where nothing is, at its first launch and later
#include "common.h"
__global__ void deref(float *a, const float *p) { a[threadIdx.x] += p ? *p : 0; }
int main() {
  Data d;
  for (int t = 0; t < 20; t++) d.step(t);
  int bad = verdict(d.right());
  deref<<<1, 32>>>(d.a, (const float *)0x10);
  printf("%s\n", cudaGetErrorName(cudaDeviceSynchronize()));
  printf("%s\n", cudaGetErrorName(cudaGetLastError()));
  deref<<<1, 32>>>(d.a, nullptr);
  printf("%s\n", cudaGetErrorName(cudaGetLastError()));
  return bad ? bad : 8;
}
