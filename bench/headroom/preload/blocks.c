// What fewer, longer blocks would bring, measured inside the unchanged program.
//
//   gcc -shared -fPIC -O2 -I$CUDA/include blocks.c -o blocks.so -ldl -lcuda
//   BLOCKS_CUBINS=FILE:FILE BLOCKS_OUT=FILE LD_PRELOAD=./blocks.so ./app      (the program linked with -cudart shared)
//
// The cubins hold kernels in a loop over block numbers, as loop.py makes them. The second launch of a configuration is done again by such
// a kernel with fewer blocks, and timed in turn with the program's own. Kernels that change their own input then work on other data:
// this measures time, never results. One JSON line a configuration goes to BLOCKS_OUT.
#define _GNU_SOURCE
#include <cuda.h>
#include <cuda_runtime_api.h>
#include <dlfcn.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

typedef cudaError_t (*launch_fn)(const void *, dim3, dim3, void **, size_t, cudaStream_t);
enum { REPEAT = 9, MOST = 512, GRIDS = 6 };
struct config { const void *f; dim3 grid, block; const char *name; long count; double total; };
static struct config configs[MOST];
static CUmodule modules[16];
static int used, loaded = -1, busy;
static cudaEvent_t from, to;

static CUfunction looped(const char *name) {
  CUfunction f = NULL;
  if (loaded < 0) {
    char *list = strdup(getenv("BLOCKS_CUBINS") ? getenv("BLOCKS_CUBINS") : "");
    loaded = 0;
    for (char *p = strtok(list, ":"); p && loaded < 16; p = strtok(NULL, ":")) loaded += cuModuleLoad(&modules[loaded], p) == CUDA_SUCCESS;
    free(list);
  }
  for (int i = 0; i < loaded && !f; i++) if (cuModuleGetFunction(&f, modules[i], name) != CUDA_SUCCESS) f = NULL;
  return f;
}

static int order(const void *a, const void *b) { double x = *(double *)a, y = *(double *)b; return x < y ? -1 : x > y; }

static double timed(launch_fn real, struct config *c, CUfunction f, unsigned blocks, void **args, size_t dynamic, cudaStream_t s) {
  void *more[256];
  size_t n = 0, offset, size;
  float ms = -1;
  while (f && n < 255 && cuFuncGetParamInfo(f, n, &offset, &size) == CUDA_SUCCESS) n++;
  for (size_t i = 0; i + 1 < n; i++) more[i] = args[i];
  if (n) more[n - 1] = &c->grid.x;
  cudaEventRecord(from, s);
  if (f) {
    if (cuLaunchKernel(f, blocks, c->grid.y, c->grid.z, c->block.x, c->block.y, c->block.z, dynamic, (CUstream)s, more, NULL) != CUDA_SUCCESS) return -1;
  } else if (real(c->f, c->grid, c->block, args, dynamic, s) != cudaSuccess) { cudaGetLastError(); return -1; }
  cudaEventRecord(to, s);
  if (cudaEventSynchronize(to) != cudaSuccess || cudaEventElapsedTime(&ms, from, to) != cudaSuccess) return -1;
  return ms;
}

static void measure(launch_fn real, struct config *c, void **args, size_t dynamic, cudaStream_t s) {
  CUfunction f = looped(c->name);
  static double t[GRIDS + 1][REPEAT];
  unsigned grids[GRIDS];
  int n = 0, resident = 0, sms = 0;
  cudaDeviceGetAttribute(&sms, cudaDevAttrMultiProcessorCount, 0);
  if (!f || cuOccupancyMaxActiveBlocksPerMultiprocessor(&resident, f, c->block.x * c->block.y * c->block.z, dynamic) != CUDA_SUCCESS || !resident) return;
  for (int k = 1; k <= 16 && n < GRIDS - 1; k *= 2) { // one wave of blocks, then more
    unsigned long long g = (unsigned long long)sms * resident * k / ((unsigned long long)c->grid.y * c->grid.z);
    if (g >= 1 && g < c->grid.x) grids[n++] = (unsigned)g;
  }
  grids[n++] = c->grid.x; // what the loop itself costs
  for (int r = 0; r < REPEAT; r++) {
    t[n][r] = timed(real, c, NULL, 0, args, dynamic, s);
    for (int i = 0; i < n; i++) t[i][r] = timed(real, c, f, grids[i], args, dynamic, s);
  }
  FILE *out = fopen(getenv("BLOCKS_OUT") ? getenv("BLOCKS_OUT") : "blocks.jsonl", "a");
  if (!out) return;
  qsort(t[n], REPEAT, sizeof(double), order);
  fprintf(out, "{\"Kernel\":\"%s\",\"Grid\":[%u,%u,%u],\"Block\":[%u,%u,%u],\"Default\":%.6f,\"Blocks\":{", c->name, c->grid.x, c->grid.y, c->grid.z, c->block.x,
          c->block.y, c->block.z, t[n][REPEAT / 2]);
  for (int i = 0; i < n; i++) {
    qsort(t[i], REPEAT, sizeof(double), order);
    fprintf(out, "%s\"%u\":%.6f", i ? "," : "", grids[i], t[i][REPEAT / 2]);
  }
  fprintf(out, "}}\n");
  fclose(out);
}

static cudaError_t launch(launch_fn real, const void *f, dim3 grid, dim3 block, void **args, size_t dynamic, cudaStream_t s) {
  enum cudaStreamCaptureStatus capturing = cudaStreamCaptureStatusNone;
  if (busy || (cudaStreamIsCapturing(s, &capturing), capturing)) return real(f, grid, block, args, dynamic, s);
  busy = 1;
  if (!from) cudaEventCreate(&from), cudaEventCreate(&to);
  struct config *c = configs;
  while (c < configs + used && (c->f != f || memcmp(&c->grid, &grid, sizeof grid) || memcmp(&c->block, &block, sizeof block))) c++;
  cudaError_t e;
  if (c == configs + MOST) e = real(f, grid, block, args, dynamic, s);
  else {
    if (c == configs + used) {
      used++;
      *c = (struct config){.f = f, .grid = grid, .block = block, .name = "?"};
      if (cudaFuncGetName(&c->name, f) != cudaSuccess) c->name = "?";
    }
    double ms = 0;
    if (c->count < 500) {
      float x = 0;
      cudaEventRecord(from, s);
      e = real(f, grid, block, args, dynamic, s);
      cudaEventRecord(to, s);
      if (cudaEventSynchronize(to) == cudaSuccess && cudaEventElapsedTime(&x, from, to) == cudaSuccess) ms = x;
    } else e = real(f, grid, block, args, dynamic, s), ms = c->total / c->count;
    c->count++, c->total += ms;
    if (c->count == 2 && ms > 0.005 && ms < 200) measure(real, c, args, dynamic, s);
  }
  busy = 0;
  return e;
}

cudaError_t cudaLaunchKernel(const void *f, dim3 grid, dim3 block, void **args, size_t dynamic, cudaStream_t s) {
  static launch_fn real;
  if (!real) real = (launch_fn)dlsym(RTLD_NEXT, "cudaLaunchKernel");
  return launch(real, f, grid, block, args, dynamic, s);
}

cudaError_t __cudaLaunchKernel(cudaKernel_t f, dim3 grid, dim3 block, void **args, size_t dynamic, cudaStream_t s) {
  static launch_fn real;
  if (!real) real = (launch_fn)dlsym(RTLD_NEXT, "__cudaLaunchKernel");
  return launch(real, (const void *)f, grid, block, args, dynamic, s);
}

__attribute__((destructor)) static void end(void) {
  FILE *out = getenv("BLOCKS_TIMES") ? fopen(getenv("BLOCKS_TIMES"), "a") : NULL;
  for (int i = 0; out && i < used; i++)
    fprintf(out, "{\"Kernel\":\"%s\",\"Grid\":[%u,%u,%u],\"Block\":[%u,%u,%u],\"Launches\":%ld,\"Milliseconds\":%.6f}\n", configs[i].name, configs[i].grid.x,
            configs[i].grid.y, configs[i].grid.z, configs[i].block.x, configs[i].block.y, configs[i].block.z, configs[i].count, configs[i].total);
  if (out) fclose(out);
}

static void told(int number) { (void)number; end(); _exit(0); }  // a program that takes too long is told to end

__attribute__((constructor)) static void begin(void) { if (getenv("BLOCKS_TIMES")) signal(SIGINT, told); }
