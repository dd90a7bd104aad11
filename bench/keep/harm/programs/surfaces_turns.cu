// class: surfaces that kernels read and write in turns, in two arrays, with an array freed in the midst
#include "common.h"
__global__ void grow(cudaSurfaceObject_t from, cudaSurfaceObject_t to, int w, int h) {
  int x = blockIdx.x * blockDim.x + threadIdx.x, y = blockIdx.y;
  if (x >= w || y >= h) return;
  int self, left, up;
  surf2Dread(&self, from, x * 4, y);
  surf2Dread(&left, from, (x + w - 1) % w * 4, y);
  surf2Dread(&up, from, x * 4, (y + h - 1) % h);
  surf2Dwrite((self * 3 + left + 2 * up + 1) % 1009, to, x * 4, y);
}
int main() {
  const int w = 500, h = 200;
  cudaArray_t array[3];
  cudaSurfaceObject_t s[3];
  cudaChannelFormatDesc f = cudaCreateChannelDesc<int>();
  std::vector<int> v(w * h), next(w * h);
  for (int i = 0; i < w * h; i++) v[i] = i % 1009;
  for (int k = 0; k < 3; k++) {
    CK(cudaMallocArray(&array[k], &f, w, h, cudaArraySurfaceLoadStore));
    CK(cudaMemcpy2DToArray(array[k], 0, 0, v.data(), w * 4, w * 4, h, cudaMemcpyHostToDevice));
    cudaResourceDesc r = {};
    r.resType = cudaResourceTypeArray, r.res.array.array = array[k];
    CK(cudaCreateSurfaceObject(&s[k], &r));
  }
  for (int t = 0; t < 40; t++) {
    if (t == 20) {
      CK(cudaDestroySurfaceObject(s[2]));
      CK(cudaFreeArray(array[2]));
    }
    grow<<<dim3(2, h), 256>>>(s[t % 2], s[1 - t % 2], w, h);
    CK(cudaGetLastError());
    for (int y = 0; y < h; y++)
      for (int x = 0; x < w; x++)
        next[y * w + x] = (v[y * w + x] * 3 + v[y * w + (x + w - 1) % w] + 2 * v[(y + h - 1) % h * w + x] + 1) % 1009;
    v.swap(next);
  }
  std::vector<int> got(w * h);
  CK(cudaMemcpy2DFromArray(got.data(), w * 4, array[0], 0, 0, w * 4, h, cudaMemcpyDeviceToHost));
  return verdict(got == v);
}
