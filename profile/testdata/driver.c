// A driver for tests of the agent: it answers, and fails in the function that FAIL names. Device memory is host memory; a launch of the
// application's adds 1 to each byte of what its argument points to, those of the agent's do nothing.
#define _GNU_SOURCE
#include "driver.h"
#include "fake.h"
#include "hash.h"
#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

atomic_int fake_capturing, fake_harm;
static CUfunction last; // that was launched
static bool tools;      // were launched
static __thread CUstreamCaptureMode mode = CU_STREAM_CAPTURE_MODE_GLOBAL;

static bool fails(const char *symbol) {
  const char *bad = getenv("FAIL");
  errno = EBADF; // as real calls may
  char late[64] = ""; // what fails from the moment on at which the file that FAILS names has it
  FILE *f = getenv("FAILS") ? fopen(getenv("FAILS"), "r") : NULL;
  if (f && fscanf(f, "%63s", late) == 1) bad = late;
  if (f) fclose(f);
  static int calls; // EACH: how many of its calls succeed before one fails
  return bad && strcmp(bad, symbol) == 0 && (!getenv("EACH") || ++calls % (atoi(getenv("EACH")) + 1) == 0);
}

#define DO(symbol, arguments, body) \
  CUresult fake_##symbol arguments __asm__(#symbol); \
  CUresult fake_##symbol arguments { \
    if (fails(#symbol)) return CUDA_ERROR_UNKNOWN; \
    body; \
    return CUDA_SUCCESS; \
  }
// Asked in the midst of a stream capture by a thread that has not said that it knows what it does, these end the capture.
#define UNSAFE \
  if (atomic_load(&fake_capturing) && mode != CU_STREAM_CAPTURE_MODE_RELAXED) { \
    atomic_fetch_add(&fake_harm, 1); \
    return CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED; \
  }

// What a function may be launched with, by its number here. One that gets more than that, or more than there is, is not launched; one that gets
// more than 2 KiB has another last writer than it has otherwise.
static int most[16] = {[2] = 1024, [3] = 1024, [9] = 1024};
int fake_most(CUfunction f) { return most[(uintptr_t)f]; }
// PRINTS: what a candidate prints; the kernel itself prints three lines. Kernels' output comes when somebody waits for them.
static char printed[64];
extern double fake_spent;
static void compute(CUfunction f, unsigned shared, CUdeviceptr p) {
  fake_spent += f == FAKE_LOADED ? 0.5 : 1;
  fake_compute(p);
  for (size_t i = 0; fake_written && i < fake_written->row * fake_written->rows; i++)
    fake_written->bytes[i] += f == FAKE_LOADED && getenv("SURFACE") ? atoi(getenv("SURFACE")) : 1;
  if (getenv("PRINTS")) strcpy(printed, f == FAKE_LOADED ? getenv("PRINTS") : "one\ntwo\ntwo\n");
  if (shared > 2048) ((unsigned char *)p)[5] ^= 0x40;
}

// As gnvcc_compare does it, for chunks that it finds cleared: how many words of each differ.
static void compare(void **params) {
  const char *a = *(const char **)params[0], *b = *(const char **)params[1];
  uint64_t size = *(uint64_t *)params[2];
  struct found { uint32_t words, first; uint64_t relative64; double sum32, sum64; uint32_t relative32, pairs; } *found = *(struct found **)params[3];
  for (uint64_t at = 0; at < size; at += 1 << 20, found++) {
    uint64_t n = size - at < 1 << 20 ? size - at : 1 << 20;
    memset(found, 0, sizeof *found);
    for (uint64_t i = 0; i + 4 <= n; i += 4) found->words += memcmp(a + at + i, b + at + i, 4) != 0;
    found->pairs = found->words;
  }
}

static void hash(const uint8_t *p, uint64_t size, uint64_t *out) {
  for (uint64_t at = 0; at < size; at += HASH_CHUNK) hash_host(p + at, size - at < HASH_CHUNK ? size - at : HASH_CHUNK, out + 2 * (at / HASH_CHUNK));
}

// As gnvcc_look does it.
static void look(void **params) {
  const char *p = *(const char **)params[0];
  uint64_t size = *(uint64_t *)params[1], (*items)[2] = *(uint64_t (**)[2])params[2], low = *(uint64_t *)params[5], span = *(uint64_t *)params[6], v;
  uint32_t n = *(uint32_t *)params[4], *ever = *(uint32_t **)params[7], *reached = *(uint32_t **)params[8];
  for (uint64_t at = 0; at < size; at += 8) {
    if (at % HASH_CHUNK == 0) ever[at / HASH_CHUNK] = 0;
    if (at + 8 > size) continue;
    memcpy(&v, p + at, 8);
    ever[at / HASH_CHUNK] |= v - (1 << 16) < ((uint64_t)1 << 48) - (1 << 16);
    for (uint32_t i = 0; v - low < span && i < n; i++) reached[i] |= v >= items[i][0] && v < items[i][1];
  }
}

DO(cuGetErrorString, (CUresult r, const char **text), *text = "so says the test")
DO(cuDriverGetVersion, (int *v), *v = 13000)
DO(cuCtxGetCurrent, (CUcontext *c), *c = FAKE_CONTEXT)
DO(cuCtxGetDevice, (CUdevice *d), *d = 0)
DO(cuCtxSynchronize, (void), UNSAFE; fputs(printed, stdout); printed[0] = 0)
DO(cuDeviceGetName, (char *name, int n, CUdevice d), strcpy(name, "A GPU"))
DO(cuDeviceGetUuid, (CUuuid *u, CUdevice d), memset(u, 1, sizeof *u))
DO(cuDeviceTotalMem_v2, (size_t *n, CUdevice d), *n = (size_t)1 << 34)
DO(cuDeviceGetAttribute, (int *v, CUdevice_attribute a, CUdevice d), *v = a == CU_DEVICE_ATTRIBUTE_PAGEABLE_MEMORY_ACCESS ? 0 : 1 << 20)
DO(cuMemGetInfo_v2, (size_t *left, size_t *total), *left = *total = getenv("FULL") ? 0 : getenv("LEFT") ? (size_t)atoi(getenv("LEFT")) << 20 : (size_t)1 << 34)
static struct { CUdeviceptr p; size_t n; } large[64];
static size_t *large_at(CUdeviceptr p) {
  int i = 0;
  while (i < 63 && large[i].p != p) i++;
  return &large[i].n;
}
size_t fake_kept(void) { // bytes that the agent has of the device's memory
  size_t sum = 0;
  for (int i = 0; i < 64; i++) sum += large[i].n;
  return sum;
}
DO(cuMemAlloc_v2, (CUdeviceptr * p, size_t n), UNSAFE; *p = (CUdeviceptr)calloc(1, n); for (int i = 0; n >= FAKE_BYTES && i < 64; i++) if (!large[i].n) { large[i].p = *p; large[i].n = n; break; })
DO(cuMemFree_v2, (CUdeviceptr p), *large_at(p) = 0; free((void *)p))
// CHANGES: so many copies of more than some words are made; before the next one something else writes there.
static void change(CUdeviceptr from, size_t n) {
  static int copies;
  if (n > 64 && getenv("CHANGES") && copies++ == atoi(getenv("CHANGES"))) ((unsigned char *)from)[n / 2] ^= 1;
}
double fake_spent; // by kernels, half as much by a candidate; a quarter by a copy
DO(cuMemcpyDtoDAsync_v2, (CUdeviceptr to, CUdeviceptr from, size_t n, CUstream s), fake_spent += 0.25; change(from, n); memcpy((void *)to, (void *)from, n))
DO(cuMemcpyDtoH_v2, (void *to, CUdeviceptr from, size_t n), UNSAFE; change(from, n); memcpy(to, (void *)from, n))
// READS: ms that a copy takes that is waited for by nobody but the agent's thread.
DO(cuMemcpyDtoHAsync_v2, (void *to, CUdeviceptr from, size_t n, CUstream s), if (getenv("READS")) usleep(1000 * (unsigned)atoi(getenv("READS"))); memcpy(to, (void *)from, n))
DO(cuCtxSetCurrent, (CUcontext c), )
DO(cuStreamCreate, (CUstream * s, unsigned flags), *s = (CUstream)13)
DO(cuMemHostRegister_v2, (void *p, size_t n, unsigned flags), UNSAFE)
DO(cuMemHostUnregister, (void *p), UNSAFE)
DO(cuMemcpyHtoD_v2, (CUdeviceptr to, const void *from, size_t n), UNSAFE; memcpy((void *)to, from, n))
struct fake_array *fake_written;
DO(cuMemcpy3DAsync_v2, (const CUDA_MEMCPY3D *m, CUstream s),
   struct fake_array *a = (struct fake_array *)(m->srcArray ? m->srcArray : m->dstArray);
   if (m->WidthInBytes != a->row || m->Height * m->Depth != a->rows || (m->srcArray ? m->dstPitch : m->srcPitch) != a->row) return CUDA_ERROR_INVALID_VALUE;
   if (m->srcArray) memcpy((void *)m->dstDevice, a->bytes, a->row * a->rows); else memcpy(a->bytes, (void *)m->srcDevice, a->row * a->rows))
DO(cuMemsetD8Async, (CUdeviceptr p, unsigned char v, size_t n, CUstream s), memset((void *)p, v, n))
// Another module has a variable, of which BAD_VARIABLE says what is not as it should be.
unsigned char fake_theirs[2 * FAKE_BYTES] __attribute__((aligned(256)));
static bool bad(const char *what) { return getenv("BAD_VARIABLE") && strcmp(getenv("BAD_VARIABLE"), what) == 0; }
static CUresult attribute_of_theirs(void *v, CUpointer_attribute a) {
  switch (a) {
  case CU_POINTER_ATTRIBUTE_MEMORY_TYPE: *(unsigned *)v = bad("host") ? CU_MEMORYTYPE_HOST : CU_MEMORYTYPE_DEVICE; return CUDA_SUCCESS;
  case CU_POINTER_ATTRIBUTE_IS_MANAGED: *(unsigned *)v = bad("managed"); return CUDA_SUCCESS;
  case CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL: *(int *)v = bad("device"); return CUDA_SUCCESS;
  case CU_POINTER_ATTRIBUTE_CONTEXT: *(CUcontext *)v = bad("context") ? (CUcontext)99 : FAKE_CONTEXT; return CUDA_SUCCESS;
  case CU_POINTER_ATTRIBUTE_RANGE_START_ADDR: *(CUdeviceptr *)v = (CUdeviceptr)fake_theirs + (bad("odd") ? 4 : 0); return CUDA_SUCCESS;
  case CU_POINTER_ATTRIBUTE_RANGE_SIZE: *(size_t *)v = bad("short") ? 16 : sizeof fake_theirs; return CUDA_SUCCESS;
  default: return CUDA_ERROR_INVALID_VALUE;
  }
}
DO(cuPointerGetAttribute, (void *v, CUpointer_attribute a, CUdeviceptr p), return p >= (CUdeviceptr)fake_theirs && p < (CUdeviceptr)fake_theirs + sizeof fake_theirs ? attribute_of_theirs(v, a) : CUDA_ERROR_INVALID_VALUE)
static int kernels, ran; // launched by the agent; by the application
double fake_clock; // ms, of launches of which the application says what they take (FAKE_SETS with WORK)
struct event { int ran; double at; };
DO(cuEventCreate, (CUevent * e, unsigned flags), UNSAFE; *e = malloc(sizeof(struct event)))
DO(cuEventRecord, (CUevent e, CUstream s), if (atomic_load(&fake_capturing)) atomic_fetch_add(&fake_harm, 1); struct event *x = (struct event *)e; x->ran = ran; x->at = fake_clock)
DO(cuEventQuery, (CUevent e), UNSAFE)
DO(cuEventDestroy_v2, (CUevent e), free(e))
// A kernel takes 500 us; where streams run BESIDE each other, all but the first one wait for others' blocks. In a session, whose tools run,
// events take 3 us themselves, and an empty kernel 1.
DO(cuEventElapsedTime, (float *ms, CUevent a, CUevent b), UNSAFE; *ms = getenv("WORK") ? (float)(((struct event *)b)->at - ((struct event *)a)->at) : getenv("BESIDE") ? (*(int *)a > 0 ? 8.0f : 0.5f) : last == FAKE_TOOL ? 0.004f : tools ? 0.5033f : 0.5f)
static bool busy(void) { // for BUSY ms from the first question on
  static struct timespec begin;
  struct timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  if (!begin.tv_sec) begin = now;
  return getenv("BUSY") && (now.tv_sec - begin.tv_sec) * 1000 + (now.tv_nsec - begin.tv_nsec) / 1000000 < atoi(getenv("BUSY"));
}
DO(cuStreamQuery, (CUstream s), UNSAFE; if ((!getenv("OTHERS") || s == CU_STREAM_PER_THREAD) && busy()) return CUDA_ERROR_NOT_READY)
DO(cuStreamSynchronize, (CUstream s), UNSAFE)
DO(cuStreamGetCtx, (CUstream s, CUcontext *c), *c = FAKE_CONTEXT)
DO(cuStreamGetId, (CUstream s, unsigned long long *id), *id = (uintptr_t)s)
int fake_waits, fake_strays; // for events, and kernels on the second stream
DO(cuStreamWaitEvent, (CUstream s, CUevent e, unsigned flags), fake_waits++)
DO(cuStreamIsCapturing, (CUstream s, CUstreamCaptureStatus *status), *status = atomic_load(&fake_capturing) ? CU_STREAM_CAPTURE_STATUS_ACTIVE : CU_STREAM_CAPTURE_STATUS_NONE)
DO(cuThreadExchangeStreamCaptureMode, (CUstreamCaptureMode * m), CUstreamCaptureMode was = mode; mode = *m; *m = was)
DO(cuLaunchKernel, (CUfunction f, unsigned gx, unsigned gy, unsigned gz, unsigned bx, unsigned by, unsigned bz, unsigned shared, CUstream s, void **params, void **extra),
   if (f == FAKE_KERNEL && ++kernels > (getenv("LAUNCHES") ? atoi(getenv("LAUNCHES")) : INT_MAX)) return CUDA_ERROR_LAUNCH_OUT_OF_RESOURCES;
   fake_strays += s == FAKE_STREAM; if (shared > most[(uintptr_t)f]) return CUDA_ERROR_INVALID_VALUE; last = f; if (f == FAKE_TOOL) tools = true; if (f == FAKE_KERNEL || f == FAKE_LOADED) compute(f, shared, *(CUdeviceptr *)params[0]); if (f == FAKE_COMPARE) compare(params); if (f == FAKE_LOOK) look(params); if (f == FAKE_HASH) hash(*(const uint8_t **)params[0], *(uint64_t *)params[1], *(uint64_t **)params[2]))
DO(cuLaunchKernelEx, (const CUlaunchConfig *c, CUfunction f, void **params, void **extra), )
int fake_tools;
DO(cuModuleLoad, (CUmodule * m, const char *path), *m = FAKE_MODULE)
DO(cuModuleLoadData, (CUmodule * m, const void *text), UNSAFE; if (getenv("LOADS")) usleep(1000 * (unsigned)atoi(getenv("LOADS"))); *m = FAKE_TOOLS; fake_tools++)
DO(cuModuleUnload, (CUmodule m), fake_tools -= m == FAKE_TOOLS)
DO(cuModuleGetFunction, (CUfunction * f, CUmodule m, const char *name), *f = m == FAKE_MODULE ? FAKE_LOADED : strcmp(name, "gnvcc_compare") == 0 ? FAKE_COMPARE : strcmp(name, "gnvcc_hash") == 0 ? FAKE_HASH : strcmp(name, "gnvcc_look") == 0 ? FAKE_LOOK : FAKE_TOOL)
static uint64_t counts[2] = {5, 7};
// ODD_VARIABLE names one that does not stand at a multiple of 8 bytes.
DO(cuModuleGetGlobal_v2, (CUdeviceptr * p, size_t *n, CUmodule m, const char *name), if (getenv("ODD_VARIABLE") && strcmp(name, getenv("ODD_VARIABLE")) == 0) { *p = (CUdeviceptr)counts + 4; *n = 8; return CUDA_SUCCESS; } if (strcmp(name, "counts") != 0) return CUDA_ERROR_NOT_FOUND; *p = (CUdeviceptr)counts; *n = sizeof counts)
DO(cuFuncGetAttribute, (int *v, CUfunction_attribute a, CUfunction f), *v = a == CU_FUNC_ATTRIBUTE_PREFERRED_SHARED_MEMORY_CARVEOUT ? -1 : a == CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES ? most[(uintptr_t)f] : 1024)
DO(cuFuncSetAttribute, (CUfunction f, CUfunction_attribute a, int v), if (a == CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES) { if (v > 227 << 10) return CUDA_ERROR_INVALID_VALUE; most[(uintptr_t)f] = v; })
DO(cuFuncGetModule, (CUmodule * m, CUfunction f), *m = FAKE_MODULE)
DO(cuFuncGetName, (const char **name, CUfunction f), *name = f == FAKE_OTHER ? "other" : "k")
DO(cuFuncGetParamInfo, (CUfunction f, size_t i, size_t *offset, size_t *size), if (i > (f == FAKE_SETS ? 2 : 0)) return CUDA_ERROR_INVALID_VALUE; *offset = i == 0 ? 0 : 4 + 4 * i; *size = i == 0 ? 8 : 4)
DO(cuKernelGetFunction, (CUfunction * f, CUkernel k), *f = (CUfunction)k)
DO(cuKernelGetAttribute, (int *v, CUfunction_attribute a, CUkernel k, CUdevice d), *v = 1024)
DO(cuKernelGetName, (const char **name, CUkernel k), *name = "k")
DO(cuLibraryGetModule, (CUmodule * m, CUlibrary l), *m = FAKE_MODULE)
DO(cuCtxGetLimit, (size_t *n, CUlimit l), *n = 1024)
DO(cuCtxGetCacheConfig, (CUfunc_cache * c), *c = CU_FUNC_CACHE_PREFER_NONE)
DO(cuMemHostGetFlags, (unsigned *flags, void *p), *flags = getenv("COMBINED") ? CU_MEMHOSTALLOC_WRITECOMBINED : 0)


// A graph of three kernels with a memset between them, in one row: 1 more, 1 more, byte 0 of all that follow set to 100, and 1 more. Its second
// kernel is the first in the list. WIDE: the memset stands beside the last kernel.
#define NODE(i) ((CUgraphNode)(uintptr_t)(100 + (i)))
#define AT(node) ((int)((uintptr_t)node - 100))
static CUdeviceptr node_at[4];
static unsigned enabled[4] = {1, 1, 1, 1};
int fake_graph_launches;
unsigned fake_grid = 8; // of all nodes
void fake_node(int i, CUdeviceptr p) { node_at[i] = p; }
static void run_node(int i) {
  if (i == 2) ((unsigned char *)node_at[i])[0] = 100;
  else compute(FAKE_KERNEL, 0, node_at[i]);
}
void fake_graph_launch(void) {
  for (int i = 0; i < 4; i++)
    if (enabled[i]) run_node(i);
}
int fake_disabled(void) { return 4 - (enabled[0] + enabled[1] + enabled[2] + enabled[3]); }
static int row_of[4] = {1, 0, 2, 3};
DO(cuGraphGetNodes, (CUgraph g, CUgraphNode *nodes, size_t *n), *n = 4; for (int i = 0; nodes && i < 4; i++) nodes[i] = NODE(row_of[i]))
static CUresult edges(CUgraphNode *from, CUgraphNode *to, size_t *n) {
  *n = 3;
  for (int i = 0; from && i < 3; i++) from[i] = NODE(i == 2 && getenv("WIDE") ? 1 : i), to[i] = NODE(i + 1);
  return CUDA_SUCCESS;
}
CUresult fake_edges(CUgraph g, CUgraphNode *from, CUgraphNode *to, size_t *n) __asm__("cuGraphGetEdges");
CUresult fake_edges(CUgraph g, CUgraphNode *from, CUgraphNode *to, size_t *n) { return fails("cuGraphGetEdges") ? CUDA_ERROR_UNKNOWN : edges(from, to, n); }
DO(cuGraphNodeGetType, (CUgraphNode n, CUgraphNodeType *t), *t = AT(n) == 2 ? CU_GRAPH_NODE_TYPE_MEMSET : CU_GRAPH_NODE_TYPE_KERNEL)
CUresult fake_kernel_node(CUgraphNode n, struct kernel_node *p) __asm__("cuGraphKernelNodeGetParams_v2");
CUresult fake_kernel_node(CUgraphNode n, struct kernel_node *p) {
  static void *params[4];
  params[AT(n)] = &node_at[AT(n)];
  *p = (struct kernel_node){.f = FAKE_KERNEL, .grid = {fake_grid, 1, 1}, .block = {32, 1, 1}, .params = &params[AT(n)]};
  return fails("cuGraphKernelNodeGetParams_v2") ? CUDA_ERROR_UNKNOWN : CUDA_SUCCESS;
}
// STUCK: at that call switching fails, and at as many behind it as it says after a colon.
static int switches;
static bool stuck(int n) {
  int first = 0, more = 0;
  return getenv("STUCK") && sscanf(getenv("STUCK"), "%d:%d", &first, &more) > 0 && n >= first && n <= first + more;
}
DO(cuGraphNodeSetEnabled, (CUgraphExec e, CUgraphNode n, unsigned on), if (stuck(++switches)) return CUDA_ERROR_UNKNOWN; enabled[AT(n)] = on)
DO(cuGraphNodeGetEnabled, (CUgraphExec e, CUgraphNode n, unsigned *on), *on = enabled[AT(n)])
int fake_attributes; // asked for
DO(cuGraphKernelNodeGetAttribute, (CUgraphNode n, CUkernelNodeAttrID a, CUkernelNodeAttrValue *v), fake_attributes++)
DO(cuGraphLaunch, (CUgraphExec e, CUstream s), fake_graph_launches++; fake_graph_launch())

static struct { CUdeviceptr p; int n; } runs[8];
static int *runs_on(CUdeviceptr p) {
  int i = 0;
  while (i < 7 && runs[i].p && runs[i].p != p) i++;
  runs[i].p = p;
  return &runs[i].n;
}
int fake_runs(CUdeviceptr p) { return *runs_on(p); }

void fake_compute(CUdeviceptr p) {
  ++*runs_on(p), ++ran;
  for (int i = 0; i < FAKE_BYTES; i++) ((unsigned char *)p)[i] += 1;
}
