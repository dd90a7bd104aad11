// Does a captured launch again, in a process that is nobody's: replay CAPTURE STATUS [LAUNCHES [VARIATION...]]
//
//   memory   the ranges that the launch reached stand at their old addresses. cuMemAddressReserve follows a hint exactly where 32 MiB
//            and more are asked for at a multiple of 32 MiB, in a place that was free when the driver started (measured: H200, driver
//            580; smaller ones come from the driver's own stock). So whole windows are reserved, and slabs of 2 MiB mapped in them.
//            Where something of ours is in the way, the process begins anew: the kernel of the operating system then gives other addresses.
//   textures the objects are made anew over memory and over arrays of the same kind, under their old handles where the driver gives them
//   launch   the recorded cubin, attributes, limits, variables, arguments.
//   check    the first launch must leave what it left in the application, chunk by chunk; else nothing more is done. With a + in front of
//            LAUNCHES a launch goes on that leaves something else each time it is done.
//
// Then come LAUNCHES more, each from memory as it was: they are the agent's, which CUDA_INJECTION64_PATH may bring into this process.
// Each VARIATION (a number) is one more launch, with other floating-point numbers in the ranges that the capture names for that.
//
// STATUS gets one line for each step. Exit codes: 0 done; 1 no GPU, or a capture that can't be read; 3 not here (another device, addresses that can't be
// had); 4 the launch left other bits, or did not end; 5 the launch, or the driver, failed.
#define _GNU_SOURCE
#include "embed.h"
#include "hash.h"
#include "prints.h"
#include "replay.h"
#include "vary.h"
#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

EMBED(gnvcc_hash_ptx, "hash.ptx");

#define TRIES 16    // processes that are begun for one replay
#define LONGEST 10 // seconds for a launch, of which the program's took one at most

struct driver cu;
static FILE *status;

void tell(const char *format, ...) {
  va_list args;
  va_start(args, format);
  vfprintf(status, format, args);
  va_end(args);
  fputc('\n', status);
  fflush(status);
}

// Says that a step is over, and when: gnvcc adds the steps up.
static void over(const char *step) {
  struct timespec t;
  clock_gettime(CLOCK_REALTIME, &t);
  tell("over %lld.%06ld %s", (long long)t.tv_sec, t.tv_nsec / 1000, step);
}

_Noreturn void stop(int code, const char *format, ...) {
  va_list args;
  va_start(args, format);
  fputs("stop ", status);
  vfprintf(status, format, args);
  va_end(args);
  fputc('\n', status);
  fflush(status);
  exit(code); // the agent takes its leave
}

static const char *words(CUresult r) {
  const char *text = NULL;
  cu.GetErrorString(r, &text);
  return text ? text : "unknown error";
}

void need(CUresult r, const char *doing) {
  if (r != CUDA_SUCCESS) stop(5, "%s: %s (CUDA error %d)", doing, words(r), (int)r);
}

static void find_driver(void) {
  void *lib = dlopen("libcuda.so.1", RTLD_NOW);
  if (!lib) stop(1, "there is no NVIDIA driver: %s", dlerror());
#define X(field, declaration, symbol, needed) \
  cu.field = (__typeof__(&declaration))dlsym(lib, symbol); \
  if (needed && !cu.field) stop(1, "this driver has no %s", symbol);
  DRIVER_FUNCTIONS(X)
#undef X
}

// Begins the process anew: its own libraries, and the driver's memory, then lie elsewhere.
_Noreturn static void again(char **argv, const char *why) {
  const char *text = getenv("GNVCC_REPLAY_TRY");
  int n = text ? atoi(text) : 0;
  if (n + 1 >= TRIES) stop(3, "the addresses are not available: %s, in each of %d processes", why, TRIES);
  char number[16];
  snprintf(number, sizeof number, "%d", n + 1);
  setenv("GNVCC_REPLAY_TRY", number, 1);
  tell("again %s", why);
  execv("/proc/self/exe", argv);
  stop(3, "can't restart the process: %s", strerror(errno));
}

// ---- The kernel.

static CUmodule module;
static CUfunction function;

static void set_attribute(CUfunction_attribute which, int v) {
  int own = 0;
  need(cu.FuncGetAttribute(&own, which, function), "reading the kernel's attributes");
  if (own != v) need(cu.FuncSetAttribute(function, which, v), "setting the kernel's attributes");
}

static void load_kernel(const struct capture *c) {
  need(cu.ModuleLoadData(&module, c->cubin), "loading the cubin");
  need(cu.ModuleGetFunction(&function, module, c->kernel), "finding the kernel in the cubin");
  set_attribute(CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES, (int)c->most);
  set_attribute(CU_FUNC_ATTRIBUTE_PREFERRED_SHARED_MEMORY_CARVEOUT, (int)c->carveout);
  if (c->own_cache != 255) need(cu.FuncSetCacheConfig(function, (CUfunc_cache)c->own_cache), "setting the kernel's cache configuration");
  for (size_t i = 0; i < c->variables; i++) {
    struct variable *v = &c->variable[i];
    size_t size = 0;
    need(cu.ModuleGetGlobal(&v->address, &size, module, v->name), "finding a variable");
    if (size != v->size) stop(1, "variable %s has %zu bytes in the cubin, and %llu in the capture", v->name, size, (unsigned long long)v->size);
  }
}

static CUresult launch(const struct capture *c) {
  void *params[MOST_PARAMETERS + 1];
  for (uint32_t i = 0; i < c->parameters; i++) params[i] = (void *)(c->arguments + c->offset[i]);
  if (c->attributes > 0 && cu.LaunchKernelEx) {
    CUlaunchConfig g = {.gridDimX = c->grid[0], .gridDimY = c->grid[1], .gridDimZ = c->grid[2], .blockDimX = c->block[0], .blockDimY = c->block[1],
                        .blockDimZ = c->block[2], .sharedMemBytes = c->dynamic, .attrs = (CUlaunchAttribute *)c->attribute, .numAttrs = c->attributes};
    return cu.LaunchKernelEx(&g, function, params, NULL);
  }
  return cu.LaunchKernel(function, c->grid[0], c->grid[1], c->grid[2], c->block[0], c->block[1], c->block[2], c->dynamic, NULL, params, NULL);
}

// Other numbers among the arguments.
static void vary_arguments(struct capture *c, unsigned variation) {
  static uint8_t *were;
  if (!were) {
    if (!(were = malloc((size_t)c->arguments_size + 1))) stop(1, "out of memory");
    memcpy(were, c->arguments, c->arguments_size);
  }
  memcpy(c->arguments, were, c->arguments_size);
  for (size_t i = 0; i < c->scalars; i++) vary_scalar(c->arguments + c->scalar[i].at, c->scalar[i].is == DOUBLES, variation, c->scalar[i].at);
}

static double now(void) {
  struct timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}

// Waits for a launch. One that does not end can't be stopped, and nothing of the driver's is called any more: it would wait, too.
static void finish(const struct capture *c) {
  double begin = now();
  while (cu.StreamQuery(NULL) == CUDA_ERROR_NOT_READY) {
    if (now() - begin > 1e-3) usleep(50);
    if (now() - begin < LONGEST) continue;
    tell("stop the launch does not end%s", c->hosts ? ": it reaches host memory, and may wait for what the CPU writes there" : " here, as it did in the program");
    _exit(4);
  }
  need(cu.CtxSynchronize(), "running");
}

// ---- What it left.

// Gives the sums of all chunks that are compared, 16 bytes each, one behind the other.
static uint8_t *hash_all(struct capture *c, uint64_t chunks) {
  CUmodule m;
  CUfunction f;
  CUdeviceptr sums = 0;
  uint8_t *all = calloc(chunks + 1, 16), *have = all;
  if (!all) stop(1, "out of memory");
  need(cu.ModuleLoadData(&m, gnvcc_hash_ptx), "loading the tools");
  need(cu.ModuleGetFunction(&f, m, "gnvcc_hash"), "loading the tools");
  need(cu.MemAlloc(&sums, 16 * (chunks + 1)), "allocating memory for hashes");
  for (size_t i = 0; i < c->afters; i++) {
    const struct after *a = &c->after[i];
    uint64_t address = a->address, size = a->size;
    uint8_t *row = a->array ? malloc(size) : NULL;
    if (a->array) {
      if (!row) stop(1, "out of memory");
      array_read(a->array, row);
      address = (uint64_t)row;
    }
    if (a->on_host || a->array)
      for (uint64_t k = 0; k < a->chunks; k++) {
        uint64_t n = size - k * HASH_CHUNK < HASH_CHUNK ? size - k * HASH_CHUNK : HASH_CHUNK;
        hash_host((const uint8_t *)address + k * HASH_CHUNK, n, (uint64_t *)have + 2 * k);
      }
    else {
      if (a->variable) address = a->variable->address;
      void *params[] = {&address, &size, &sums};
      need(cu.LaunchKernel(f, (unsigned)a->chunks, 1, 1, 256, 1, 1, 0, NULL, params, NULL), "hashing");
      need(cu.CtxSynchronize(), "hashing");
      need(cu.MemcpyDtoH(have, sums, 16 * a->chunks), "hashing");
    }
    have += 16 * a->chunks;
    free(row);
  }
  cu.MemFree(sums);
  cu.ModuleUnload(m);
  return all;
}

// The first place where memory is not as it was, in words.
static const char *place(const struct capture *c, uint64_t chunk) {
  static char text[200];
  size_t i = 0;
  while (chunk >= c->after[i].chunks) chunk -= c->after[i++].chunks;
  const struct after *a = &c->after[i];
  snprintf(text, sizeof text, "%s at %#llx", a->variable ? a->variable->name : a->array ? "an array" : a->on_host ? "host memory (which the CPU may write meanwhile)" : "device memory",
           (unsigned long long)((a->variable ? a->variable->address : a->address) + chunk * HASH_CHUNK));
  return text;
}

// Compares what the launch left with what it had left in the program. Where that differs, the launch is done again: where every chunk that
// differs from the program's also differs from one time to the next, the kernel does not repeat itself, else the replay is not the program.
static void check(struct capture *c, bool unsteady) {
  enum { RUNS = 5 };
  uint64_t chunks = 0, unlike = 0, alike = 0, first = 0, k = 0;
  for (size_t i = 0; i < c->afters; i++) chunks += c->after[i].chunks;
  uint8_t *was = hash_all(c, chunks), *differs = calloc(chunks + 1, 1);
  if (!differs) stop(1, "out of memory");
  for (size_t i = 0; i < c->afters; i++)
    for (uint64_t j = 0; j < c->after[i].chunks; j++, k++)
      if (memcmp(was + 16 * k, c->after[i].sums + 16 * j, 16) != 0) differs[k] = 1, unlike++;
  over("hash");
  alike = unlike; // the first run alone says nothing
  for (int run = 1; run < RUNS && alike > 0; run++) {
    memory_fill(c, 0);
    need(launch(c), "launching");
    finish(c);
    uint8_t *is = hash_all(c, chunks);
    for (k = 0; k < chunks; k++)
      if (differs[k] == 1 && memcmp(was + 16 * k, is + 16 * k, 16) != 0) differs[k] = 2, alike--;
    free(is);
    over("repeat");
  }
  if (unlike == 0) {
    tell("same");
  } else if (alike > 0) {
    while (differs[first] != 1) first++;
    tell("unlike %llu of %llu MiB that the launch wrote are the same in %d replays, and not as in the program, the first of them %s",
         (unsigned long long)alike, (unsigned long long)chunks, RUNS, place(c, first));
    exit(4);
  } else {
    while (differs[first] != 2) first++;
    if (!unsteady) stop(4, "the kernel's results differ from run to run with nvcc's own code, too: so do %llu of %llu MiB that it writes, the first of them %s", (unsigned long long)unlike, (unsigned long long)chunks, place(c, first));
    tell("unsteady %llu of %llu MiB that the launch wrote differ from run to run, the first of them %s", (unsigned long long)unlike, (unsigned long long)chunks, place(c, first));
  }
  free(was);
  free(differs);
}

// ---- Waiting. What takes a replay longest is the same for all captures: the driver's start, and a context. So a process may have both
// before it is told what to replay: "--wait DESCRIPTOR STATUS UUID". From the descriptor come the other arguments then (CAPTURE LAUNCHES
// VARIATION...), a zero behind each. Nothing comes where nobody wants it.

static CUcontext context;

static void open_context(CUdevice device) {
  need(cu.DevicePrimaryCtxRetain(&context, device), "making a context");
  need(cu.CtxSetCurrent(context), "making a context");
  over("context");
}

static void open_driver(void) {
  find_driver();
  need(cu.Init(0), "starting the driver");
  over("init");
}

// Gives the arguments that came, as main has them.
static char **wait_for_arguments(int fd, char *self, char *status, int *argc) {
  enum { MOST = 64 };
  static char text[1 << 16], *argv[MOST + 3];
  size_t n = 0;
  for (ssize_t k; (k = read(fd, text + n, sizeof text - n)) != 0; n += k > 0 ? (size_t)k : 0)
    if (k < 0 && errno != EINTR) break;
  close(fd);
  if (n == 0) exit(0);
  *argc = 0;
  argv[(*argc)++] = self;
  for (char *p = text; p < text + n && *argc < MOST && memchr(p, 0, (size_t)(text + n - p)); p += strlen(p) + 1) {
    argv[(*argc)++] = p;
    if (*argc == 2) argv[(*argc)++] = status;
  }
  return argv;
}

static char **wait_ready(char **argv, int *argc) {
  struct capture any = {.device = ""};
  for (int i = 0; i < 16; i++) {
    unsigned byte = 0;
    if (sscanf(argv[4] + 2 * i, "%2x", &byte) != 1) stop(1, "not a device's UUID: %s", argv[4]);
    any.uuid[i] = (uint8_t)byte;
  }
  open_driver();
  open_context(device_find(&any));
  return wait_for_arguments(atoi(argv[2]), argv[0], argv[3], argc);
}

int main(int argc, char **argv) {
  bool waits = argc == 5 && strcmp(argv[1], "--wait") == 0 && strlen(argv[4]) == 32;
  if (argc < 3 || !(status = fopen(argv[waits ? 3 : 2], "ae"))) {
    fprintf(stderr, "usage: replay CAPTURE STATUS [LAUNCHES [VARIATION...]]\n");
    return 1;
  }
  if (!prints_keep()) stop(1, "no file for what the kernel prints: %s", strerror(errno));
  if (waits) argv = wait_ready(argv, &argc);
  static struct capture c;
  capture_read(&c, argv[1]);
  const char *busy = memory_plan(&c, waits);
  if (busy) again(argv, busy);
  over("read");
  if (!waits) open_driver();
  CUdevice device = device_find(&c);
  if (!waits) open_context(device);
  if ((busy = memory_reserve(&c))) again(argv, busy);
  if (c.stack) need(cu.CtxSetLimit(CU_LIMIT_STACK_SIZE, c.stack), "setting the stack's size");
  if (c.cache) need(cu.CtxSetCacheConfig((CUfunc_cache)c.cache), "setting the cache configuration");
  memory_fits(&c);
  memory_map(&c, device);
  textures_make(&c);
  over("map");
  load_kernel(&c);
  over("load");
  memory_fill(&c, 0);
  over("fill");
  need(launch(&c), "launching");
  finish(&c);
  over("launch");
  check(&c, argc > 3 && argv[3][0] == '+');
  int launches = argc > 3 ? atoi(argv[3]) : 0;
  for (int i = 0; i < launches; i++) {
    memory_fill(&c, 0);
    over("fill");
    need(launch(&c), "launching");
    finish(&c);
    tell("launched %d", i + 1);
    over("search");
  }
  char enough[4200]; // a file that says that no other variation is wanted
  snprintf(enough, sizeof enough, "%s.enough", argv[2]);
  for (int i = 4; i < argc && access(enough, F_OK) != 0; i++) {
    memory_fill(&c, (unsigned)atoi(argv[i]));
    vary_arguments(&c, (unsigned)atoi(argv[i]));
    over("vary");
    tell("variation %s", argv[i]);
    need(launch(&c), "launching");
    finish(&c);
    tell("varied %s", argv[i]);
    over("check");
  }
  tell("done");
  return 0;
}
