// Measures launches inside the unchanged program: what launch.c and blocks.c share.
//
// Every launch through the runtime comes here. Launches are counted and timed by configuration
// (kernel, grid, block); when a configuration has been launched once, measure, which the including
// file has, may do it again in other ways. Kernels that change their own input then work on other
// data: this measures time, never results. At the end, or when the program is told to end, the times
// go to $HEADROOM_TIMES, one JSON line a configuration; measure's lines go to $HEADROOM_OUT.
//
// The program has to be linked with -cudart shared. Streams that are being captured are left alone.
#define _GNU_SOURCE
#include <cuda_runtime_api.h>
#include <dlfcn.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

typedef cudaError_t (*launch_fn)(const void *, dim3, dim3, void **, size_t, cudaStream_t);

enum {
  MOST = 512,   // configurations
  TIMED = 2000, // launches of a configuration that are timed, the others count as their mean
};

struct config {
  const void *f;
  dim3 grid, block;
  const char *name;
  long count;
  double total; // ms
};

static struct config configs[MOST];
static int used, busy;
static cudaEvent_t from, to;

// measure is called once a configuration, behind its first launch, of which it is told the time.
static void measure(launch_fn real, struct config *c, double ms, void **args, size_t dynamic,
                    cudaStream_t s);

static struct config *find(const void *f, dim3 grid, dim3 block) {
  for (int i = 0; i < used; i++)
    if (configs[i].f == f && !memcmp(&configs[i].grid, &grid, sizeof grid) &&
        !memcmp(&configs[i].block, &block, sizeof block)) return &configs[i];
  if (used == MOST) return NULL;
  struct config *c = &configs[used++];
  c->f = f, c->grid = grid, c->block = block;
  if (cudaFuncGetName(&c->name, f) != cudaSuccess) c->name = "?";
  return c;
}

// elapsed gives the ms between the two events, -1 where they can't be had.
static double elapsed(void) {
  float ms = -1;
  if (cudaEventSynchronize(to) != cudaSuccess || cudaEventElapsedTime(&ms, from, to) != cudaSuccess)
    return -1;
  return ms;
}

static int order(const void *a, const void *b) {
  double x = *(double *)a, y = *(double *)b;
  return (x > y) - (x < y);
}

// median of n times, which it sorts; -1 where one launch failed.
static double median(double *t, int n) {
  qsort(t, n, sizeof *t, order);
  return t[0] < 0 ? -1 : t[n / 2];
}

// line begins measure's line, NULL where it can't be written.
static FILE *line(const struct config *c) {
  FILE *out = getenv("HEADROOM_OUT") ? fopen(getenv("HEADROOM_OUT"), "a") : NULL;
  if (out)
    fprintf(out, "{\"Kernel\":\"%s\",\"Grid\":[%u,%u,%u],\"Block\":[%u,%u,%u],", c->name, c->grid.x,
            c->grid.y, c->grid.z, c->block.x, c->block.y, c->block.z);
  return out;
}

static cudaError_t launch(launch_fn real, const void *f, dim3 grid, dim3 block, void **args,
                          size_t dynamic, cudaStream_t s) {
  enum cudaStreamCaptureStatus capturing = cudaStreamCaptureStatusNone;
  if (!getenv("HEADROOM_TIMES") || busy || (cudaStreamIsCapturing(s, &capturing), capturing))
    return real(f, grid, block, args, dynamic, s);
  busy = 1;
  if (!from) cudaEventCreate(&from), cudaEventCreate(&to);
  struct config *c = find(f, grid, block);
  cudaError_t e;
  if (!c) e = real(f, grid, block, args, dynamic, s);
  else if (c->count >= TIMED) {
    e = real(f, grid, block, args, dynamic, s);
    c->total += c->total / c->count, c->count++;
  } else {
    cudaEventRecord(from, s);
    e = real(f, grid, block, args, dynamic, s);
    cudaEventRecord(to, s);
    double ms = elapsed();
    c->count++, c->total += ms > 0 ? ms : 0;
    if (c->count == 2 && e == cudaSuccess) measure(real, c, ms, args, dynamic, s);
  }
  busy = 0;
  return e;
}

cudaError_t cudaLaunchKernel(const void *f, dim3 grid, dim3 block, void **args, size_t dynamic,
                             cudaStream_t s) {
  static launch_fn real;
  if (!real) real = (launch_fn)dlsym(RTLD_NEXT, "cudaLaunchKernel");
  return launch(real, f, grid, block, args, dynamic, s);
}

cudaError_t __cudaLaunchKernel(cudaKernel_t f, dim3 grid, dim3 block, void **args, size_t dynamic,
                               cudaStream_t s) {
  static launch_fn real;
  if (!real) real = (launch_fn)dlsym(RTLD_NEXT, "__cudaLaunchKernel");
  return launch(real, (const void *)f, grid, block, args, dynamic, s);
}

__attribute__((destructor)) static void end(void) {
  FILE *out = getenv("HEADROOM_TIMES") ? fopen(getenv("HEADROOM_TIMES"), "a") : NULL;
  for (int i = 0; out && i < used; i++)
    fprintf(out, "{\"Kernel\":\"%s\",\"Grid\":[%u,%u,%u],\"Block\":[%u,%u,%u],\"Launches\":%ld,"
            "\"Milliseconds\":%.6f}\n", configs[i].name, configs[i].grid.x, configs[i].grid.y,
            configs[i].grid.z, configs[i].block.x, configs[i].block.y, configs[i].block.z,
            configs[i].count, configs[i].total);
  if (out) fclose(out);
}

// A program that takes too long is told to end.
static void told(int number) { (void)number; end(); _exit(0); }

__attribute__((constructor)) static void begin(void) {
  if (!getenv("HEADROOM_TIMES")) return;
  signal(SIGINT, told);
  signal(SIGTERM, told);
}
