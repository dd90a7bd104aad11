// class: texture objects that outlive their arrays, beside kernels that read other textures
#include "common.h"
__global__ void read(cudaTextureObject_t t, float *a, const long *numbers, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) a[i] = a[i] * 0.5f + tex1Dfetch<float>(t, i) + numbers[i % 64];
}
int main() {
  Data d;
  cudaChannelFormatDesc f = cudaCreateChannelDesc<float>();
  cudaTextureDesc how = {};
  for (int k = 0; k < 8; k++) {
    cudaArray_t array;
    cudaTextureObject_t left;
    CK(cudaMallocArray(&array, &f, 64, 64));
    cudaResourceDesc r = {};
    r.resType = cudaResourceTypeArray, r.res.array.array = array;
    CK(cudaCreateTextureObject(&left, &r, &how, nullptr));
    CK(cudaFreeArray(array)); // and the object stays
  }
  cudaResourceDesc r = {};
  r.resType = cudaResourceTypeLinear, r.res.linear.devPtr = d.b, r.res.linear.desc = f, r.res.linear.sizeInBytes = d.n * 4;
  cudaTextureObject_t t;
  CK(cudaCreateTextureObject(&t, &r, &how, nullptr));
  long numbers[64], *there; // small ones, as handles are
  for (int i = 0; i < 64; i++) numbers[i] = i;
  CK(cudaMalloc(&there, sizeof numbers));
  CK(cudaMemcpy(there, numbers, sizeof numbers, cudaMemcpyHostToDevice));
  for (int k = 0; k < 20; k++) {
    read<<<(d.n + 255) / 256, 256>>>(t, d.a, there, d.n);
    CK(cudaGetLastError());
    for (int i = 0; i < d.n; i++) d.ha[i] = d.ha[i] * 0.5f + d.hb[i] + numbers[i % 64];
  }
  return verdict(d.right());
}
