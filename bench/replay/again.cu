// Tries to have the addresses that record.cu printed again, in another process: again FILE placeholder|none [early]
// Prints one line per range: kind, index, had or the reason, then times.
#include <cuda.h>
#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <ctime>
#include <cuda_runtime.h>
#include <sys/mman.h>
#include <unistd.h>

struct range { char kind[32]; int i; unsigned long long p, base; size_t n, size; unsigned long long from, to; const char *why; int err; bool held; };
static range r[64];
__global__ void write(unsigned *p, size_t n, unsigned v) {
  for (size_t i = blockIdx.x * (size_t)blockDim.x + threadIdx.x; i < n; i += (size_t)gridDim.x * blockDim.x) p[i] = v + i;
}
static double now() { timespec t; clock_gettime(CLOCK_MONOTONIC, &t); return t.tv_sec + t.tv_nsec * 1e-9; }

int main(int argc, char **argv) {
  bool hold = argc > 2 && !strcmp(argv[2], "placeholder");
  FILE *f = fopen(argv[1], "r");
  char line[512];
  int n = 0;
  while (f && n < 64 && fgets(line, sizeof line, f)) {
    range &x = r[n];
    memset(&x, 0, sizeof x);
    if (sscanf(line, "%31s %d %llx %zu %llx %zu", x.kind, &x.i, &x.p, &x.n, &x.base, &x.size) != 6) continue;
    if (!strcmp(x.kind, "variable") || !strcmp(x.kind, "constant")) continue;
    const size_t g = strcmp(x.kind, "pinned") ? 2 << 20 : 4096;
    x.from = x.p / g * g;
    x.to = (x.p + x.n + g - 1) / g * g;
    bool merged = false;
    for (int k = 0; k < n && strcmp(x.kind, "pinned"); k++)
      if (strcmp(r[k].kind, "pinned") && x.from <= r[k].to && r[k].from <= x.to) { // one slab
        if (x.from < r[k].from) r[k].from = x.from;
        if (x.to > r[k].to) r[k].to = x.to;
        merged = true;
        break;
      }
    if (!merged) n++;
  }
  for (int i = 0; hold && i < n; i++) {
    void *p = mmap((void *)r[i].from, r[i].to - r[i].from, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_FIXED_NOREPLACE, -1, 0);
    if (p == (void *)r[i].from) r[i].held = true;
    else { r[i].err = errno; if (p != MAP_FAILED) munmap(p, r[i].to - r[i].from); }
  }
  double t0 = now();
  if (cuInit(0) != CUDA_SUCCESS) return puts("cuInit failed"), 1;
  CUcontext ctx;
  CUdevice dev = 0;
  cuDevicePrimaryCtxRetain(&ctx, dev);
  cuCtxSetCurrent(ctx);
  if (cudaFree(0)) return puts("no context"), 1;
  write<<<1, 32>>>(nullptr, 0, 0); // its module
  if (cudaDeviceSynchronize()) return puts("no launch"), 1;
  double t1 = now();
  int had = 0;
  for (int i = 0; i < n; i++) {
    range &x = r[i];
    size_t size = x.to - x.from;
    if (x.held) munmap((void *)x.from, size);
    x.why = "had";
    if (!strcmp(x.kind, "pinned")) {
      void *p = mmap((void *)x.from, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED_NOREPLACE, -1, 0);
      CUdeviceptr d = 0;
      if (p != (void *)x.from) x.why = "mmap";
      else if (cuMemHostRegister(p, size, CU_MEMHOSTREGISTER_DEVICEMAP | CU_MEMHOSTREGISTER_PORTABLE)) x.why = "register";
      else if (cuMemHostGetDevicePointer(&d, p, 0) || d != x.from) x.why = "other device pointer";
    } else {
      CUdeviceptr p = 0;
      CUmemAllocationProp prop = {};
      prop.type = CU_MEM_ALLOCATION_TYPE_PINNED;
      prop.location.type = CU_MEM_LOCATION_TYPE_DEVICE;
      CUmemAccessDesc a = {};
      a.location = prop.location;
      a.flags = CU_MEM_ACCESS_FLAGS_PROT_READWRITE;
      CUmemGenericAllocationHandle h;
      CUresult e = cuMemAddressReserve(&p, size, 0, x.from, 0);
      if (e) x.why = "reserve", x.err = e;
      else if (p != x.from) x.why = "moved", cuMemAddressFree(p, size);
      else if ((e = cuMemCreate(&h, size, &prop, 0))) x.why = "create", x.err = e;
      else if ((e = cuMemMap(p, size, 0, h, 0))) x.why = "map", x.err = e;
      else if ((e = cuMemSetAccess(p, size, &a, 1))) x.why = "access", x.err = e;
    }
    if (!strcmp(x.why, "had")) {
      write<<<264, 256>>>((unsigned *)x.from, (x.to - x.from) / 4, 7);
      unsigned last = 0;
      if (cudaDeviceSynchronize() || cudaMemcpy(&last, (void *)(x.to - 4), 4, cudaMemcpyDefault) || last != 7 + (unsigned)((x.to - x.from) / 4 - 1)) x.why = "not writable";
    }
    had += !strcmp(x.why, "had");
  }
  double t2 = now();
  for (int i = 0; i < n; i++)
    printf("range %s %d %#llx %llu %s %s %d\n", r[i].kind, r[i].i, r[i].from, r[i].to - r[i].from, r[i].held ? "held" : "free", r[i].why, r[i].err);
  printf("total %d of %d, init %.3f s, ranges %.3f s\n", had, n, t1 - t0, t2 - t1);
  fflush(stdout);
  _exit(0);
}
