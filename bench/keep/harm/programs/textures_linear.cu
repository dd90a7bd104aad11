// class: textures over linear memory, written between launches, and over an array that the host copies to
#include "common.h"
__global__ void both(cudaTextureObject_t line, cudaTextureObject_t plane, float *a, int w, int h) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < w * h) a[i] = a[i] * 0.5f + tex1Dfetch<float>(line, i) + tex2D<float>(plane, i % w + 0.5f, i / w + 0.5f);
}
int main() {
  const int w = 500, h = 200;
  Data d;
  cudaArray_t array;
  cudaChannelFormatDesc f = cudaCreateChannelDesc<float>();
  CK(cudaMallocArray(&array, &f, w, h));
  cudaResourceDesc of_array = {}, of_line = {};
  of_array.resType = cudaResourceTypeArray, of_array.res.array.array = array;
  of_line.resType = cudaResourceTypeLinear, of_line.res.linear.devPtr = d.b, of_line.res.linear.desc = f, of_line.res.linear.sizeInBytes = d.n * 4;
  cudaTextureDesc how = {};
  cudaTextureObject_t line, plane;
  CK(cudaCreateTextureObject(&line, &of_line, &how, nullptr));
  CK(cudaCreateTextureObject(&plane, &of_array, &how, nullptr));
  std::vector<float> p(w * h);
  for (int t = 0; t < 20; t++) {
    for (int i = 0; i < w * h; i++) p[i] = (i + t) % 13;
    CK(cudaMemcpy2DToArray(array, 0, 0, p.data(), w * 4, w * 4, h, cudaMemcpyHostToDevice));
    CK(cudaMemset(d.b, t % 2 ? 0 : 63, 400)); // 0, and what 0x3f3f3f3f is
    both<<<(w * h + 255) / 256, 256>>>(line, plane, d.a, w, h);
    CK(cudaGetLastError());
    unsigned word = t % 2 ? 0 : 0x3f3f3f3f;
    for (int i = 0; i < 100; i++) memcpy(&d.hb[i], &word, 4);
    for (int i = 0; i < w * h; i++) d.ha[i] = d.ha[i] * 0.5f + d.hb[i] + p[i];
  }
  return verdict(d.right());
}
