// class: textures over rows with a pitch, made anew for each launch, with rows changed by the kernel before
#include "common.h"
__global__ void change(float *rows, int stride, int w, int h, float by) {
  int x = blockIdx.x * blockDim.x + threadIdx.x, y = blockIdx.y;
  if (x < w && y < h) rows[y * stride + x] += by;
}
__global__ void read(cudaTextureObject_t t, float *a, int w, int h) {
  int x = blockIdx.x * blockDim.x + threadIdx.x, y = blockIdx.y;
  if (x < w && y < h) a[y * w + x] = a[y * w + x] * 0.5f + tex2D<float>(t, x + 0.5f, y + 0.5f) + tex2D<float>(t, w - x - 0.5f, h - y - 0.5f);
}
int main() {
  const int w = 500, h = 200;
  Data d;
  float *rows;
  size_t pitch;
  CK(cudaMallocPitch(&rows, &pitch, w * 4, h));
  std::vector<float> p(w * h);
  for (int i = 0; i < w * h; i++) p[i] = i % 13;
  CK(cudaMemcpy2D(rows, pitch, p.data(), w * 4, w * 4, h, cudaMemcpyHostToDevice));
  for (int t = 0; t < 20; t++) {
    cudaResourceDesc r = {};
    r.resType = cudaResourceTypePitch2D;
    r.res.pitch2D.devPtr = rows, r.res.pitch2D.desc = cudaCreateChannelDesc<float>();
    r.res.pitch2D.width = w, r.res.pitch2D.height = h, r.res.pitch2D.pitchInBytes = pitch;
    cudaTextureDesc how = {};
    cudaTextureObject_t x;
    CK(cudaCreateTextureObject(&x, &r, &how, nullptr));
    change<<<dim3(2, h), 256>>>(rows, pitch / 4, w, h, t % 3);
    read<<<dim3(2, h), 256>>>(x, d.a, w, h);
    CK(cudaGetLastError());
    for (auto &v : p) v += t % 3;
    for (int i = 0; i < w * h; i++) d.ha[i] = d.ha[i] * 0.5f + p[i] + p[w * h - 1 - i];
    CK(cudaDestroyTextureObject(x));
  }
  return verdict(d.right());
}
