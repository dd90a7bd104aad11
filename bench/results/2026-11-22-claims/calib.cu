// Short kernels, timed as gnvcc does (a delay, event, kernel, event), or in rows for CUPTI to time.
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <algorithm>
#include <vector>
#include <cuda.h>
struct Big { int x[24]; };
__global__ void nothing(unsigned *p, unsigned n) { for (unsigned i = threadIdx.x; i < n; i += blockDim.x) p[i] = 0; }
__global__ void delay(unsigned long long ns) { unsigned long long a, b; asm volatile("mov.u64 %0, %globaltimer;" : "=l"(a)); do asm volatile("mov.u64 %0, %globaltimer;" : "=l"(b)); while (b - a < ns); }
__global__ void one_store(unsigned *p) { p[blockIdx.x * blockDim.x + threadIdx.x] = 7; }
__global__ void args_store(unsigned *p, Big b) { p[blockIdx.x * blockDim.x + threadIdx.x] = b.x[threadIdx.x % 24]; }
__global__ void load_store(unsigned *p, const unsigned *q) { unsigned i = blockIdx.x * blockDim.x + threadIdx.x; p[i] = q[i] + 1; }
__global__ void spin_store(unsigned *p, int n) { unsigned v = threadIdx.x; for (int i = 0; i < n; i++) v = v * 1664525u + 1013904223u; p[blockIdx.x * blockDim.x + threadIdx.x] = v; }
__global__ void spin_only(unsigned *p, int n) { unsigned v = threadIdx.x; for (int i = 0; i < n; i++) v = v * 1664525u + 1013904223u; if (v == 1 && n == 12345) *p = v; }
__global__ void few_store(unsigned *p) { if (threadIdx.x == 0) p[blockIdx.x] = 1; }
int main(int argc, char **argv) {
  bool row = argc > 1 && !strcmp(argv[1], "row");
  unsigned *p, *q; cudaMalloc(&p, 64 << 20); cudaMalloc(&q, 64 << 20); cudaMemset(p, 0, 64 << 20); cudaMemset(q, 0, 64 << 20);
  cudaEvent_t s, e; cudaEventCreate(&s); cudaEventCreate(&e); Big big = {};
  for (int i = 0; i < 2000; i++) spin_only<<<132, 256>>>(p, 20000 + i); // clocks
  cudaDeviceSynchronize();
  auto time = [&](const char *name, auto launch) {
    launch(); cudaDeviceSynchronize();
    if (row) { for (int i = 0; i < 300; i++) launch(); cudaDeviceSynchronize(); return; }
    std::vector<float> t;
    for (int i = 0; i < 41; i++) { delay<<<1, 1>>>(40000); cudaEventRecord(s); launch(); cudaEventRecord(e); cudaEventSynchronize(e); float ms; cudaEventElapsedTime(&ms, s, e); t.push_back(ms * 1e6f); }
    std::sort(t.begin(), t.end());
    // a row, by events: what a launch more takes
    float a, b; auto many = [&](int n) { delay<<<1, 1>>>(2000000); cudaEventRecord(s); for (int i = 0; i < n; i++) launch(); cudaEventRecord(e); cudaEventSynchronize(e); float ms; cudaEventElapsedTime(&ms, s, e); return ms * 1e6f; };
    a = many(100); b = many(200);
    printf("E %s %.0f %.0f %.0f %.0f\n", name, t[0], t[20], t[40], (b - a) / 100);
  };
#define T(name, ...) time(name, [&] { __VA_ARGS__; })
  T("nothing,1,1", nothing<<<1, 1>>>(0, 0)); T("nothing,132,256", nothing<<<132, 256>>>(0, 0)); T("nothing,4096,64", nothing<<<4096, 64>>>(0, 0));
  T("one_store,1,1", one_store<<<1, 1>>>(p)); T("one_store,1,32", one_store<<<1, 32>>>(p)); T("one_store,32,256", one_store<<<32, 256>>>(p)); T("one_store,132,256", one_store<<<132, 256>>>(p));
  T("one_store,256,1024", one_store<<<256, 1024>>>(p)); T("one_store,4096,64", one_store<<<4096, 64>>>(p)); T("args_store,132,256", args_store<<<132, 256>>>(p, big));
  T("few_store,132,256", few_store<<<132, 256>>>(p)); T("load_store,132,256", load_store<<<132, 256>>>(p, q)); T("load_store,4096,256", load_store<<<4096, 256>>>(p, q));
  T("spin_only,132,256", spin_only<<<132, 256>>>(p, 500)); T("spin_store,132,256", spin_store<<<132, 256>>>(p, 500)); T("spin_only,64,128", spin_only<<<64, 128>>>(p, 2000)); T("spin_store,64,128", spin_store<<<64, 128>>>(p, 2000));
  T("spin_only,2,32", spin_only<<<2, 32>>>(p, 20000)); T("spin_store,2,32", spin_store<<<2, 32>>>(p, 20000));
  printf("done %s\n", cudaGetErrorString(cudaGetLastError()));
}
