// class: cooperative launches and launches in clusters
#include "common.h"
#include <cooperative_groups.h>
namespace cg = cooperative_groups;
__global__ void halves(float *a, int n) {
  auto grid = cg::this_grid();
  for (int w = n / 2; w > 0; w /= 2) {
    for (int i = grid.thread_rank(); i < w; i += grid.size()) a[i] += a[i + w];
    grid.sync();
  }
}
int main() {
  Data d(1 << 14);
  for (int i = 0; i < d.n; i++) d.ha[i] = 1;
  CK(cudaMemcpy(d.a, d.ha.data(), d.n * 4, cudaMemcpyHostToDevice));
  void *args[] = {&d.a, &d.n};
  CK(cudaLaunchCooperativeKernel((void *)halves, dim3(16), dim3(256), args, 0, 0));
  float sum;
  CK(cudaMemcpy(&sum, d.a, 4, cudaMemcpyDeviceToHost));
  bool good = sum == d.n;
  CK(cudaMemcpy(d.a, d.hb.data(), d.n * 4, cudaMemcpyHostToDevice));
  d.ha = d.hb;
#if CUDA_VERSION >= 11080
  cudaLaunchAttribute c[1];
  c[0].id = cudaLaunchAttributeClusterDimension;
  c[0].val.clusterDim.x = 4, c[0].val.clusterDim.y = c[0].val.clusterDim.z = 1;
  cudaLaunchConfig_t config = {};
  config.gridDim = dim3(256), config.blockDim = dim3(256), config.attrs = c, config.numAttrs = 1;
  for (int t = 0; t < 10; t++) {
    cudaError_t e = cudaLaunchKernelEx(&config, work, d.a, (const float *)d.b, d.n, 0.5f, t);
    if (e != cudaSuccess && t == 0) break; // a GPU without clusters
    CK(e);
    d.after(t);
  }
  cudaGetLastError();
#endif
  return verdict(good && d.right());
}
