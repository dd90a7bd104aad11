// class: handles of textures in memory and in a constant, of which some are destroyed and some made late
#include "common.h"
__constant__ cudaTextureObject_t chosen[2];
__global__ void gather(const cudaTextureObject_t *table, int n, float *a, int w, int h) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= w * h) return;
  float sum = tex2D<float>(chosen[i % 2], i % w + 0.5f, i / w + 0.5f);
  for (int k = 0; k < n; k++) sum += tex2D<float>(table[k], i % w + 0.5f, i / w + 0.5f);
  a[i] = a[i] * 0.5f + sum;
}
int main() {
  const int w = 500, h = 200, all = 12;
  Data d;
  cudaTextureObject_t made[all], kept[all / 2], *table;
  std::vector<float> p[all];
  cudaChannelFormatDesc f = cudaCreateChannelDesc<float>();
  for (int k = 0; k < all; k++) {
    cudaArray_t array;
    p[k].resize(w * h);
    for (int i = 0; i < w * h; i++) p[k][i] = (i + k) % (k + 3);
    CK(cudaMallocArray(&array, &f, w, h));
    CK(cudaMemcpy2DToArray(array, 0, 0, p[k].data(), w * 4, w * 4, h, cudaMemcpyHostToDevice));
    cudaResourceDesc r = {};
    r.resType = cudaResourceTypeArray, r.res.array.array = array;
    cudaTextureDesc how = {};
    CK(cudaCreateTextureObject(&made[k], &r, &how, nullptr));
  }
  for (int k = 0; k < all; k += 2) {
    CK(cudaDestroyTextureObject(made[k]));
    kept[k / 2] = made[k + 1];
  }
  CK(cudaMalloc(&table, sizeof kept));
  CK(cudaMemcpy(table, kept, sizeof kept, cudaMemcpyHostToDevice));
  CK(cudaMemcpyToSymbol(chosen, kept + 2, 2 * sizeof *kept)); // those over the arrays 5 and 7
  for (int t = 0; t < 20; t++) {
    gather<<<(w * h + 255) / 256, 256>>>(table, all / 2, d.a, w, h);
    CK(cudaGetLastError());
    for (int i = 0; i < w * h; i++) {
      float sum = p[i % 2 ? 7 : 5][i];
      for (int k = 1; k < all; k += 2) sum += p[k][i];
      d.ha[i] = d.ha[i] * 0.5f + sum;
    }
  }
  return verdict(d.right());
}
