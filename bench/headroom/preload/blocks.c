// What fewer, longer blocks would bring, measured inside the unchanged program.
//
//   gcc -shared -fPIC -O2 -I$CUDA/include blocks.c -o blocks.so -ldl
//   export HEADROOM_CUBINS=FILE:FILE HEADROOM_OUT=FILE HEADROOM_TIMES=FILE
//   LD_PRELOAD=./blocks.so:libcuda.so.1 ./app
//
// The cubins hold kernels as they are, and beside each the same one in a loop over block numbers
// (NAME__blocks), as loop.py makes them. FILE.list has a line a kernel: its name and the variables
// that it uses, whose contents are copied from the program's. The second launch of a configuration
// is done again in turn by the kernel as it is and by the looped one with fewer blocks; the best
// number of blocks is then measured once more, on fresh samples.
#include "inside.h"
#include <cuda.h>

enum {
  REPEAT = 7, // launches of each number of blocks
  FRESH = 15, // launches of the kernel and of the best number of blocks, afterwards
  GRIDS = 12,
};

static CUmodule modules[16];
static char *files[16];
static int loaded = -1;

static void load(void) {
  char *list = strdup(getenv("HEADROOM_CUBINS") ? getenv("HEADROOM_CUBINS") : "");
  loaded = 0;
  for (char *p = strtok(list, ":"); p && loaded < 16; p = strtok(NULL, ":"))
    if (cuModuleLoad(&modules[loaded], p) == CUDA_SUCCESS) files[loaded++] = p;
}

// variables copies what the program has in the variables that a kernel uses; 0 where it can't.
static int variables(struct config *c, int number) {
  char path[4096], text[8192];
  snprintf(path, sizeof path, "%s.list", files[number]);
  FILE *in = fopen(path, "r");
  int ok = 0;
  while (in && fgets(text, sizeof text, in)) {
    char *word = strtok(text, " \n");
    if (!word || strcmp(word, c->name)) continue;
    ok = 1;
    CUfunction f;
    CUmodule theirs;
    while (ok && (word = strtok(NULL, " \n"))) {
      CUdeviceptr a, b;
      size_t n, m;
      ok = cudaGetFuncBySymbol(&f, c->f) == cudaSuccess &&
           cuFuncGetModule(&theirs, f) == CUDA_SUCCESS &&
           cuModuleGetGlobal(&a, &n, theirs, word) == CUDA_SUCCESS &&
           cuModuleGetGlobal(&b, &m, modules[number], word) == CUDA_SUCCESS && n == m &&
           cuMemcpyDtoD(b, a, n) == CUDA_SUCCESS;
    }
  }
  if (in) fclose(in);
  cudaGetLastError();
  return ok;
}

// once times a launch; with blocks 0 that of the kernel as it is.
static double once(CUfunction f, struct config *c, unsigned blocks, void **args, size_t dynamic,
                   cudaStream_t s) {
  void *more[256];
  size_t n = 0, offset, size;
  while (n < 255 && cuFuncGetParamInfo(f, n, &offset, &size) == CUDA_SUCCESS) n++;
  size_t own = blocks ? n - 1 : n;
  for (size_t i = 0; i < own; i++) more[i] = args[i];
  if (blocks) more[own] = &c->grid.x;
  cudaEventRecord(from, s);
  if (cuLaunchKernel(f, blocks ? blocks : c->grid.x, c->grid.y, c->grid.z, c->block.x, c->block.y,
                     c->block.z, dynamic, (CUstream)s, more, NULL) != CUDA_SUCCESS) return -1;
  cudaEventRecord(to, s);
  return elapsed();
}

// numbers gives the numbers of blocks to be tried, the launch's own last: n for each
// multiprocessor, and whole waves.
static int numbers(struct config *c, CUfunction f, size_t dynamic, unsigned *grids) {
  int resident = 0, sms = 0, n = 0;
  cudaDeviceGetAttribute(&sms, cudaDevAttrMultiProcessorCount, 0);
  if (cuOccupancyMaxActiveBlocksPerMultiprocessor(&resident, f,
        c->block.x * c->block.y * c->block.z, dynamic) != CUDA_SUCCESS || !resident) return 0;
  unsigned long long layers = (unsigned long long)c->grid.y * c->grid.z;
  int each[GRIDS] = {1, 2, 4, 8, 16, 32, resident, 2 * resident, 4 * resident, 8 * resident};
  for (int i = 0; i < 10; i++) {
    unsigned long long g = (unsigned long long)sms * each[i] / layers;
    int known = g < 1 || g >= c->grid.x;
    for (int k = 0; k < n; k++) known |= grids[k] == g;
    if (!known) grids[n++] = (unsigned)g;
  }
  grids[n++] = c->grid.x;
  return n;
}

static void measure(launch_fn real, struct config *c, double ms, void **args, size_t dynamic,
                    cudaStream_t s) {
  static double t[GRIDS + 1][FRESH];
  unsigned grids[GRIDS + 1];
  char name[4096];
  CUfunction f = NULL, looped = NULL;
  int number = 0;
  (void)real;
  if (ms <= 0.01 || ms >= 60 || c->grid.x < 2) return;
  if (loaded < 0) load();
  snprintf(name, sizeof name, "%s__blocks", c->name);
  for (; number < loaded; number++)
    if (cuModuleGetFunction(&f, modules[number], c->name) == CUDA_SUCCESS &&
        cuModuleGetFunction(&looped, modules[number], name) == CUDA_SUCCESS) break;
  if (number >= loaded || !variables(c, number)) return;
  if (dynamic > 48 << 10) {
    cuFuncSetAttribute(f, CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES, dynamic);
    cuFuncSetAttribute(looped, CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES, dynamic);
  }
  int n = numbers(c, looped, dynamic, grids), best = 0;
  if (!n) return;
  once(f, c, 0, args, dynamic, s); // what is loaded late is loaded here
  once(looped, c, grids[0], args, dynamic, s);
  int repeat = ms > 10 ? 3 : REPEAT;
  for (int r = 0; r < repeat; r++) {
    t[n][r] = once(f, c, 0, args, dynamic, s);
    for (int i = 0; i < n; i++) t[i][r] = once(looped, c, grids[i], args, dynamic, s);
  }
  double default_ms = median(t[n], repeat);
  double of[GRIDS];
  for (int i = 0; i < n; i++) {
    of[i] = median(t[i], repeat);
    if (i + 1 < n && of[i] > 0 && of[i] < of[best]) best = i;
  }
  int fresh = ms > 10 ? 5 : FRESH;
  for (int r = 0; r < fresh; r++) {
    t[0][r] = once(f, c, 0, args, dynamic, s);
    t[1][r] = once(looped, c, grids[best], args, dynamic, s);
  }
  FILE *out = line(c);
  if (!out) return;
  fprintf(out, "\"Default\":%.6f,\"Blocks\":{", default_ms);
  for (int i = 0; i < n; i++) fprintf(out, "%s\"%u\":%.6f", i ? "," : "", grids[i], of[i]);
  fprintf(out, "},\"Best\":%u,\"Again\":[%.6f,%.6f]}\n", grids[best], median(t[0], fresh),
          median(t[1], fresh));
  fclose(out);
}
