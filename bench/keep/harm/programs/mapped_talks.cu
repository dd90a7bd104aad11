// class: a kernel and a CPU thread that ask and answer each other in mapped memory while the kernel runs
#include "common.h"
__global__ void talk(volatile int *ask, volatile int *answer, float *a, int n, int rounds) {
  __shared__ int said;
  for (int r = 1; r <= rounds; r++) {
    if (threadIdx.x == 0) {
      int first = *ask + 1;
      __threadfence_system();
      *ask = first;
      while (*answer != first * 3) {}
      said = *answer % 5;
    }
    __syncthreads();
    for (int i = threadIdx.x; i < n; i += blockDim.x) a[i] += said;
    __syncthreads();
  }
}
int main() {
  Data d(10000);
  volatile int *m;
  CK(cudaHostAlloc((void **)&m, 4096, cudaHostAllocMapped));
  m[0] = m[64] = 0;
  std::atomic<bool> stop{false};
  std::thread answers([&] { // speaks no CUDA
    while (!stop) {
      int asked = m[0];
      if (m[64] != asked * 3) m[64] = asked * 3;
    }
  });
  int asked = 0;
  for (int t = 0; t < 8; t++) {
    talk<<<1, 256>>>((volatile int *)m, (volatile int *)m + 64, d.a, d.n, 4);
    CK(cudaDeviceSynchronize());
    for (int r = 0; r < 4; r++) {
      asked++;
      for (auto &x : d.ha) x += asked * 3 % 5;
    }
  }
  stop = true;
  answers.join();
  return verdict(d.right() && m[0] == 32);
}
