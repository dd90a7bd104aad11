// class: addresses of code in memory, calls by pointer and virtual ones
#include "common.h"
typedef float F(float);
__device__ float twice(float x) { return x * 2; }
__device__ float half(float x) { return x * 0.5f; }
__device__ F *pointers[2] = {twice, half};
struct Base {
  __device__ virtual float act(float x) { return x + 1; }
};
struct Other : Base {
  __device__ float act(float x) override { return x + 2; }
};
__global__ void make(Base **o) {
  o[0] = new Base;
  o[1] = new Other;
}
__global__ void use(float *a, Base **o, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) a[i] = o[i & 1]->act(pointers[i & 1](a[i]));
}
int main() {
  Data d(50000);
  Base **o;
  CK(cudaMalloc(&o, 16));
  make<<<1, 1>>>(o);
  for (int k = 0; k < 10; k++) {
    use<<<200, 256>>>(d.a, o, d.n);
    for (int i = 0; i < d.n; i++) d.ha[i] = i & 1 ? d.ha[i] * 0.5f + 2 : d.ha[i] * 2 + 1;
  }
  return verdict(d.right());
}
