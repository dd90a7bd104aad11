// What other launch shapes would bring, measured inside the unchanged program.
//
//   gcc -shared -fPIC -O2 -I$CUDA/include launch.c -o launch.so -ldl
//   HEADROOM_TIMES=FILE LD_PRELOAD=./launch.so ./app     every kernel's time
//   ... with HEADROOM_OUT=FILE HEADROOM_KERNELS=LIST     and those of other shapes
//
// For each kernel of the list ("NAME XYZ", where XYZ are 1 for each dimension whose index it uses)
// the second launch of a configuration is done again with blocks of other sizes and as many threads
// in all.
#include "inside.h"

enum { REPEAT = 7 };

static const int shapes[][2] = {
  {32, 1}, {64, 1}, {96, 1}, {128, 1}, {192, 1}, {256, 1}, {384, 1}, {512, 1}, {768, 1}, {1024, 1},
  {16, 16}, {32, 2}, {32, 4}, {32, 8}, {32, 16}, {32, 32}, {64, 2}, {64, 4}, {64, 8}, {128, 2},
  {128, 4}, {256, 2}, {256, 4}, {16, 8}, {8, 8}, {16, 4}};

// dimensions gives a bit for each dimension whose index a kernel uses, 0 if it is not in the list.
static int dimensions(const char *kernel) {
  const char *list = getenv("HEADROOM_KERNELS");
  FILE *in = list ? fopen(list, "r") : NULL;
  char name[4096], dims[8];
  int found = 0;
  while (in && fscanf(in, "%4095s %7s", name, dims) == 2)
    if (!strcmp(name, kernel))
      found = (dims[0] == '1') | (dims[1] == '1') << 1 | (dims[2] == '1') << 2;
  if (in) fclose(in);
  return found;
}

static double once(launch_fn real, struct config *c, dim3 grid, dim3 block, void **args,
                   size_t dynamic, cudaStream_t s) {
  cudaEventRecord(from, s);
  if (real(c->f, grid, block, args, dynamic, s) != cudaSuccess) { cudaGetLastError(); return -1; }
  cudaEventRecord(to, s);
  return elapsed();
}

static void measure(launch_fn real, struct config *c, double ms, void **args, size_t dynamic,
                    cudaStream_t s) {
  enum { N = sizeof shapes / sizeof *shapes };
  static double t[N + 1][REPEAT];
  dim3 grids[N], blocks[N];
  int ok[N], eligible = dimensions(c->name);
  if (!eligible || ms <= 0.005 || ms >= 200) return;
  struct cudaFuncAttributes attributes;
  int most = 256;
  if (cudaFuncGetAttributes(&attributes, c->f) == cudaSuccess) most = attributes.maxThreadsPerBlock;
  unsigned x = c->grid.x * c->block.x, y = c->grid.y * c->block.y;
  for (int i = 0; i < N; i++) {
    unsigned bx = shapes[i][0], by = shapes[i][1];
    ok[i] = bx * by * c->block.z <= (unsigned)most && x % bx == 0 && y % by == 0 && y / by <= 65535 &&
            !(bx == c->block.x && by == c->block.y) && !(by > 1 && !(eligible & 2));
    blocks[i] = (dim3){bx, by, c->block.z}, grids[i] = (dim3){x / bx, y / by, c->grid.z};
  }
  for (int r = 0; r < REPEAT; r++) {
    t[N][r] = once(real, c, c->grid, c->block, args, dynamic, s);
    for (int i = 0; i < N; i++)
      if (ok[i]) t[i][r] = once(real, c, grids[i], blocks[i], args, dynamic, s);
  }
  FILE *out = line(c);
  if (!out) return;
  fprintf(out, "\"Default\":%.6f,\"Shapes\":{", median(t[N], REPEAT));
  const char *comma = "";
  for (int i = 0; i < N; i++) {
    if (!ok[i]) continue;
    fprintf(out, "%s\"%dx%d\":%.6f", comma, shapes[i][0], shapes[i][1], median(t[i], REPEAT));
    comma = ",";
  }
  fprintf(out, "}}\n");
  fclose(out);
}
