// Speed of memory that was mapped by cuMemMap against cudaMalloc's (random gather, stream), what an L2 flush that reads leaves
// against one that writes, and the cost of asking the driver about pointers.
#include <cuda.h>
#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <ctime>
#include <cuda_runtime.h>
#include <thread>
#include <vector>
#define CK(x) do { int e = (int)(x); if (e) { printf("%s: error %d\n", #x, e); exit(2); } } while (0)
static double now() { timespec t; clock_gettime(CLOCK_MONOTONIC, &t); return t.tv_sec + t.tv_nsec * 1e-9; }
__global__ void gather(const unsigned *p, size_t mask, unsigned *out, unsigned seed) {
  size_t i = blockIdx.x * (size_t)blockDim.x + threadIdx.x;
  unsigned long long x = i * 0x9e3779b97f4a7c15ull + seed;
  unsigned s = 0;
  for (int k = 0; k < 16; k++) { x ^= x >> 29; x *= 0xbf58476d1ce4e5b9ull; x ^= x >> 32; s += p[x & mask]; }
  out[i & 0xffff] = s;
}
__global__ void stream(const uint4 *p, size_t n, uint4 *out) {
  uint4 s = {};
  for (size_t i = blockIdx.x * (size_t)blockDim.x + threadIdx.x; i < n; i += (size_t)gridDim.x * blockDim.x) { uint4 v = p[i]; s.x ^= v.x; s.y ^= v.y; s.z ^= v.z; s.w ^= v.w; }
  out[threadIdx.x] = s;
}
__global__ void fill(unsigned *p, size_t n, unsigned v) { for (size_t i = blockIdx.x * (size_t)blockDim.x + threadIdx.x; i < n; i += (size_t)gridDim.x * blockDim.x) p[i] = v; }
static unsigned *out;
static float timed(int what, const void *p, size_t bytes) {
  cudaEvent_t a, b;
  cudaEventCreate(&a), cudaEventCreate(&b);
  std::vector<float> t;
  for (int i = 0; i < 15; i++) {
    cudaEventRecord(a);
    if (what == 0) gather<<<132 * 64, 256>>>((const unsigned *)p, bytes / 4 - 1, out, i);
    else stream<<<132 * 8, 512>>>((const uint4 *)p, bytes / 16, (uint4 *)out);
    cudaEventRecord(b);
    CK(cudaDeviceSynchronize());
    float ms; cudaEventElapsedTime(&ms, a, b); t.push_back(ms);
  }
  std::sort(t.begin(), t.end());
  return t[t.size() / 2] * 1e3f;
}
static void *mapped(size_t size) {
  CUdeviceptr p = 0;
  CUmemAllocationProp prop = {};
  prop.type = CU_MEM_ALLOCATION_TYPE_PINNED;
  prop.location.type = CU_MEM_LOCATION_TYPE_DEVICE;
  CUmemAccessDesc a = {};
  a.location = prop.location;
  a.flags = CU_MEM_ACCESS_FLAGS_PROT_READWRITE;
  CUmemGenericAllocationHandle h;
  size_t g = 0, r = 0;
  CK(cuMemGetAllocationGranularity(&g, &prop, CU_MEM_ALLOC_GRANULARITY_MINIMUM));
  CK(cuMemGetAllocationGranularity(&r, &prop, CU_MEM_ALLOC_GRANULARITY_RECOMMENDED));
  static bool told; if (!told) printf("granularity: minimum %zu, recommended %zu\n", g, r), told = true;
  size = (size + g - 1) / g * g;
  CK(cuMemAddressReserve(&p, size, 0, 0, 0));
  CK(cuMemCreate(&h, size, &prop, 0));
  CK(cuMemMap(p, size, 0, h, 0));
  CK(cuMemSetAccess(p, size, &a, 1));
  return (void *)p;
}
static void ask(const char *name, std::vector<CUdeviceptr> p, int threads) {
  auto one = [&](CUpointer_attribute which, const char *w) {
    std::vector<std::thread> ts;
    const int rounds = 20000;
    double t = now();
    for (int k = 0; k < threads; k++) ts.emplace_back([&, k] {
      cudaFree(0);
      unsigned long long v[2];
      for (int i = 0; i < rounds; i++) cuPointerGetAttribute(v, which, p[(i * 7 + k) % p.size()]);
    });
    for (auto &x : ts) x.join();
    printf("ask %-22s %-12s %d threads: %7.1f ns\n", name, w, threads, (now() - t) / rounds * 1e9);
  };
  one(CU_POINTER_ATTRIBUTE_MEMORY_TYPE, "type");
  one(CU_POINTER_ATTRIBUTE_BUFFER_ID, "buffer id");
  one(CU_POINTER_ATTRIBUTE_MEMORY_BLOCK_ID, "block id");
  one(CU_POINTER_ATTRIBUTE_RANGE_SIZE, "range");
}
int main() {
  CK(cudaFree(0));
  CK(cudaMalloc(&out, 1 << 20));
  for (size_t bytes : {size_t(64) << 20, size_t(1) << 30, size_t(8) << 30}) {
    void *p; CK(cudaMalloc(&p, bytes));
    void *q = mapped(bytes);
    fill<<<1056, 512>>>((unsigned *)p, bytes / 4, 3), fill<<<1056, 512>>>((unsigned *)q, bytes / 4, 3);
    for (int what = 0; what < 2; what++) {
      float a = timed(what, p, bytes), b = timed(what, q, bytes), a2 = timed(what, p, bytes), b2 = timed(what, q, bytes);
      printf("U2 %s %5zu MiB: cudaMalloc %9.2f %9.2f us, cuMemMap %9.2f %9.2f us, ratio %.4f\n", what ? "stream" : "gather", bytes >> 20, a, a2, b, b2, (b + b2) / (a + a2));
    }
  }
  { // flushes: a kernel of 20 MiB after a flush that writes, one that reads, none, and after its inputs were just written
    size_t n = 20 << 20, f = 120 << 20;
    void *p, *q; CK(cudaMalloc(&p, n)); CK(cudaMalloc(&q, f));
    cudaMemset(p, 1, n), cudaMemset(q, 1, f);
    const char *names[] = {"none", "memset", "read", "inputs written"};
    for (int mode = 0; mode < 4; mode++) {
      std::vector<float> t;
      cudaEvent_t a, b; cudaEventCreate(&a), cudaEventCreate(&b);
      for (int i = 0; i < 21; i++) {
        if (mode == 1) cudaMemsetAsync(q, i, f);
        if (mode == 2) stream<<<1056, 512>>>((uint4 *)q, f / 16, (uint4 *)out);
        if (mode == 3) cudaMemsetAsync(q, i, f), fill<<<1056, 512>>>((unsigned *)p, n / 4, i);
        cudaEventRecord(a), stream<<<1056, 512>>>((uint4 *)p, n / 16, (uint4 *)out), cudaEventRecord(b);
        CK(cudaDeviceSynchronize());
        float ms; cudaEventElapsedTime(&ms, a, b); t.push_back(ms * 1e3f);
      }
      std::sort(t.begin(), t.end());
      printf("L2 before: %-15s %.2f us\n", names[mode], t[10]);
    }
  }
  std::vector<CUdeviceptr> few, many;
  for (int i = 0; i < 10; i++) { void *p; CK(cudaMalloc(&p, 4096)); few.push_back((CUdeviceptr)p); }
  ask("10 allocations", few, 1), ask("10 allocations", few, 8);
  for (int i = 0; i < 20000; i++) { void *p; CK(cudaMalloc(&p, 4096)); many.push_back((CUdeviceptr)p); }
  ask("20,000 allocations", many, 1), ask("20,000 allocations", many, 8);
  std::vector<CUdeviceptr> unknown = {0x12345678, (CUdeviceptr)&unknown, 0x3f8000003f800000ull};
  ask("unknown", unknown, 1);
  double t = now(); size_t s = 0; CUdeviceptr b;
  for (int i = 0; i < 20000; i++) cuMemGetAddressRange(&b, &s, many[i]);
  printf("ask cuMemGetAddressRange: %.1f ns\n", (now() - t) / 20000 * 1e9);
}
