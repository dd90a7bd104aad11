// class: texture and surface objects
#include "common.h"
__global__ void read(float *o, cudaTextureObject_t t, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) o[i] += tex1Dfetch<float>(t, i);
}
__global__ void raise(cudaSurfaceObject_t s, int w) {
  float v;
  int x = blockIdx.x * blockDim.x + threadIdx.x;
  if (x >= w) return;
  surf2Dread(&v, s, x * 4, blockIdx.y);
  surf2Dwrite(v + 1, s, x * 4, blockIdx.y);
}
int main() {
  Data d;
  cudaResourceDesc r = {};
  r.resType = cudaResourceTypeLinear;
  r.res.linear.devPtr = d.b;
  r.res.linear.desc = cudaCreateChannelDesc<float>();
  r.res.linear.sizeInBytes = 400000;
  cudaTextureDesc td = {};
  td.readMode = cudaReadModeElementType;
  cudaTextureObject_t t;
  CK(cudaCreateTextureObject(&t, &r, &td, 0));
  for (int k = 0; k < 10; k++) read<<<400, 256>>>(d.a, t, d.n);
  for (int i = 0; i < d.n; i++) d.ha[i] += 10 * d.hb[i];
  cudaArray_t a;
  cudaChannelFormatDesc f = cudaCreateChannelDesc<float>();
  CK(cudaMallocArray(&a, &f, 256, 64, cudaArraySurfaceLoadStore));
  std::vector<float> h(256 * 64, 1.0f);
  CK(cudaMemcpy2DToArray(a, 0, 0, h.data(), 1024, 1024, 64, cudaMemcpyHostToDevice));
  r = {};
  r.resType = cudaResourceTypeArray;
  r.res.array.array = a;
  cudaSurfaceObject_t s;
  CK(cudaCreateSurfaceObject(&s, &r));
  for (int k = 0; k < 10; k++) raise<<<dim3(2, 64), 128>>>(s, 256);
  CK(cudaMemcpy2DFromArray(h.data(), 1024, a, 0, 0, 1024, 64, cudaMemcpyDeviceToHost));
  bool good = true;
  for (float x : h) good = good && x == 11;
  return verdict(good && d.right());
}
