// class: memory that is freed and allocated anew in every turn, at addresses that others had
#include "common.h"
int main() {
  Data d;
  for (int t = 0; t < 60; t++) {
    float *x, *gap;
    CK(cudaMalloc(&gap, (1 + t % 3) << 20));
    CK(cudaMalloc(&x, 400000));
    CK(cudaMemcpy(x, d.hb.data(), 400000, cudaMemcpyHostToDevice));
    CK(cudaFree(gap));
    d.from(x, t);
    CK(cudaFree(x));
  }
  return verdict(d.right());
}
