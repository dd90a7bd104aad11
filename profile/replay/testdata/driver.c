// A driver for tests of the replayer: it answers, and fails in the function that FAIL names. Device memory is host memory at the addresses
// that are asked for; launches do nothing, and so does the one that hashes: all hashes are 0, or
// (DIFFERS) those of so many chunks of each range are others each time.
#define _GNU_SOURCE
#include <cuda.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

// Each start is a byte in the file that STARTS names.
static void count_start(void) {
  FILE *f = getenv("STARTS") ? fopen(getenv("STARTS"), "a") : NULL;
  if (!f) return;
  fputc('.', f);
  fclose(f);
}

#define DO(symbol, arguments, body) \
  CUresult fake_##symbol arguments __asm__(#symbol); \
  CUresult fake_##symbol arguments { \
    const char *bad = getenv("FAIL"); \
    if (bad && strcmp(bad, #symbol) == 0) return CUDA_ERROR_UNKNOWN; \
    body; \
    return CUDA_SUCCESS; \
  }

DO(cuInit, (unsigned flags), count_start())
DO(cuGetErrorString, (CUresult r, const char **text), *text = "so says the test")
DO(cuDeviceGetCount, (int *n), *n = 1)
DO(cuDeviceGet, (CUdevice * d, int i), *d = 0)
DO(cuDeviceGetUuid, (CUuuid * u, CUdevice d), memset(u, 0, sizeof *u))
DO(cuDeviceGetName, (char *name, int n, CUdevice d), strcpy(name, "GPU"))
DO(cuDevicePrimaryCtxRetain, (CUcontext * c, CUdevice d), *c = (CUcontext)1)
DO(cuCtxSetCurrent, (CUcontext c), )
DO(cuCtxSynchronize, (void), puts("printed"); fputs("asserted\n", stderr))
DO(cuStreamQuery, (CUstream s), if (getenv("STUCK")) return CUDA_ERROR_NOT_READY)
DO(cuCtxSetLimit, (CUlimit l, size_t n), )
DO(cuCtxSetCacheConfig, (CUfunc_cache c), )
DO(cuModuleLoadData, (CUmodule * m, const void *image), *m = (CUmodule)2)
DO(cuModuleUnload, (CUmodule m), )
DO(cuModuleGetFunction, (CUfunction * f, CUmodule m, const char *name), *f = (CUfunction)3)
DO(cuModuleGetGlobal_v2, (CUdeviceptr * p, size_t *n, CUmodule m, const char *name), *n = strcmp(name, "counter") == 0 ? 4 : 16; *p = (CUdeviceptr)calloc(1, *n))
DO(cuFuncGetAttribute, (int *v, CUfunction_attribute a, CUfunction f), *v = 0)
DO(cuFuncSetAttribute, (CUfunction f, CUfunction_attribute a, int v), )
DO(cuFuncSetCacheConfig, (CUfunction f, CUfunc_cache c), )
// A launch is noted with its first argument in the file that LAUNCHED names.
DO(cuLaunchKernel, (CUfunction f, unsigned gx, unsigned gy, unsigned gz, unsigned bx, unsigned by, unsigned bz, unsigned shared, CUstream s, void **params, void **extra),
   FILE *log = getenv("LAUNCHED") ? fopen(getenv("LAUNCHED"), "a") : NULL; if (log) { fprintf(log, "%llu\n", *(unsigned long long *)params[0]); fclose(log); }
   static unsigned char count; if (getenv("DIFFERS") && bx == 256) memset(*(void **)params[2], ++count, 16 * (size_t)atoi(getenv("DIFFERS"))))
DO(cuLaunchKernelEx, (const CUlaunchConfig *c, CUfunction f, void **params, void **extra), )
DO(cuMemAlloc_v2, (CUdeviceptr * p, size_t n), *p = (CUdeviceptr)calloc(1, n))
DO(cuMemGetInfo_v2, (size_t *left, size_t *total), *left = *total = getenv("LEFT") ? (size_t)atoll(getenv("LEFT")) : (size_t)1 << 34)
DO(cuMemFree_v2, (CUdeviceptr p), free((void *)p))
DO(cuMemcpyHtoD_v2, (CUdeviceptr to, const void *from, size_t n), memcpy((void *)to, from, n))
DO(cuMemcpyDtoH_v2, (void *to, CUdeviceptr from, size_t n), memcpy(to, (void *)from, n))
DO(cuMemcpyDtoD_v2, (CUdeviceptr to, CUdeviceptr from, size_t n), memmove((void *)to, (void *)from, n))
DO(cuMemsetD8_v2, (CUdeviceptr p, unsigned char v, size_t n), memset((void *)p, v, n))
// An array is a block of memory, whose shape is that of the copies. Objects have the lowest handle that is free, from HANDLES on; textures and surfaces
// together.
DO(cuArray3DCreate_v2, (CUarray * a, const CUDA_ARRAY3D_DESCRIPTOR *d), *a = calloc(1, 1 << 20))
DO(cuMemcpy3D_v2, (const CUDA_MEMCPY3D *m),
   size_t n = m->WidthInBytes * m->Height * m->Depth; if (m->srcArray) memcpy(m->dstHost, m->srcArray, n); else memcpy(m->dstArray, m->srcHost, n))
static bool used[1 << 17];
static unsigned long long handle(void) {
  unsigned long long h = getenv("HANDLES") ? strtoull(getenv("HANDLES"), NULL, 10) : 1;
  while (used[h]) h++;
  used[h] = true;
  return h;
}
DO(cuTexObjectCreate, (CUtexObject * o, const CUDA_RESOURCE_DESC *of, const CUDA_TEXTURE_DESC *how, const CUDA_RESOURCE_VIEW_DESC *view), if (!of->res.array.hArray) return CUDA_ERROR_INVALID_VALUE; *o = handle())
DO(cuTexObjectDestroy, (CUtexObject o), used[o] = false)
DO(cuSurfObjectCreate, (CUsurfObject * o, const CUDA_RESOURCE_DESC *of), if (!of->res.array.hArray) return CUDA_ERROR_INVALID_VALUE; *o = handle())
DO(cuSurfObjectDestroy, (CUsurfObject o), used[o] = false)
DO(cuMemAddressReserve, (CUdeviceptr * p, size_t n, size_t a, CUdeviceptr hint, unsigned long long flags),
   *p = (CUdeviceptr)mmap((void *)hint, n, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0))
DO(cuMemAddressFree, (CUdeviceptr p, size_t n), munmap((void *)p, n))
DO(cuMemCreate, (CUmemGenericAllocationHandle * h, size_t n, const CUmemAllocationProp *p, unsigned long long flags), *h = 4)
DO(cuMemMap, (CUdeviceptr p, size_t n, size_t offset, CUmemGenericAllocationHandle h, unsigned long long flags), )
DO(cuMemSetAccess, (CUdeviceptr p, size_t n, const CUmemAccessDesc *d, size_t count), )
DO(cuMemHostRegister_v2, (void *p, size_t n, unsigned flags), )
DO(cuMemHostGetDevicePointer_v2, (CUdeviceptr * d, void *p, unsigned flags), *d = (CUdeviceptr)p)
