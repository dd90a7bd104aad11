// class: a cooperative launch of exactly as many blocks as are resident, and of one more, which must fail
#include "common.h"
#include <cooperative_groups.h>
namespace cg = cooperative_groups;
__global__ void sums(float *a, const float *b, int n, int rounds) {
  auto grid = cg::this_grid();
  for (int r = 0; r < rounds; r++) {
    for (int i = grid.thread_rank(); i < n; i += grid.size()) a[i] += b[(i + r) % n];
    grid.sync();
  }
}
int main() {
  Data d(1 << 16);
  int rounds = 8, blocks = 0, device = 0;
  cudaDeviceProp p;
  CK(cudaGetDevice(&device));
  CK(cudaGetDeviceProperties(&p, device));
  CK(cudaOccupancyMaxActiveBlocksPerMultiprocessor(&blocks, sums, 256, 0));
  void *args[] = {&d.a, &d.b, &d.n, &rounds};
  int all = blocks * p.multiProcessorCount;
  for (int t = 0; t < 10; t++) CK(cudaLaunchCooperativeKernel((void *)sums, dim3(all), dim3(256), args, 0, 0));
  cudaError_t more = cudaLaunchCooperativeKernel((void *)sums, dim3(all + 1), dim3(256), args, 0, 0);
  cudaGetLastError();
  for (int t = 0; t < 10; t++)
    for (int r = 0; r < rounds; r++)
      for (int i = 0; i < d.n; i++) d.ha[i] += d.hb[(i + r) % d.n];
  return verdict(more == cudaErrorCooperativeLaunchTooLarge && d.right());
}
