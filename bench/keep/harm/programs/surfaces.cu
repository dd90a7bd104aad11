// class: surfaces that kernels write, and textures of the same array that they read
#include "common.h"
__global__ void writes(cudaSurfaceObject_t s, const float *b, int w, int h, float add) {
  int x = blockIdx.x * blockDim.x + threadIdx.x, y = blockIdx.y;
  if (x < w && y < h) surf2Dwrite(b[y * w + x] + add, s, x * 4, y);
}
__global__ void reads(cudaTextureObject_t t, float *a, int w, int h) {
  int x = blockIdx.x * blockDim.x + threadIdx.x, y = blockIdx.y;
  if (x < w && y < h) a[y * w + x] += tex2D<float>(t, x + 0.5f, y + 0.5f);
}
int main() {
  const int w = 500, h = 200;
  Data d;
  cudaArray_t array;
  cudaChannelFormatDesc f = cudaCreateChannelDesc<float>();
  CK(cudaMallocArray(&array, &f, w, h, cudaArraySurfaceLoadStore));
  cudaResourceDesc r = {};
  r.resType = cudaResourceTypeArray;
  r.res.array.array = array;
  for (int t = 0; t < 20; t++) { // objects made anew
    cudaTextureDesc how = {};
    how.readMode = cudaReadModeElementType;
    cudaSurfaceObject_t s;
    cudaTextureObject_t x;
    CK(cudaCreateSurfaceObject(&s, &r));
    CK(cudaCreateTextureObject(&x, &r, &how, nullptr));
    writes<<<dim3(2, h), 256>>>(s, d.b, w, h, t);
    reads<<<dim3(2, h), 256>>>(x, d.a, w, h);
    CK(cudaGetLastError());
    for (int i = 0; i < w * h; i++) d.ha[i] += d.hb[i] + t;
    CK(cudaDestroyTextureObject(x));
    CK(cudaDestroySurfaceObject(s));
  }
  return verdict(d.right());
}
