// class: textures over arrays of two and three dimensions and layers, filtered, beside an integer that is like a handle
#include "common.h"
__global__ void look(cudaTextureObject_t plane, cudaTextureObject_t cube, cudaTextureObject_t layers, unsigned long long like, float *a, int w, int h) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= w * h) return;
  float x = i % w, y = i / w, sum = 0;
  for (int k = 0; k < 8; k++) // in the midst of a texel, where filtering takes nothing from its neighbours
    sum += tex2D<float>(plane, x + 0.5f, y + 0.5f) + tex3D<float>(cube, i % 16 + 0.5f, i / 16 % 16 + 0.5f, k + 0.5f) + tex2DLayered<float>(layers, i % 32 + 0.5f, i / 32 % 8 + 0.5f, k % 4);
  a[i] = a[i] * 0.5f + sum + like;
}
static cudaTextureObject_t over(cudaArray_t array, cudaTextureFilterMode filter) {
  cudaResourceDesc r = {};
  r.resType = cudaResourceTypeArray, r.res.array.array = array;
  cudaTextureDesc how = {};
  how.filterMode = filter, how.addressMode[0] = how.addressMode[1] = how.addressMode[2] = cudaAddressModeClamp;
  cudaTextureObject_t t;
  CK(cudaCreateTextureObject(&t, &r, &how, nullptr));
  return t;
}
static cudaArray_t filled(const std::vector<float> &v, cudaExtent e, unsigned flags) {
  cudaArray_t array;
  cudaChannelFormatDesc f = cudaCreateChannelDesc<float>();
  CK(cudaMalloc3DArray(&array, &f, e, flags));
  cudaMemcpy3DParms p = {};
  p.srcPtr = make_cudaPitchedPtr((void *)v.data(), e.width * 4, e.width, e.height);
  p.dstArray = array, p.extent = make_cudaExtent(e.width, e.height, e.depth ? e.depth : 1), p.kind = cudaMemcpyHostToDevice;
  CK(cudaMemcpy3D(&p));
  return array;
}
int main() {
  const int w = 500, h = 200;
  Data d;
  std::vector<float> p(w * h), c(16 * 16 * 8), l(32 * 8 * 4);
  for (int i = 0; i < w * h; i++) p[i] = i % 13;
  for (size_t i = 0; i < c.size(); i++) c[i] = i % 7;
  for (size_t i = 0; i < l.size(); i++) l[i] = i % 11;
  cudaTextureObject_t plane = over(filled(p, make_cudaExtent(w, h, 0), 0), cudaFilterModeLinear);
  cudaTextureObject_t cube = over(filled(c, make_cudaExtent(16, 16, 8), 0), cudaFilterModePoint);
  cudaTextureObject_t layers = over(filled(l, make_cudaExtent(32, 8, 4), cudaArrayLayered), cudaFilterModePoint);
  for (int t = 0; t < 20; t++) {
    unsigned long long like = t % 3; // handles are small numbers, too
    look<<<(w * h + 255) / 256, 256>>>(plane, cube, layers, like, d.a, w, h);
    CK(cudaGetLastError());
    for (int i = 0; i < w * h; i++) {
      float sum = 0;
      for (int k = 0; k < 8; k++) sum += p[i] + c[(k * 16 + i / 16 % 16) * 16 + i % 16] + l[(k % 4 * 8 + i / 32 % 8) * 32 + i % 32];
      d.ha[i] = d.ha[i] * 0.5f + sum + like;
    }
  }
  return verdict(d.right());
}
