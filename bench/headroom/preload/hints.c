// What telling ptxas how often each basic block runs would bring, and what launches that begin
// while the one before ends; measured inside the unchanged program.
//
//   gcc -shared -fPIC -O2 -I$CUDA/include hints.c -o hints.so -ldl
//   export HEADROOM_PTX=FILE:FILE HEADROOM_OUT=FILE HEADROOM_TIMES=FILE
//   LD_PRELOAD=./hints.so:libcuda.so.1 ./app
//
// Beside each FILE, of which hints made the variants: FILE.list, FILE.cubin, FILE.freq.cubin,
// FILE.wait.cubin and FILE.both.cubin. The second launch of a configuration is done again in turn by
// the kernel as it is and by the one with frequencies; and twenty launches in a row as they are, and
// with programmatic stream serialization by the kernels that wait at their beginning.
#include "inside.h"
#include <cuda.h>

enum { REPEAT = 11, ROW = 20, ROWS = 5, KINDS = 4 };
static const char *kinds[KINDS] = {"", ".freq", ".wait", ".both"};

static CUmodule modules[16][KINDS];
static char *files[16];
static int loaded = -1;

static void load(void) {
  char *list = strdup(getenv("HEADROOM_PTX") ? getenv("HEADROOM_PTX") : "");
  loaded = 0;
  for (char *p = strtok(list, ":"); p && loaded < 16; p = strtok(NULL, ":")) {
    char path[4096];
    int ok = 1;
    for (int k = 0; k < KINDS; k++) {
      snprintf(path, sizeof path, "%s%s.cubin", p, kinds[k]);
      CUresult e = cuModuleLoad(&modules[loaded][k], path);
      if (e != CUDA_SUCCESS && k == 0) ok = 0;
      if (e != CUDA_SUCCESS) modules[loaded][k] = NULL;
    }
    if (ok) files[loaded++] = p;
  }
}

// found tells whether a file has the kernel: 2 with counts, else 1; what the program has in its
// variables is copied to the file's modules. 0: it has not, or that can't be copied.
static int found(struct config *c, int number) {
  char path[4096], text[8192];
  snprintf(path, sizeof path, "%s.list", files[number]);
  FILE *in = fopen(path, "r");
  int ok = 0;
  while (in && fgets(text, sizeof text, in)) {
    char *word = strtok(text, " \n");
    if (!word || strcmp(word, c->name)) continue;
    word = strtok(NULL, " \n");
    ok = word && *word == '1' ? 2 : 1;
    CUfunction f;
    CUmodule theirs;
    while (ok && (word = strtok(NULL, " \n")))
      for (int k = 0; ok && k < KINDS; k++) {
        CUdeviceptr a, b;
        size_t n, m;
        if (!modules[number][k]) continue;
        if (cudaGetFuncBySymbol(&f, c->f) != cudaSuccess ||
            cuFuncGetModule(&theirs, f) != CUDA_SUCCESS ||
            cuModuleGetGlobal(&a, &n, theirs, word) != CUDA_SUCCESS ||
            cuModuleGetGlobal(&b, &m, modules[number][k], word) != CUDA_SUCCESS || n != m ||
            cuMemcpyDtoD(b, a, n) != CUDA_SUCCESS) ok = 0;
      }
  }
  if (in) fclose(in);
  cudaGetLastError();
  return ok;
}

// row times n launches in a row, ms each; early: with programmatic stream serialization.
static double row(CUfunction f, struct config *c, void **args, size_t dynamic, cudaStream_t s,
                  int n, int early) {
  CUlaunchAttribute a = {.id = CU_LAUNCH_ATTRIBUTE_PROGRAMMATIC_STREAM_SERIALIZATION};
  a.value.programmaticStreamSerializationAllowed = 1;
  CUlaunchConfig l = {c->grid.x, c->grid.y, c->grid.z, c->block.x, c->block.y, c->block.z,
                      dynamic, (CUstream)s, early ? &a : NULL, early};
  cudaEventRecord(from, s);
  for (int i = 0; i < n; i++)
    if (cuLaunchKernelEx(&l, f, args, NULL) != CUDA_SUCCESS) return -1;
  cudaEventRecord(to, s);
  double ms = elapsed();
  return ms < 0 ? -1 : ms / n;
}

static void measure(launch_fn real, struct config *c, double ms, void **args, size_t dynamic,
                    cudaStream_t s) {
  static double t[2][REPEAT], rows[KINDS][ROWS];
  CUfunction f[KINDS] = {0};
  int number = 0, has = 0;
  (void)real;
  if (ms <= 0 || ms >= 60) return;
  if (loaded < 0) load();
  for (; number < loaded; number++)
    if (cuModuleGetFunction(&f[0], modules[number][0], c->name) == CUDA_SUCCESS) break;
  if (number >= loaded || !(has = found(c, number))) return;
  for (int k = 0; k < KINDS; k++) {
    if (!modules[number][k] ||
        cuModuleGetFunction(&f[k], modules[number][k], c->name) != CUDA_SUCCESS) {
      f[k] = NULL;
      continue;
    }
    if (dynamic > 48 << 10)
      cuFuncSetAttribute(f[k], CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES, dynamic);
    row(f[k], c, args, dynamic, s, 1, 0); // what is loaded late is loaded here
  }
  int repeat = ms > 10 ? 3 : REPEAT, freq = has == 2 && f[1];
  for (int r = 0; freq && r < repeat; r++)
    for (int k = 0; k < 2; k++) t[k][r] = row(f[k], c, args, dynamic, s, 1, 0);
  int many = ms < 2 && f[2] && f[3];
  for (int r = 0; many && r < ROWS; r++)
    for (int k = 0; k < KINDS; k++)
      if (k != 1) rows[k][r] = row(f[k], c, args, dynamic, s, ROW, k > 1);
  FILE *out = line(c);
  if (!out) return;
  fprintf(out, "\"Default\":%.6f", ms);
  if (freq)
    fprintf(out, ",\"Frequency\":[%.6f,%.6f]", median(t[0], repeat), median(t[1], repeat));
  if (many)
    fprintf(out, ",\"Row\":[%.6f,%.6f,%.6f]", median(rows[0], ROWS), median(rows[2], ROWS),
            median(rows[3], ROWS));
  fprintf(out, "}\n");
  fclose(out);
}
