// What the programs share: a kernel with work enough to be worth a search, the same on the host, and
// a verdict. Each program prints "ok", or what was wrong, and exits with 0 or 1 where its class does
// not ask for another end. It prints nothing that differs between two runs by itself.
#pragma once
#include <cuda.h>
#include <cuda_runtime.h>
#include <dlfcn.h>
#include <unistd.h>
#include <atomic>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>
#include <thread>
#include <vector>

#define CK(x)                                                   \
  do {                                                          \
    cudaError_t e_ = (x);                                       \
    if (e_ != cudaSuccess) {                                    \
      printf("%s: %s\n", #x, cudaGetErrorName(e_));             \
      exit(1);                                                  \
    }                                                           \
  } while (0)

// A function of the driver, by the name that cuda.h gives it (cuCtxCreate_v4), so that nothing needs
// to be linked with it.
#define NAME_OF(f) #f
#define DRIVER(f) ((decltype(&f))driver_function(NAME_OF(f)))
static inline void *driver_function(const char *name) {
  static void *library = dlopen("libcuda.so.1", RTLD_NOW);
  void *f = library ? dlsym(library, name) : nullptr;
  if (!f) {
    printf("skipped: this driver has no %s\n", name);
    exit(0);
  }
  return f;
}
#define DR(x)                                                   \
  do {                                                          \
    int r_ = (int)(x);                                          \
    if (r_ != 0) {                                              \
      printf("%s: %d\n", #x, r_);                               \
      exit(1);                                                  \
    }                                                           \
  } while (0)

static inline int verdict(bool good, const char *otherwise = "wrong") {
  puts(good ? "ok" : otherwise);
  return good ? 0 : 1;
}

// The sum of each column of b, weighed, in about 100 rows: few threads that wait for memory, which
// recipes make faster.
static inline __host__ __device__ int columns(int n) { return n < 100000 ? 1000 : n / 100; }

static __global__ void work(float *a, const float *b, int n, float s, int t) {
  int w = columns(n), rows = n / w;
  for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < w; i += gridDim.x * blockDim.x) {
    float x = 0;
    for (int r = 0; r < rows; r++) x = x * s + b[r * w + i];
    a[i] = a[i] * 0.9f + x + t; // a launch more or less is seen
  }
}

static inline void host_work(float *a, const float *b, int n, float s, int t) {
  int w = columns(n), rows = n / w;
  for (int i = 0; i < w; i++) {
    float x = 0;
    for (int r = 0; r < rows; r++) x = fmaf(x, s, b[r * w + i]);
    a[i] = fmaf(a[i], 0.9f, x) + t;
  }
}

// Two arrays on the device, and what the host thinks that they hold.
struct Data {
  float *a, *b;
  std::vector<float> ha, hb;
  int n;
  explicit Data(int n = 100000) : ha(n), hb(n), n(n) {
    for (int i = 0; i < n; i++) ha[i] = i % 17, hb[i] = i % 31;
    CK(cudaMalloc(&a, n * 4));
    CK(cudaMalloc(&b, n * 4));
    CK(cudaMemcpy(a, ha.data(), n * 4, cudaMemcpyHostToDevice));
    CK(cudaMemcpy(b, hb.data(), n * 4, cudaMemcpyHostToDevice));
  }
  void step(int t, cudaStream_t s = 0) { from(b, t, s); }
  void from(const float *x, int t, cudaStream_t s = 0) { // x holds what b does
    work<<<256, 256, 0, s>>>(a, x, n, 0.5f, t);
    CK(cudaGetLastError());
    after(t);
  }
  void after(int t) { host_work(ha.data(), hb.data(), n, 0.5f, t); }
  bool right() {
    std::vector<float> g(n);
    CK(cudaMemcpy(g.data(), a, n * 4, cudaMemcpyDeviceToHost));
    for (int i = 0; i < n; i++)
      if (!(fabsf(g[i] - ha[i]) <= 1e-4f * fabsf(ha[i]) + 1e-5f)) return false;
    return true;
  }
};
