// Finds the driver's functions in the libcuda that is already in the process.
#define _GNU_SOURCE
#include "driver.h"
#include <dlfcn.h>
#include <stddef.h>

struct driver cu;

const char *driver_find(void) {
  // RTLD_NOLOAD: never load a driver that the application has not loaded itself.
  void *lib = dlopen("libcuda.so.1", RTLD_NOLOAD | RTLD_LAZY);
  if (!lib) return "libcuda.so.1";
#define X(field, declaration, symbol, needed) \
  cu.field = (__typeof__(&declaration))dlsym(lib, symbol); \
  if (needed && !cu.field) return symbol;
  DRIVER_FUNCTIONS(X)
#undef X
  cu.GraphGetEdges = (__typeof__(cu.GraphGetEdges))dlsym(lib, "cuGraphGetEdges");
  cu.GraphKernelNodeGetParams = (__typeof__(cu.GraphKernelNodeGetParams))dlsym(lib, "cuGraphKernelNodeGetParams_v2");
  cu.StreamGetCtx = (__typeof__(cu.StreamGetCtx))dlsym(lib, "cuStreamGetCtx");
  cu.StreamGetId = (__typeof__(cu.StreamGetId))dlsym(lib, "cuStreamGetId");
  return NULL;
}
