// class: kernels that print, between what the host prints
#include "common.h"
__global__ void tell(int t, float *a) {
  if (threadIdx.x == 3) printf("device: %d %.3f\n", t, a[t]);
}
int main() {
  Data d;
  for (int t = 0; t < 20; t++) {
    d.step(t);
    if (t % 5 == 0) {
      tell<<<1, 32>>>(t, d.b);
      CK(cudaDeviceSynchronize());
      printf("host: %d\n", t);
    }
  }
  return verdict(d.right());
}
