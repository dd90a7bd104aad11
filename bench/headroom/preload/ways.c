// What other ways of launching would bring, measured inside the unchanged program.
//
//   gcc -shared -fPIC -O2 -I$CUDA/include ways.c -o ways.so -ldl
//   HEADROOM_TIMES=FILE HEADROOM_OUT=FILE LD_PRELOAD=./ways.so:libcuda.so.1 ./app
//
// The second launch of a configuration is done again: with other carveouts of shared memory, in
// clusters of blocks, with an access policy window of the L2 cache on the allocation behind each
// pointer argument, and with other granularities of what L2 fetches. The best way of each class is
// then measured once more, in turns with the launch as it is.
#include "inside.h"
#include <cuda.h>

enum { REPEAT = 5, FRESH = 11, WAYS = 64 };
enum { PLAIN, CARVEOUT, CLUSTER, WINDOW, STREAMING, GRANULARITY, CLASSES };
static const char *classes[] = {"plain", "carveout", "cluster", "window", "streaming",
                                "granularity"};

struct way {
  int class, value;
  void *base;
  size_t bytes;
  float ratio;
};

static size_t persisting; // bytes of L2 that may be set aside

static double once(struct config *c, const struct way *w, void **args, size_t dynamic,
                   cudaStream_t s) {
  cudaLaunchConfig_t l = {c->grid, c->block, dynamic, s, NULL, 0};
  cudaLaunchAttribute a;
  size_t before = 0;
  memset(&a, 0, sizeof a);
  if (w->class == CARVEOUT)
    cudaFuncSetAttribute(c->f, cudaFuncAttributePreferredSharedMemoryCarveout, w->value);
  if (w->class == CLUSTER) {
    a.id = cudaLaunchAttributeClusterDimension;
    a.val.clusterDim.x = w->value, a.val.clusterDim.y = a.val.clusterDim.z = 1;
    l.attrs = &a, l.numAttrs = 1;
  }
  if (w->class == WINDOW || w->class == STREAMING) {
    a.id = cudaLaunchAttributeAccessPolicyWindow;
    a.val.accessPolicyWindow.base_ptr = w->base;
    a.val.accessPolicyWindow.num_bytes = w->bytes;
    a.val.accessPolicyWindow.hitRatio = w->ratio;
    a.val.accessPolicyWindow.hitProp =
      w->class == WINDOW ? cudaAccessPropertyPersisting : cudaAccessPropertyStreaming;
    a.val.accessPolicyWindow.missProp =
      w->value ? cudaAccessPropertyStreaming : cudaAccessPropertyNormal;
    l.attrs = &a, l.numAttrs = 1;
  }
  if (w->class == WINDOW) cudaDeviceSetLimit(cudaLimitPersistingL2CacheSize, persisting);
  if (w->class == GRANULARITY) {
    cudaDeviceGetLimit(&before, cudaLimitMaxL2FetchGranularity);
    cudaDeviceSetLimit(cudaLimitMaxL2FetchGranularity, w->value);
  }
  double ms = -1;
  // a launch that is not timed first: what is in the caches is this way's own
  int n = w->class == WINDOW || w->class == CARVEOUT || w->class == GRANULARITY ? 2 : 1;
  for (int i = 0; i < n; i++) {
    cudaEventRecord(from, s);
    cudaError_t e = cudaLaunchKernelExC(&l, c->f, args);
    cudaEventRecord(to, s);
    ms = elapsed();
    if (e != cudaSuccess) ms = -1;
  }
  if (w->class == CARVEOUT)
    cudaFuncSetAttribute(c->f, cudaFuncAttributePreferredSharedMemoryCarveout, -1);
  if (w->class == WINDOW) {
    cudaCtxResetPersistingL2Cache();
    cudaDeviceSetLimit(cudaLimitPersistingL2CacheSize, 0);
  }
  if (w->class == GRANULARITY) cudaDeviceSetLimit(cudaLimitMaxL2FetchGranularity, before);
  cudaGetLastError();
  return ms;
}

static int arguments(struct config *c, void **args, struct way *ways, int n) {
  CUfunction f;
  int most = 0, device = 0;
  cudaGetDevice(&device);
  cudaDeviceGetAttribute(&most, cudaDevAttrMaxAccessPolicyWindowSize, device);
  if (cudaGetFuncBySymbol(&f, c->f) != cudaSuccess) {
    cudaGetLastError();
    if (cuKernelGetFunction(&f, (CUkernel)c->f) != CUDA_SUCCESS) return n;
  }
  size_t offset, size;
  for (size_t i = 0; n + 3 < WAYS && cuFuncGetParamInfo(f, i, &offset, &size) == CUDA_SUCCESS;
       i++) {
    CUdeviceptr base;
    size_t bytes;
    unsigned kind = 0;
    void *p;
    if (size != 8) continue;
    memcpy(&p, args[i], 8);
    if (!p || cuPointerGetAttribute(&kind, CU_POINTER_ATTRIBUTE_MEMORY_TYPE, (CUdeviceptr)p) ||
        kind != CU_MEMORYTYPE_DEVICE || cuMemGetAddressRange(&base, &bytes, (CUdeviceptr)p))
      continue;
    int known = bytes < 65536;
    for (int k = 0; k < n; k++) known |= ways[k].base == (void *)base;
    if (known) continue;
    size_t window = bytes < (size_t)most ? bytes : (size_t)most;
    float ratio = window <= persisting ? 1 : (float)persisting / window;
    ways[n++] = (struct way){WINDOW, 0, (void *)base, window, ratio};
    ways[n++] = (struct way){WINDOW, 1, (void *)base, window, ratio};
    ways[n++] = (struct way){STREAMING, 0, (void *)base, window, 1};
  }
  return n;
}

static void measure(launch_fn real, struct config *c, double ms, void **args, size_t dynamic,
                    cudaStream_t s) {
  static double t[WAYS][FRESH], again[2][FRESH];
  struct way ways[WAYS] = {{PLAIN}};
  int n = 1, device = 0, set = 0;
  (void)real;
  if (ms <= 0.01 || ms >= 60) return;
  if (!persisting) {
    cudaGetDevice(&device);
    cudaDeviceGetAttribute(&set, cudaDevAttrMaxPersistingL2CacheSize, device);
    persisting = set;
  }
  int carveouts[] = {0, 12, 25, 50, 75, 100}, clusters[] = {2, 4, 8}, grains[] = {32, 64, 128};
  for (int i = 0; i < 6; i++) ways[n++] = (struct way){CARVEOUT, carveouts[i]};
  for (int i = 0; i < 3; i++)
    if (c->grid.x % clusters[i] == 0) ways[n++] = (struct way){CLUSTER, clusters[i]};
  for (int i = 0; i < 3; i++) ways[n++] = (struct way){GRANULARITY, grains[i]};
  n = arguments(c, args, ways, n);
  double budget = 400; // ms a configuration
  int repeat = ms * n * REPEAT * 1.6 < budget ? REPEAT : 3;
  if (ms * n * 3 * 1.6 > 3 * budget) return;
  for (int r = 0; r < repeat; r++)
    for (int i = 0; i < n; i++) t[i][r] = once(c, &ways[i], args, dynamic, s);
  int best[CLASSES];
  double least[CLASSES];
  memset(best, -1, sizeof best);
  for (int i = 0; i < n; i++) {
    double m = median(t[i], repeat);
    int k = ways[i].class;
    if (m > 0 && (best[k] < 0 || m < least[k])) best[k] = i, least[k] = m;
  }
  if (best[PLAIN] < 0) return;
  FILE *out = line(c);
  if (!out) return;
  fprintf(out, "\"Default\":%.6f,\"Ways\":{", least[PLAIN]);
  const char *comma = "";
  for (int k = 1; k < CLASSES; k++) {
    if (best[k] < 0) continue;
    const struct way *w = &ways[best[k]];
    for (int r = 0; r < FRESH; r++) {
      // the plain launch behind one of its own too, so that both find caches as they leave them
      once(c, &ways[0], args, dynamic, s);
      again[0][r] = once(c, &ways[0], args, dynamic, s);
      again[1][r] = once(c, w, args, dynamic, s);
    }
    fprintf(out, "%s\"%s\":{\"Value\":%d,\"Bytes\":%zu,\"First\":%.6f,\"Again\":[%.6f,%.6f]}", comma,
            classes[k], w->value, w->bytes, least[k], median(again[0], FRESH),
            median(again[1], FRESH));
    comma = ",";
  }
  fprintf(out, "}}\n");
  fclose(out);
}
