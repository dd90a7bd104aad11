// class: a texture over an array with levels, and a surface over one of them
#include "common.h"
__global__ void fill(cudaSurfaceObject_t s, int w, float by) {
  int x = blockIdx.x * blockDim.x + threadIdx.x, y = blockIdx.y;
  if (x < w && y < w) surf2Dwrite((float)(x + y) + by, s, x * 4, y);
}
__global__ void read(cudaTextureObject_t t, float *a, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) a[i] = a[i] * 0.5f + tex2DLod<float>(t, (i % 64 + 0.5f) / 64, (i / 64 % 64 + 0.5f) / 64, 1);
}
int main() {
  Data d;
  cudaMipmappedArray_t levels;
  cudaArray_t level;
  cudaChannelFormatDesc f = cudaCreateChannelDesc<float>();
  CK(cudaMallocMipmappedArray(&levels, &f, make_cudaExtent(128, 128, 0), 3, cudaArraySurfaceLoadStore));
  CK(cudaGetMipmappedArrayLevel(&level, levels, 1));
  cudaResourceDesc r = {}, one = {};
  r.resType = cudaResourceTypeMipmappedArray, r.res.mipmap.mipmap = levels;
  one.resType = cudaResourceTypeArray, one.res.array.array = level;
  cudaTextureDesc how = {};
  how.normalizedCoords = 1, how.maxMipmapLevelClamp = 2;
  cudaTextureObject_t t;
  cudaSurfaceObject_t s;
  CK(cudaCreateTextureObject(&t, &r, &how, nullptr));
  CK(cudaCreateSurfaceObject(&s, &one));
  for (int k = 0; k < 20; k++) {
    fill<<<dim3(1, 64), 64>>>(s, 64, k);
    read<<<(d.n + 255) / 256, 256>>>(t, d.a, d.n);
    CK(cudaGetLastError());
    for (int i = 0; i < d.n; i++) d.ha[i] = d.ha[i] * 0.5f + (i % 64 + i / 64 % 64 + k);
  }
  return verdict(d.right());
}
