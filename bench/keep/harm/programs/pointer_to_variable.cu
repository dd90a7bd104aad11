// class: memory that holds the address of a variable, and variables that hold addresses
#include "common.h"
__device__ int counter;
__device__ float *held;
__global__ void through(int **p, int n) {
  for (int i = threadIdx.x; i < n; i += blockDim.x) {
    atomicAdd(*p, 1);
    held[i] += 1;
  }
}
int main() {
  Data d(1000);
  void *v;
  int **p, c = 0;
  CK(cudaGetSymbolAddress(&v, counter));
  CK(cudaMalloc(&p, 8));
  CK(cudaMemcpy(p, &v, 8, cudaMemcpyHostToDevice));
  CK(cudaMemcpyToSymbol(held, &d.a, 8));
  for (int k = 0; k < 10; k++) through<<<1, 128>>>(p, d.n);
  for (auto &x : d.ha) x += 10;
  CK(cudaMemcpyFromSymbol(&c, counter, 4));
  return verdict(c == 10000 && d.right());
}
