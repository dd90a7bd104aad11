// SPDX-License-Identifier: Apache-2.0
// Programs that observation could slow down, each with seconds of its own on the host's clock, from the first launch to the last result:
//
//   programs sides      two streams, a kernel of half the multiprocessors in each, 2 ms, side by side
//   programs long       a kernel of 10 ms on few multiprocessors, beside twenty configurations of 30 us in another stream
//   programs short      300,000 launches of about 9 us, in a row
//   programs waits      20,000 launches of about 9 us, each with a read-back
//   programs wide       41 kernels over arrays of 2.2 GB, three of indices
//   programs frontier   2,000 searches of fifteen levels: few launches do all the work
#include <chrono>
#include <cstdio>
#include <cstring>
#include <cuda_runtime.h>
#include <vector>

#define CHECK(call) do { cudaError_t e = (call); if (e) { printf("%s: %s\n", #call, cudaGetErrorString(e)); return 1; } } while (0)

__global__ void spin(float *p, long ns) {
  long long begin = clock64(), ticks = ns * 17 / 10; // at 1.7 GHz
  float x = p[threadIdx.x];
  while (clock64() - begin < ticks) x = x * 1.0001f + 1e-7f;
  p[blockIdx.x * blockDim.x + threadIdx.x] = x;
}

template <int K> __global__ void axpy(float *y, const float *x, const unsigned *index, size_t n, float a) {
  for (size_t i = blockIdx.x * (size_t)blockDim.x + threadIdx.x; i < n; i += (size_t)gridDim.x * blockDim.x) y[i] = a * x[index[i] % n] + y[i] + K;
}

__global__ void level(const unsigned *frontier, float *p) {
  unsigned n = frontier[0]; // in memory: nothing of it shows in the arguments
  for (unsigned i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x) p[i] = p[i] * 1.001f + 1;
}

static double now() { return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count(); }

template <int K> static void wide(std::vector<float *> &a, unsigned **index, size_t n) {
  axpy<K><<<1056, 256>>>(a[K % a.size()], a[(K + 1) % a.size()], index[K % 3], n, 0.5f);
  if constexpr (K > 0) wide<K - 1>(a, index, n);
}

int main(int argc, char **argv) {
  const char *what = argc > 1 ? argv[1] : "";
  int sms = 0;
  float *p, host[4];
  unsigned *f;
  cudaStream_t s[2];
  CHECK(cudaDeviceGetAttribute(&sms, cudaDevAttrMultiProcessorCount, 0));
  CHECK(cudaMalloc(&p, 64 << 20));
  CHECK(cudaMemset(p, 0, 64 << 20));
  CHECK(cudaMalloc(&f, 8));
  for (auto &x : s) CHECK(cudaStreamCreateWithFlags(&x, cudaStreamNonBlocking));
  std::vector<float *> arrays;
  unsigned *index[3];
  const size_t n = 50 << 20;
  if (!strcmp(what, "wide")) {
    arrays.resize(8);
    for (auto &x : arrays) {
      CHECK(cudaMalloc(&x, n * 4));
      CHECK(cudaMemset(x, 1, n * 4));
    }
    for (auto &x : index) {
      CHECK(cudaMalloc(&x, n * 4));
      CHECK(cudaMemset(x, 3, n * 4));
    }
  }
  CHECK(cudaDeviceSynchronize());
  double begin = now();
  if (!strcmp(what, "sides"))
    for (int i = 0; i < 800; i++) spin<<<sms / 2, 128, 0, s[i % 2]>>>(p + (i % 2) * (8 << 20), 2000000);
  else if (!strcmp(what, "long"))
    for (int i = 0; i < 150; i++) {
      spin<<<8, 128, 0, s[0]>>>(p, 10000000);
      for (int k = 0; k < 20; k++) spin<<<16 + k, 128, 0, s[1]>>>(p + (8 << 20), 30000);
    }
  else if (!strcmp(what, "short"))
    for (int i = 0; i < 300000; i++) spin<<<sms, 128>>>(p, 8000);
  else if (!strcmp(what, "waits"))
    for (int i = 0; i < 20000; i++) {
      spin<<<sms, 128>>>(p, 8000);
      CHECK(cudaMemcpy(host, p, sizeof host, cudaMemcpyDeviceToHost));
    }
  else if (!strcmp(what, "wide"))
    for (int i = 0; i < 100; i++) wide<40>(arrays, index, n);
  else if (!strcmp(what, "frontier"))
    for (int i = 0; i < 30000; i++) {
      unsigned size = i % 15 >= 5 && i % 15 < 8 ? 16 << 20 : 32;
      CHECK(cudaMemcpyAsync(f, &size, sizeof size, cudaMemcpyHostToDevice));
      level<<<264, 256>>>(f, p);
    }
  else return 2;
  CHECK(cudaDeviceSynchronize());
  CHECK(cudaGetLastError());
  printf("%s: %.4f s\n", what, now() - begin);
  return 0;
}
