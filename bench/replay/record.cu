// Allocates memory of every kind, and prints where it lies: what a capture would see of a program. Each line: kind, index,
// address, size, allocation's base and size as the driver tells them.
#include <cuda.h>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <cuda_runtime.h>
#include <unistd.h>

__device__ int variable[1000];
__constant__ int constant[100];
__global__ void touch(int *p) { variable[0] = p ? p[0] : constant[3]; }

static void print(const char *kind, int i, void *p, size_t n) {
  CUdeviceptr base = 0;
  size_t size = 0;
  cuMemGetAddressRange(&base, &size, (CUdeviceptr)p);
  printf("%s %d %#llx %zu %#llx %zu\n", kind, i, (unsigned long long)p, n, (unsigned long long)base, size);
}

static void must(cudaError_t e) { if (e) { fprintf(stderr, "%s\n", cudaGetErrorString(e)); exit(2); } }
#define CK(x) must(x)

int main(int n, char **v) {
  void *p;
  CK(cudaFree(0));
  touch<<<1, 1>>>(nullptr);
  CK(cudaDeviceSynchronize());
  for (int i = 0; i < 3; i++) CK(cudaMalloc(&p, 1 << 10)), print("small", i, p, 1 << 10);
  for (int i = 0; i < 3; i++) CK(cudaMalloc(&p, 3 << 20)), print("middle", i, p, 3 << 20);
  CK(cudaMalloc(&p, 64ull << 20)), print("64MiB", 0, p, 64ull << 20);
  CK(cudaMalloc(&p, 4ull << 30)), print("4GiB", 0, p, 4ull << 30);
  for (int i = 0; i < 40; i++) CK(cudaMalloc(&p, 100000 + 4096 * i)); // a program with many
  print("many", 0, p, 100000 + 4096 * 39);
  CK(cudaMallocAsync(&p, 1 << 20, 0)), CK(cudaDeviceSynchronize()), print("pool", 0, p, 1 << 20);
  CK(cudaMallocManaged(&p, 1 << 20)), print("managed", 0, p, 1 << 20);
  CK(cudaMallocHost(&p, 1 << 20)), print("pinned", 0, p, 1 << 20);
  CK(cudaMallocHost(&p, 64 << 20)), print("pinned", 1, p, 64 << 20);
  CK(cudaGetSymbolAddress(&p, variable)), print("variable", 0, p, sizeof variable);
  CK(cudaGetSymbolAddress(&p, constant)), print("constant", 0, p, sizeof constant);
  if (n > 1 && !strcmp(v[1], "maps")) {
    FILE *f = fopen("/proc/self/maps", "r");
    char line[512];
    while (f && fgets(line, sizeof line, f)) printf("maps %s", line);
  }
  fflush(stdout);
  _exit(0);
}
