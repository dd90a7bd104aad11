// class: a cooperative launch as a graph's node
#include "common.h"
#include <cooperative_groups.h>
namespace cg = cooperative_groups;
__global__ void turns(int *a, int n) {
  auto grid = cg::this_grid();
  for (int k = 0; k < 4; k++) {
    for (int i = grid.thread_rank(); i < n; i += grid.size()) a[(k + 1) % 2 * n + i] = a[k % 2 * n + (i + 1) % n] + 1;
    grid.sync();
  }
}
int main() {
  int n = 1 << 16, *a;
  std::vector<int> h(n);
  for (int i = 0; i < n; i++) h[i] = i;
  CK(cudaMalloc(&a, 8 * n));
  CK(cudaMemcpy(a, h.data(), 4 * n, cudaMemcpyHostToDevice));
  cudaStream_t s;
  cudaGraph_t g;
  cudaGraphExec_t e;
  CK(cudaStreamCreate(&s));
  void *args[] = {&a, &n};
  CK(cudaStreamBeginCapture(s, cudaStreamCaptureModeRelaxed));
  cudaError_t r = cudaLaunchCooperativeKernel((void *)turns, dim3(32), dim3(256), args, 0, s);
  CK(cudaStreamEndCapture(s, &g));
  if (r != cudaSuccess) return puts("skipped: no cooperative launches in graphs"), 0;
  CK(cudaGraphInstantiate(&e, g, 0));
  for (int t = 0; t < 10; t++) CK(cudaGraphLaunch(e, s));
  CK(cudaStreamSynchronize(s));
  CK(cudaMemcpy(h.data(), a, 4 * n, cudaMemcpyDeviceToHost));
  bool good = true;
  for (int i = 0; i < n; i++) good &= h[i] == (i + 40) % n + 40;
  return verdict(good);
}
