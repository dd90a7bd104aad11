// The application of the tests with a fake driver: app WHAT. It calls the agent as CUPTI would. Exit code 7: all is well.
#define _GNU_SOURCE
#include "fake.h"
#include "hash.h"
#include "prints.h"
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

static CUresult result; // of the driver's calls
static void call_in(CUcontext context, CUpti_CallbackId id, const char *name, const void *params, void (*body)(const void *)) {
  CUpti_CallbackData c = {.callbackSite = CUPTI_API_ENTER, .functionName = name, .functionParams = params, .functionReturnValue = &result, .context = context};
  fake_callback(NULL, CUPTI_CB_DOMAIN_DRIVER_API, id, &c);
  if (body) body(params);
  c.callbackSite = CUPTI_API_EXIT;
  fake_callback(NULL, CUPTI_CB_DOMAIN_DRIVER_API, id, &c);
}
static void call(CUpti_CallbackId id, const char *name, const void *params, void (*body)(const void *)) { call_in(FAKE_CONTEXT, id, name, params, body); }
#define CALL(name, params, body) call(CUPTI_DRIVER_TRACE_CBID_##name, #name, params, body)

// The module of the kernels, in the file that CUBIN names.
static void module(void) {
  static char cubin[1 << 16];
  FILE *f = getenv("CUBIN") ? fopen(getenv("CUBIN"), "r") : NULL;
  if (!f) return;
  CUpti_ModuleResourceData m = {.moduleId = 1, .cubinSize = fread(cubin, 1, sizeof cubin, f), .pCubin = cubin};
  CUpti_ResourceData r = {.context = FAKE_CONTEXT, .resourceDescriptor = &m};
  fclose(f);
  fake_callback(NULL, CUPTI_CB_DOMAIN_RESOURCE, CUPTI_CBID_RESOURCE_MODULE_LOADED, &r);
}

static void compute(const void *p) {
  const cuLaunchKernel_params *l = p;
  if (getenv("SLOW")) usleep(1000 * (unsigned)atoi(getenv("SLOW")));
  if (getenv("FULL") && fake_tools > 0) _exit(9); // with no memory left there is none for the launch
  if (l->f == FAKE_KERNEL && l->gridDimX == 99) usleep(200000), raise(SIGUSR1);
  if (l->f == FAKE_KERNEL && !fake_capturing) fake_compute(*(CUdeviceptr *)l->kernelParams[0]);
}

static CUstream stream; // of launches
static void launch(CUfunction f, unsigned grid, CUdeviceptr p) {
  void *params[] = {&p};
  cuLaunchKernel_params l = {.f = f, .hStream = stream, .gridDimX = grid, .gridDimY = 1, .gridDimZ = 1, .blockDimX = 32, .blockDimY = 1, .blockDimZ = 1, .kernelParams = params};
  CALL(cuLaunchKernel, &l, compute);
}

// One of k(p, n, t).
static void launch_set(CUdeviceptr p, int n, int t) {
  void *params[] = {&p, &n, &t};
  cuLaunchKernel_params l = {.f = FAKE_SETS, .gridDimX = 8, .gridDimY = 1, .gridDimZ = 1, .blockDimX = 32, .blockDimY = 1, .blockDimZ = 1, .kernelParams = params};
  CALL(cuLaunchKernel, &l, NULL);
}

// 40 times: three launches in a row, one of another kernel, a copy of 4,700 bytes to the host that takes 2 ms, and a wait.
static void rest(const void *p) { usleep(2000); }
__attribute__((noinline)) static void read_back(CUdeviceptr p) {
  static char to[4700];
  cuMemcpyDtoH_v2_params d = {.dstHost = to, .srcDevice = p, .ByteCount = sizeof to};
  CALL(cuMemcpyDtoH_v2, &d, rest); // here
  fputs("", stdout); // no call that ends the function
}

static int between(CUdeviceptr p) {
  cuStreamSynchronize_params s = {0};
  usleep(600000); // a burst begins
  for (int i = 0; i < 40; i++) {
    for (int k = 0; k < 3; k++) launch(FAKE_KERNEL, 8, p);
    launch(FAKE_OTHER, 8, p);
    read_back(p);
    CALL(cuStreamSynchronize, &s, NULL);
  }
  return 7;
}

// A launch of 96 MiB, MiB m of which begins with the number m + 1, and which is no longer what it was when the launch has returned. THEN the program
// ends, or does what captures that are not written yet must give way to.
static int aside(void) {
  const char *then = getenv("THEN");
  size_t n = (size_t)96 << 20, left, total;
  double *q = calloc(1, n);
  cuMemAlloc_v2_params a = {.dptr = (CUdeviceptr *)&q, .bytesize = n}, more = a;
  cuMemGetInfo_v2_params m = {.free = &left, .total = &total};
  cuCtxDestroy_v2_params d = {.ctx = FAKE_CONTEXT};
  CUpti_ResourceData r = {.context = FAKE_CONTEXT};
  CUdeviceptr p = 0;
  for (size_t i = 0; i < n / 8; i++) q[i] = i % (FAKE_BYTES / 8) ? 0.5 : 1 + (double)(i / (FAKE_BYTES / 8));
  CALL(cuMemAlloc_v2, &a, NULL);
  launch(FAKE_KERNEL, 8, (CUdeviceptr)q);
  memset(q, 0x77, n);
  more.dptr = &p;
  more.bytesize = strcmp(then, "allocates little") == 0 ? 1 << 20 : (size_t)1 << 34;
  if (strcmp(then, "asks") == 0) CALL(cuMemGetInfo_v2, &m, NULL);
  if (strncmp(then, "allocates", 9) == 0) CALL(cuMemAlloc_v2, &more, NULL);
  if (strcmp(then, "destroys") == 0) {
    CALL(cuCtxDestroy_v2, &d, NULL);
    fake_callback(NULL, CUPTI_CB_DOMAIN_RESOURCE, CUPTI_CBID_RESOURCE_CONTEXT_DESTROY_STARTING, &r);
  }
  cuDevicePrimaryCtxRetain_params retain = {0};
  CALL(cuDevicePrimaryCtxRetain, &retain, NULL); // the runtime's, at any time
  if (strcmp(then, "rests") == 0) usleep(2500000);
  if (strcmp(then, "is killed") == 0) raise(SIGKILL);
  if (strcmp(then, "leaves") == 0) _exit(7);
  return 20 + (fake_kept() > 0);
}

static double takes; // ms, that a launch of work's takes
static void compute_work(const void *p) { fake_clock += takes; }

// One of k(p, n, t) that takes so long. The frontier's is in p's memory, as those of programs are: nothing of it shows in the arguments.
static void launch_work(CUdeviceptr p, int n, double ms) {
  int t = 0;
  void *params[] = {&p, &n, &t};
  cuLaunchKernel_params l = {.f = FAKE_SETS, .gridDimX = 8, .gridDimY = 1, .gridDimZ = 1, .blockDimX = 32, .blockDimY = 1, .blockDimZ = 1, .kernelParams = params};
  takes = ms;
  *(int *)p = (int)(1000 * ms);
  CALL(cuLaunchKernel, &l, compute_work);
}

// Launches that differ in work alone. WORK: "frontier", five searches of fifteen levels, most of them empty; "triangle", launch i does i units;
// "convergence", each does a tenth less than the one before; "queue", one in twenty is long; "even", all are alike.
static int work(CUdeviceptr p) {
  const char *kind = getenv("WORK");
  int n = getenv("COUNT") ? atoi(getenv("COUNT")) : 75;
  double ms = 1;
  for (int i = 0; i < n; i++, ms *= 0.9) {
    if (getenv("PACE")) usleep((unsigned)atoi(getenv("PACE")));
    if (kind[0] == 'f') launch_work(p, 1, i % 15 >= 5 && i % 15 < 8 ? 0.2 : 0.016);
    if (kind[0] == 't') launch_work(p, 1, 0.01 * (i + 1));
    if (kind[0] == 'c') launch_work(p, 1, ms);
    if (kind[0] == 'q') launch_work(p, 1, i % 20 == 19 ? 0.8 : 0.02);
    if (kind[0] == 'e') launch_work(p, 1, 0.1);
  }
  return 7;
}

static CUdeviceptr memory(void) {
  CUdeviceptr p = (CUdeviceptr)malloc(FAKE_BYTES);
  cuMemAlloc_v2_params a = {.dptr = &p, .bytesize = FAKE_BYTES};
  for (int i = 0; i < FAKE_BYTES; i++) ((unsigned char *)p)[i] = (unsigned char)(i * 7 + 1);
  CALL(cuMemAlloc_v2, &a, NULL);
  return p;
}

static void *cancelled(void *went_on) {
  CUdeviceptr p = memory();
  pthread_cancel(pthread_self()); // deferred: nothing that this thread does is a cancellation point
  launch(FAKE_KERNEL, 3, p);
  *(bool *)went_on = true;
  return NULL;
}

static void compute_graph(const void *p) { fake_graph_launch(); }

static void launch_graph(CUgraphExec e, CUstream s) {
  cuGraphLaunch_params l = {.hGraph = e, .hStream = s};
  CALL(cuGraphLaunch, &l, compute_graph);
}

static void switch_node(const void *p) {
  const cuGraphNodeSetEnabled_params *s = p;
  cuGraphNodeSetEnabled(s->hGraphExec, s->hNode, s->isEnabled);
}

static void *launches(void *p) {
  for (int i = 0; i < 3000; i++) {
    launch_set((CUdeviceptr)p, 1 + i % 5, i);
    usleep(1000);
  }
  return NULL;
}

// An array of 100 x 3 x 2 bytes, and an object with a handle over it or over memory.
static CUarray array(unsigned flags) {
  struct fake_array *a = malloc(sizeof *a);
  CUDA_ARRAY3D_DESCRIPTOR d = {.Width = 25, .Height = 3, .Depth = 2, .Format = CU_AD_FORMAT_FLOAT, .NumChannels = 1, .Flags = flags};
  *a = (struct fake_array){100, 6, malloc(600)};
  for (int i = 0; i < 600; i++) a->bytes[i] = (unsigned char)(i * 5 + 1);
  cuArray3DCreate_v2_params p = {.pHandle = (CUarray *)&a, .pAllocateArray = &d};
  CALL(cuArray3DCreate_v2, &p, NULL);
  return (CUarray)a;
}

static void object(CUtexObject handle, CUresourcetype type, void *over, bool surface) {
  CUDA_RESOURCE_DESC of = {.resType = type};
  CUDA_TEXTURE_DESC how = {.maxAnisotropy = 3};
  cuTexObjectCreate_params t = {.pTexObject = &handle, .pResDesc = &of, .pTexDesc = &how};
  cuSurfObjectCreate_params s = {.pSurfObject = &handle, .pResDesc = &of};
  if (type == CU_RESOURCE_TYPE_LINEAR) of.res.linear.devPtr = (CUdeviceptr)over, of.res.linear.sizeInBytes = 4096;
  else of.res.array.hArray = (CUarray)over;
  if (surface) CALL(cuSurfObjectCreate, &s, NULL);
  else CALL(cuTexObjectCreate, &t, NULL);
}

// A launch with an object's handle as its argument, or in its memory.
static void launch_textured(const char *what, CUdeviceptr p) {
  bool is(const char *word) { return strstr(what, word) != NULL; }
  CUarray a = array(is("sparse") ? CUDA_ARRAY3D_SPARSE : CUDA_ARRAY3D_SURFACE_LDST);
  uint64_t handle = 5;
  object(4, CU_RESOURCE_TYPE_ARRAY, array(0), false); // another one's
  object(5, is("linear") ? CU_RESOURCE_TYPE_LINEAR : is("mipmapped") ? CU_RESOURCE_TYPE_MIPMAPPED_ARRAY : CU_RESOURCE_TYPE_ARRAY,
         is("nowhere") ? (void *)what : is("linear") ? (void *)p : a, is("surface"));
  if (is("both")) object(5, CU_RESOURCE_TYPE_ARRAY, a, true);
  cuTexObjectDestroy_params t = {.texObject = 5};
  cuArrayDestroy_params d = {.hArray = a};
  if (is("destroyed")) CALL(cuTexObjectDestroy, &t, NULL);
  if (is("gone")) CALL(cuArrayDestroy, &d, NULL);
  if (is("memory")) *(uint64_t *)(p + 64) = handle;
  launch_set(is("memory") ? p : handle, 1, 1);
}

// ---- mix: memory of all kinds and odd sizes, most of it alike, with addresses in it, changed, freed and made anew between launches. What each
// launch finds and leaves is told to the file that TOLD names.

#define MIB ((size_t)1 << 20)
static uint64_t random_state;
static size_t pick(size_t n) { return (size_t)((random_state = random_state * 6364136223846793005 + 1442695040888963407) >> 33) % n; }
static struct { enum { OF_DEVICE, OF_POOL, OF_MAP, OF_BOTH, OF_HOST, KINDS } kind; unsigned char *p; size_t size; } slots[6];

static void fill_slot(int i, size_t m) { // a MiB, of a few contents
  unsigned char *q = slots[i].p + m * MIB;
  size_t n = slots[i].size - m * MIB < MIB ? slots[i].size - m * MIB : MIB, what = pick(6);
  for (size_t k = 0; k < n; k++) q[k] = what < 2 ? 0 : (unsigned char)(k % 8 == 7 ? 0x3f : k * what + (k >> 8)); // no word of these is an address
  if (what == 5 && n >= 8) { // in it is one, into the midst of something
    int j = (int)pick(6);
    uint64_t to = (uint64_t)slots[j].p + pick(slots[j].size ? slots[j].size : 1);
    memcpy(q + pick(n / 8) * 8, &to, 8);
  }
}

static void make_slot(int i) {
  static const size_t odd[] = {0, 0, 8, 4096, 5, MIB - 8, 100};
  unsigned char *q;
  slots[i].size = (1 + pick(5)) * MIB + odd[pick(7)];
  slots[i].kind = pick(3) ? OF_DEVICE : (int)pick(KINDS);
  q = slots[i].p = mmap(NULL, slots[i].size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  cuMemAlloc_v2_params a = {.dptr = (CUdeviceptr *)&q, .bytesize = slots[i].size};
  cuMemAllocAsync_params s = {.dptr = (CUdeviceptr *)&q, .bytesize = slots[i].size};
  cuMemMap_params m = {.ptr = (CUdeviceptr)q, .size = slots[i].size};
  cuMemAllocManaged_params b = {.dptr = (CUdeviceptr *)&q, .bytesize = slots[i].size};
  cuMemHostAlloc_params h = {.pp = (void **)&q, .bytesize = slots[i].size, .Flags = CU_MEMHOSTALLOC_DEVICEMAP};
  switch (slots[i].kind) {
  case OF_DEVICE: CALL(cuMemAlloc_v2, &a, NULL); break;
  case OF_POOL: CALL(cuMemAllocAsync, &s, NULL); break;
  case OF_MAP: CALL(cuMemMap, &m, NULL); break;
  case OF_BOTH: CALL(cuMemAllocManaged, &b, NULL); break;
  default: CALL(cuMemHostAlloc, &h, NULL);
  }
}

static void free_slot(int i) {
  cuMemFree_v2_params f = {.dptr = (CUdeviceptr)slots[i].p};
  cuMemUnmap_params u = {.ptr = (CUdeviceptr)slots[i].p, .size = slots[i].size};
  cuMemFreeHost_params h = {.p = slots[i].p};
  if (slots[i].kind == OF_MAP) CALL(cuMemUnmap, &u, NULL);
  else if (slots[i].kind == OF_HOST) CALL(cuMemFreeHost, &h, NULL);
  else CALL(cuMemFree_v2, &f, NULL);
  munmap(slots[i].p, slots[i].size);
}

static void tell_slots(FILE *f, const char *when) {
  for (int i = 0; i < 6; i++) {
    fprintf(f, "%s %llu %zu", when, (unsigned long long)slots[i].p, slots[i].size);
    for (size_t at = 0; at < slots[i].size; at += MIB) {
      uint64_t sum[2];
      hash_host(slots[i].p + at, slots[i].size - at < MIB ? slots[i].size - at : MIB, sum);
      fprintf(f, " %llu %llu", (unsigned long long)sum[0], (unsigned long long)sum[1]);
    }
    fputc('\n', f);
  }
}

static int mix(void) {
  FILE *f = fopen(getenv("TOLD"), "w");
  random_state = (uint64_t)atoi(getenv("SEED"));
  for (int i = 0; i < 6; i++) make_slot(i);
  for (int i = 0; i < 6; i++)
    for (size_t m = 0; m * MIB < slots[i].size; m++) fill_slot(i, m);
  for (unsigned round = 0; round < 6; round++) {
    int i = (int)pick(6);
    CUdeviceptr p = (CUdeviceptr)slots[i].p + pick((slots[i].size - MIB) / 8 + 1) * 8;
    tell_slots(f, "before");
    fflush(f);
    launch(FAKE_KERNEL, 8 + round, p);
    tell_slots(f, "after");
    for (size_t n = pick(8); n > 0; n--) {
      int j = (int)pick(6);
      if (pick(3) == 0) {
        free_slot(j), make_slot(j);
        for (size_t m = 0; m * MIB < slots[j].size; m++) fill_slot(j, m);
      } else fill_slot(j, pick((slots[j].size + MIB - 1) / MIB));
    }
  }
  fclose(f);
  return 7;
}

// Forks as soon as a capture's file is there; the child says how many descriptors it has of it.
static void *forks(void *status) {
  char link[64], path[256] = "";
  while (access(getenv("CAPTURE"), F_OK) != 0) usleep(1000);
  pid_t child = fork();
  int n = 0;
  for (int fd = 3; child == 0 && fd < 64; fd++) {
    snprintf(link, sizeof link, "/proc/self/fd/%d", fd);
    memset(path, 0, sizeof path);
    n += readlink(link, path, sizeof path - 1) > 0 && strcmp(path, getenv("CAPTURE")) == 0;
  }
  if (child == 0) _exit(n);
  waitpid(child, status, 0);
  return NULL;
}

static void exits(int signal) { exit(7); }

static pthread_t worker;
static void join(void) { pthread_join(worker, NULL); } // as a pool of threads does at the end
static void *works(void *p) {
  usleep(100000);
  for (int i = 0; i < 20; i++) launch(FAKE_KERNEL, 100 + i, (CUdeviceptr)p), usleep(2000);
  return NULL;
}

// As soon as a capture's file is there, closes descriptors that are not its own, and opens its own files.
static void *takes_numbers(void *kept) {
  char name[4096];
  while (access(getenv("CAPTURE"), F_OK) != 0) usleep(100);
  for (int fd = 3; fd < 64; fd++) close(fd);
  for (int i = 0; i < 20; i++) snprintf(name, sizeof name, "%s.%d", (char *)kept, i), open(name, O_RDWR | O_CREAT, 0600);
  return NULL;
}

static void *writes(void *p) {
  for (unsigned char n = 0;; n++) *(volatile unsigned char *)p = n;
}

int main(int n, char **argv) {
  if (n > 1 && strncmp(argv[1], "replay", 6) == 0 && !prints_keep()) return 3; // as a replayer does
  if (n > 1 && strcmp(argv[1], "interrupted launch") == 0) atexit(join);
  void *agent = dlopen(getenv("CUDA_INJECTION64_PATH"), RTLD_NOW);
  int (*start)(void) = agent ? (int (*)(void))dlsym(agent, "InitializeInjection") : 0;
  const char *what = n > 1 ? argv[1] : "";
  if (!start) return puts(dlerror()), 3;
  printf("%d\n", start());
  if (strcmp(what, "start") == 0) return 7;
  module();
  CUdeviceptr p = memory();
  unsigned char first = *(unsigned char *)p;
  if (strcmp(what, "launch") == 0 || strcmp(what, "replay") == 0) {
    launch(FAKE_KERNEL, 8, p);
    return *(unsigned char *)p == (unsigned char)(first + 1) ? 7 : 4; // one launch, whatever was repeated
  }
  if (strcmp(what, "replay surfaces") == 0) {
    fake_written = (struct fake_array *)array(CUDA_ARRAY3D_SURFACE_LDST);
    object(5, CU_RESOURCE_TYPE_ARRAY, fake_written, true);
    launch(FAKE_KERNEL, 8, p);
    for (int i = 0; i < 600; i++)
      if (fake_written->bytes[i] != (unsigned char)(i * 5 + 1)) return 4; // the program's own launch leaves arrays alone here
    return 7;
  }
  if (strncmp(what, "textures", 8) == 0) {
    launch_textured(what, p);
    return 7;
  }
  if (strcmp(what, "schedules") == 0) {
    launch(FAKE_KERNEL, 8, p);
    return ((unsigned char *)p)[5] != (unsigned char)(5 * 7 + 1 + 1) ? 4 : fake_most(FAKE_KERNEL) == 1024 ? 7 : 5;
  }
  if (strcmp(what, "theirs") == 0 || strcmp(what, "part of theirs") == 0) { // in the midst of another module's variable; shared memory begins in it
    CUdeviceptr q = (CUdeviceptr)fake_theirs + FAKE_BYTES;
    cuIpcOpenMemHandle_params o = {.pdptr = &q};
    for (int i = 0; i < 2 * FAKE_BYTES; i++) fake_theirs[i] = (unsigned char)(i * 3 + 2);
    if (what[0] == 'p') CALL(cuIpcOpenMemHandle, &o, NULL);
    launch(FAKE_KERNEL, 8, (CUdeviceptr)fake_theirs + 4096);
    return fake_theirs[4096] == (unsigned char)(4096 * 3 + 3) ? 7 : 4;
  }
  if (strcmp(what, "times") == 0) {
    for (int i = 0; i < 6; i++) launch(FAKE_KERNEL, 8, p);
    return 7;
  }
  if (strcmp(what, "streams") == 0) {
    for (int i = 0; i < 6; i++) stream = i % 2 ? FAKE_STREAM : NULL, launch(FAKE_KERNEL, 8, p);
    return 7;
  }
  if (strcmp(what, "sets") == 0) { // sizes in turns, buffers in turns, a step in time
    CUdeviceptr q[2] = {p, memory()};
    for (int t = 0; t < 100; t++)
      for (int n = 1; n <= 3; n++) launch_set(q[t % 2] + 256 * n, n == 3 ? 3 : n, t);
    launch_set(0, 1, 100); // no buffer
    return 7;
  }
  if (strcmp(what, "many") == 0) { // COUNT launches that do nothing
    for (int i = 0, n = atoi(getenv("COUNT")); i < n; i++) launch_set(p, 1 + i % 3, 7);
    return 7;
  }
  if (strcmp(what, "between") == 0) return between(p);
  if (strcmp(what, "aside") == 0) return aside();
  if (strcmp(what, "work") == 0) return work(p);
  if (strcmp(what, "long") == 0) { // three seconds, four times what it is looked at, in two threads
    pthread_t other;
    pthread_create(&other, NULL, launches, (void *)p);
    launches((void *)p);
    pthread_join(other, NULL);
    return 7;
  }
  if (strcmp(what, "frees") == 0 || strcmp(what, "unmap fails") == 0) { // of memory in another context, and of a mapping
    CUdeviceptr q = (CUdeviceptr)malloc(FAKE_BYTES), m = (CUdeviceptr)malloc(FAKE_BYTES);
    cuMemAlloc_v2_params a = {.dptr = &q, .bytesize = FAKE_BYTES};
    cuMemMap_params map = {.ptr = m, .size = FAKE_BYTES};
    cuMemFree_v2_params f = {.dptr = q};
    cuMemUnmap_params u = {.ptr = m, .size = FAKE_BYTES};
    call_in((CUcontext)99, CUPTI_DRIVER_TRACE_CBID_cuMemAlloc_v2, "cuMemAlloc_v2", &a, NULL);
    CALL(cuMemMap, &map, NULL);
    call_in((CUcontext)99, CUPTI_DRIVER_TRACE_CBID_cuMemFree_v2, "cuMemFree_v2", &f, NULL);
    result = what[0] == 'u' ? CUDA_ERROR_INVALID_VALUE : CUDA_SUCCESS;
    CALL(cuMemUnmap, &u, NULL);
    result = CUDA_SUCCESS;
    launch(FAKE_KERNEL, 8, p);
    return 7;
  }
  if (strcmp(what, "closes files") == 0) { // also those that it has not opened; others are at their numbers then
    int pair[40];
    char byte = 0;
    alarm(20); // an agent that waits for an answer there waits for ever
    for (int fd = 3; fd < 64; fd++) close(fd);
    for (int i = 0; i < 40; i += 2) socketpair(AF_UNIX, SOCK_STREAM, 0, pair + i);
    for (int i = 0; i < 3; i++) launch(FAKE_KERNEL, 8 + i, p);
    fflush(stdout);
    pid_t child = fork();
    if (child == 0) { // the child's descriptors are its own as well
      for (int i = 0; i < 40; i++)
        if (write(pair[i], "x", 1) != 1) _exit(5);
      _exit(7);
    }
    int status = 0;
    waitpid(child, &status, 0);
    if (!WIFEXITED(status) || WEXITSTATUS(status) != 7) return 5;
    for (int i = 0; i < 40; i++)
      if (recv(pair[i], &byte, 1, MSG_DONTWAIT) != 1 || byte != 'x' || recv(pair[i], &byte, 1, MSG_DONTWAIT) != -1 || errno != EAGAIN) return 4;
    return 7;
  }
  if (strcmp(what, "graph") == 0) {
    for (int i = 0; i < 6; i++) launch(FAKE_KERNEL, 8, p); // some are timed, and their events are there
    cuStreamBeginCapture_v2_params b = {0};
    CALL(cuStreamBeginCapture_v2, &b, NULL);
    fake_capturing = 1;
    for (int i = 0; i < 3; i++) {
      usleep(600000); // longer than a summary waits
      launch(FAKE_KERNEL, 8, p);
      launch(FAKE_OTHER, 9 + i, p);
    }
    fake_capturing = 0;
    return fake_harm ? 5 : 7;
  }
  if (strncmp(what, "nodes", 5) == 0) {
    alarm(60);
    // a graph, launched four times; then with another buffer for its last kernel; then without its graph
    CUgraphExec e = (CUgraphExec)77;
    CUgraph g = (CUgraph)78;
    CUdeviceptr q = memory();
    void *params[] = {&q};
    for (int i = 0; i < 4; i++) fake_node(i, p);
    bool turns = strcmp(what, "nodes in turns") == 0, stay = strcmp(what, "nodes that stay") == 0;
    cuGraphInstantiateWithFlags_params i = {.phGraphExec = &e, .hGraph = g, .flags = strcmp(what, "nodes of kernels") == 0 ? 4 : 0};
    CUDA_KERNEL_NODE_PARAMS k = {.func = FAKE_KERNEL, .gridDimX = 8, .gridDimY = 1, .gridDimZ = 1, .blockDimX = 32, .blockDimY = 1, .blockDimZ = 1, .kernelParams = params};
    cuGraphExecKernelNodeSetParams_v2_params set = {.hGraphExec = e, .hNode = (CUgraphNode)103, .nodeParams = &k};
    cuGraphDestroy_params d = {.hGraph = g};
    cuGraphExecDestroy_params x = {.hGraphExec = e};
    bool early = strcmp(what, "nodes without a graph") == 0;
    CALL(cuGraphInstantiateWithFlags, &i, NULL);
    if (early) CALL(cuGraphDestroy, &d, NULL);
    for (int fd = 3; strcmp(what, "nodes alone") == 0 && fd < 64; fd++) close(fd); // gnvcc is not heard any more, in the midst of the first launch
    for (int n = 0; n < 4; n++) launch_graph(e, turns && n % 2 ? FAKE_STREAM : NULL);
    if (turns && (fake_waits == 0 || fake_strays)) return 8; // or the second launch runs beside the first one
    if (stay) result = CUDA_ERROR_INVALID_VALUE;
    else fake_node(3, q);
    CALL(cuGraphExecKernelNodeSetParams_v2, &set, NULL);
    result = CUDA_SUCCESS;
    for (int n = 0; n < 4; n++) launch_graph(e, NULL);
    if (!early) CALL(cuGraphDestroy, &d, NULL);
    launch_graph(e, NULL);
    CALL(cuGraphExecDestroy, &x, NULL);
    unsigned char *at = (unsigned char *)p, *other = (unsigned char *)q;
    if (fake_disabled()) return 6;
    if (stay) return fake_runs(p) == 9 * 3 && at[1] == (unsigned char)(8 + 27) ? 7 : 5;
    if (fake_runs(p) != 4 * 3 + 5 * 2 || fake_runs(q) != 5) return 5; // each node once a launch
    return at[0] == 100 && at[1] == (unsigned char)(8 + 22) && other[0] == 1 + 5 ? 7 : 4;
  }
  if (strncmp(what, "tokens", 6) == 0) { // as models are run: the stream captured anew for each token, and the executable graph updated by what that gave
    CUgraphExec e = (CUgraphExec)77;
    int asked = 0;
    for (int n = 0; n < 8; n++) {
      CUgraph g = (CUgraph)(uintptr_t)(200 + n);
      CUdeviceptr q = n == 7 ? memory() : p; // the last token's in other memory
      if (what[6]) fake_grid = 8 + (unsigned)n; // each longer than the one before
      cuStreamBeginCapture_v2_params b = {0};
      cuStreamEndCapture_params end = {0};
      cuGraphDestroy_params d = {.hGraph = (CUgraph)(uintptr_t)(199 + n)};
      cuGraphInstantiateWithFlags_params i = {.phGraphExec = &e, .hGraph = g};
      cuGraphExecUpdate_v2_params u = {.hGraphExec = e, .hGraph = g};
      CALL(cuStreamBeginCapture_v2, &b, NULL);
      fake_capturing = 1;
      for (int k = 0; k < 4; k++)
        if (fake_node(k, q), k != 2) launch(FAKE_KERNEL, fake_grid, q);
      if (n > 0) CALL(cuGraphDestroy, &d, NULL);
      fake_capturing = 0;
      CALL(cuStreamEndCapture, &end, NULL);
      if (n == 0) CALL(cuGraphInstantiateWithFlags, &i, NULL);
      else CALL(cuGraphExecUpdate_v2, &u, NULL);
      launch_graph(e, NULL);
      if (fake_disabled() || fake_runs(q) != (n == 7 ? 3 : 3 * (n + 1))) return 5;
      if (n > 0 && fake_attributes != asked) return 4; // of a graph that is not walked any more
      asked = fake_attributes;
    }
    return fake_harm ? 6 : 7;
  }
  if (strcmp(what, "too large") == 0) { // by one block; then one that fits
    void *params[] = {&p};
    cuLaunchCooperativeKernel_params l = {.f = FAKE_KERNEL, .gridDimX = 133, .gridDimY = 1, .gridDimZ = 1, .blockDimX = 32, .blockDimY = 1, .blockDimZ = 1, .kernelParams = params};
    alarm(20);
    for (int n = 0; n < 2; n++) {
      result = n == 0 ? CUDA_ERROR_COOPERATIVE_LAUNCH_TOO_LARGE : CUDA_SUCCESS;
      CALL(cuLaunchCooperativeKernel, &l, n == 0 ? NULL : compute);
      l.gridDimX = 132;
    }
    return fake_runs(p) == 1 ? 7 : 5;
  }
  if (strncmp(what, "both ways", 9) == 0) { // by the host stub first, then in a graph; or but once in a graph
    CUgraphExec e = (CUgraphExec)77;
    cuGraphInstantiateWithFlags_params i = {.phGraphExec = &e, .hGraph = (CUgraph)78};
    bool once = what[9];
    for (int n = 0; n < 4; n++) fake_node(n, p);
    for (int n = 0; n < (once ? 400 : 4); n++) launch(FAKE_KERNEL, 8, p);
    CALL(cuGraphInstantiateWithFlags, &i, NULL);
    for (int n = 0; n < (once ? 1 : 100); n++) launch_graph(e, NULL);
    return 7;
  }
  if (strcmp(what, "graphs alone") == 0) { // a second of one graph's launches and nothing else; then it is gone without a word
    CUgraphExec e = (CUgraphExec)77;
    cuGraphInstantiateWithFlags_params i = {.phGraphExec = &e, .hGraph = (CUgraph)78};
    for (int n = 0; n < 4; n++) fake_node(n, p);
    CALL(cuGraphInstantiateWithFlags, &i, NULL);
    for (int n = 0; n < 600; n++) launch_graph(e, NULL), usleep(3000);
    _exit(7);
  }
  if (strcmp(what, "switches") == 0 || strcmp(what, "twins") == 0) { // a node is off in every second row of launches; two of one graph, on a stream each
    CUgraphExec e = (CUgraphExec)77, f = (CUgraphExec)79;
    CUgraph g = (CUgraph)78;
    bool twins = what[0] == 't';
    cuGraphInstantiateWithFlags_params i = {.phGraphExec = &e, .hGraph = g}, k = {.phGraphExec = &f, .hGraph = g};
    cuGraphNodeSetEnabled_params s = {.hGraphExec = e, .hNode = (CUgraphNode)101};
    cuGraphExecDestroy_params x = {.hGraphExec = e};
    for (int n = 0; n < 4; n++) fake_node(n, p);
    CALL(cuGraphInstantiateWithFlags, &i, NULL);
    if (twins) CALL(cuGraphInstantiateWithFlags, &k, NULL);
    for (int n = 0; n < 24; n++) {
      if (!twins && n % 3 == 0) s.isEnabled = n % 2 == 0, CALL(cuGraphNodeSetEnabled, &s, switch_node);
      bool second = twins && (n % 2 || e == f);
      launch_graph(second ? f : e, second ? FAKE_STREAM : NULL);
      if (twins && n == 15) CALL(cuGraphExecDestroy, &x, NULL), e = f;
    }
    return fake_runs(p) == 24 * 3 - (twins ? 0 : 12) ? 7 : 5;
  }
  if (strcmp(what, "managed") == 0) {
    CUdeviceptr q = (CUdeviceptr)calloc(1, FAKE_BYTES);
    cuMemAllocManaged_params a = {.dptr = &q, .bytesize = FAKE_BYTES};
    CALL(cuMemAllocManaged, &a, NULL);
    launch(FAKE_KERNEL, 8, q);
    return 7;
  }
  if (strcmp(what, "cancel") == 0) {
    bool went_on = false;
    pthread_t t;
    pthread_create(&t, NULL, cancelled, &went_on);
    pthread_join(t, NULL);
    alarm(20);
    launch(FAKE_KERNEL, 8, p); // waits for ever where the thread took a lock along
    return went_on ? 7 : 6;
  }
  if (strcmp(what, "errno") == 0) {
    errno = EDOM;
    launch(FAKE_KERNEL, 8, p);
    return errno == EDOM ? 7 : 6;
  }
  if (strcmp(what, "fork") == 0) {
    int status = 0;
    fflush(stdout);
    pid_t child = fork();
    if (child == 0) exit(9);
    waitpid(child, &status, 0);
    launch(FAKE_KERNEL, 8, p);
    return WIFEXITED(status) && WEXITSTATUS(status) == 9 ? 7 : 6;
  }
  if (strcmp(what, "forks") == 0) {
    pthread_t other;
    int status = -1;
    pthread_create(&other, NULL, forks, &status);
    launch(FAKE_KERNEL, 8, p);
    pthread_join(other, NULL);
    return WIFEXITED(status) && WEXITSTATUS(status) == 0 ? 7 : 6;
  }
  if (strcmp(what, "large") == 0) { // 50 MiB: every third MiB is zero, and in the midst is the address of something else
    size_t n = ((size_t)50 << 20) + 12345;
    unsigned char *q = calloc(1, n);
    cuMemAlloc_v2_params a = {.dptr = (CUdeviceptr *)&q, .bytesize = n};
    for (size_t i = 0; i < n; i++) q[i] = (i >> 20) % 3 == 2 ? 0 : (unsigned char)(i * 31 + (i >> 20) * 7);
    memcpy(q + ((size_t)40 << 20), &p, sizeof p);
    CALL(cuMemAlloc_v2, &a, NULL);
    launch(FAKE_KERNEL, 8, (CUdeviceptr)q);
    return 7;
  }
  // ARRAYS: MiB of each; the second MiB of one begins with the address of the next. Numbers, of which HOLES percent of the MiBs are zero. Two launches,
  // each of which changes the first MiB of the first.
  if (strcmp(what, "arrays") == 0) {
    CUdeviceptr first = 0, *link = &first;
    int holes = getenv("HOLES") ? atoi(getenv("HOLES")) : 0;
    for (char *list = strdup(getenv("ARRAYS")), *word; (word = strsep(&list, ","));) {
      size_t n = (size_t)atoi(word) << 20;
      double *q = mmap(NULL, n, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
      cuMemAlloc_v2_params a = {.dptr = (CUdeviceptr *)&q, .bytesize = n};
      uint64_t x = n;
      for (size_t m = 0; m < n >> 20; m++)
        for (size_t i = m << 17; m % 100 >= (size_t)holes && i < (m + 1) << 17; i++) q[i] = 1 + (double)((x = x * 6364136223846793005 + 1442695040888963407) >> 12) / (double)(1ull << 52);
      CALL(cuMemAlloc_v2, &a, NULL);
      *link = (CUdeviceptr)q;
      link = (CUdeviceptr *)(q + (1 << 17));
    }
    *link = 0;
    launch(FAKE_KERNEL, 8, first);
    launch(FAKE_KERNEL, 16, first);
    return 7;
  }
  if (strcmp(what, "busy host") == 0 || strcmp(what, "quiet host") == 0 || strcmp(what, "pinned host") == 0) { // a thread writes registered memory, or rests
    pthread_t other;
    unsigned char *q = calloc(1, 1 << 21);
    cuMemHostRegister_v2_params r = {.p = q, .bytesize = 1 << 21};
    cuMemHostAlloc_params h = {.pp = (void **)&q, .bytesize = 1 << 21, .Flags = CU_MEMHOSTALLOC_DEVICEMAP};
    if (what[0] == 'p') CALL(cuMemHostAlloc, &h, NULL);
    else CALL(cuMemHostRegister_v2, &r, NULL);
    if (what[0] == 'b') pthread_create(&other, NULL, writes, q + (1 << 20));
    launch(FAKE_KERNEL, 8, (CUdeviceptr)q);
    return 7;
  }
  if (strncmp(what, "interrupted", 11) == 0) { // a handler calls exit while the agent has a lock, or holds a thread that another handler waits for
    alarm(15);
    signal(SIGUSR1, exits);
    if (what[11]) {
      pthread_create(&worker, NULL, works, (void *)p);
      launch(FAKE_KERNEL, 99, p); // within which it comes
    }
    launch(FAKE_KERNEL, 8, p);
    fake_interrupt = atoi(getenv("INTERRUPT"));
    for (int i = 0; i < 40; i++) launch(FAKE_KERNEL, 9 + i, p);
    return 7;
  }
  if (strcmp(what, "no function") == 0) { // behind a module's end, whose kernels have none either
    CUpti_ModuleResourceData m = {.moduleId = 1};
    CUpti_ResourceData r = {.context = FAKE_CONTEXT, .resourceDescriptor = &m};
    cuLaunchKernel_params l = {.gridDimX = 8, .gridDimY = 1, .gridDimZ = 1, .blockDimX = 32, .blockDimY = 1, .blockDimZ = 1, .kernelParams = (void *[]){NULL}};
    launch(FAKE_KERNEL, 8, p);
    fake_callback(NULL, CUPTI_CB_DOMAIN_RESOURCE, CUPTI_CBID_RESOURCE_MODULE_UNLOAD_STARTING, &r);
    result = CUDA_ERROR_INVALID_HANDLE;
    CALL(cuLaunchKernel, &l, NULL);
    return 7;
  }
  if (strcmp(what, "takes numbers") == 0) { // while a capture is written
    pthread_t other;
    char *kept = getenv("KEPT");
    pthread_create(&other, NULL, takes_numbers, kept);
    size_t n = (size_t)200 << 20;
    unsigned char *q = malloc(n);
    cuMemAlloc_v2_params a = {.dptr = (CUdeviceptr *)&q, .bytesize = n};
    for (size_t i = 0; i < n; i++) q[i] = (unsigned char)(i * 31 + (i >> 20) * 7 + 1);
    CALL(cuMemAlloc_v2, &a, NULL);
    launch(FAKE_KERNEL, 8, (CUdeviceptr)q);
    pthread_join(other, NULL);
    return 7;
  }
  if (strcmp(what, "another's capture") == 0) { // ends of captures that are not the one under way
    static const CUresult fails[] = {CUDA_ERROR_ILLEGAL_STATE, CUDA_ERROR_STREAM_CAPTURE_WRONG_THREAD, CUDA_ERROR_INVALID_VALUE};
    cuStreamBeginCapture_v2_params b = {0};
    cuStreamEndCapture_params e = {0};
    for (int i = 0; i < 6; i++) launch(FAKE_KERNEL, 8, p);
    CALL(cuStreamBeginCapture_v2, &b, NULL);
    fake_capturing = 1;
    for (int i = 0; i < 3; i++) {
      result = fails[i];
      CALL(cuStreamEndCapture, &e, NULL);
      result = CUDA_SUCCESS;
      usleep(600000);
      launch(FAKE_KERNEL, 8, p);
      launch(FAKE_OTHER, 9 + i, p);
    }
    fake_capturing = 0;
    CALL(cuStreamEndCapture, &e, NULL);
    launch(FAKE_OTHER, 20, p);
    return fake_harm ? 5 : 7;
  }
  if (strcmp(what, "mix") == 0) return mix();
  if (strcmp(what, "grids") == 0) {
    for (unsigned grid = 1; grid <= 12; grid++) launch(FAKE_KERNEL, 8 * grid, p);
    return 7;
  }
  if (strcmp(what, "small files") == 0) {
    struct rlimit most = {1 << 16, 1 << 16};
    setrlimit(RLIMIT_FSIZE, &most);
    launch(FAKE_KERNEL, 8, p);
    return 7;
  }
  if (strcmp(what, "asks") == 0) {
    int blocks;
    cuOccupancyMaxActiveBlocksPerMultiprocessor_params o = {.numBlocks = &blocks, .func = FAKE_KERNEL};
    cuFuncGetAttribute_params version = {.pi = &blocks, .attrib = CU_FUNC_ATTRIBUTE_BINARY_VERSION, .hfunc = FAKE_OTHER};
    launch(FAKE_KERNEL, 8, p);
    CALL(cuOccupancyMaxActiveBlocksPerMultiprocessor, &o, NULL);
    launch(FAKE_OTHER, 8, p);
    CALL(cuFuncGetAttribute, &version, NULL);
    return 7;
  }
  if (strcmp(what, "turns") == 0) { // with two buffers, and another kernel once
    CUdeviceptr q = memory();
    launch(FAKE_KERNEL, 8, p);
    launch(FAKE_KERNEL, 8, q);
    launch(FAKE_KERNEL, 8, p);
    bool own = ((unsigned char *)p)[0] == (unsigned char)(first + 2) && ((unsigned char *)q)[0] == (unsigned char)(first + 1);
    launch(FAKE_OTHER, 8, p);
    launch(FAKE_KERNEL, 8, q);
    return own && fake_runs(q) == 2 + 1 + 2 + 1 + 2 + 2 + 2 ? 7 : 4; // the program's own; to see what it writes; before timed ones, and before the candidate's first run; the same in a row of three
  }
  if (strcmp(what, "rows") == 0) {
    for (const char *next = "kkkkokok"; *next; next++) launch(*next == 'k' ? FAKE_KERNEL : FAKE_OTHER, 8, p);
    return 7;
  }
  if (strcmp(what, "asks first") == 0) {
    int v;
    cuFuncGetAttribute_params a = {.pi = &v, .attrib = CU_FUNC_ATTRIBUTE_NUM_REGS, .hfunc = FAKE_OTHER};
    CALL(cuFuncGetAttribute, &a, NULL);
    launch(FAKE_KERNEL, 8, p);
    launch(FAKE_OTHER, 8, p);
    return 7;
  }
  return 2;
}
