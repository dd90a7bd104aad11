// The agent's self-test: launches of many kinds, each with a result that is printed. Run under the agent, with every
// launch repeated with candidates, it must print the same. SABOTAGE makes candidates that must be caught.
#include "self.h"
#include <cooperative_groups.h>
#include <cstring>
#include <cuda.h>
#include <sys/wait.h>
#include <thread>
#include <unistd.h>
#include <vector>
#ifndef SABOTAGE
#define SABOTAGE 0
#endif
#define WRONG 1
#define FAULT 2
#define HANG 3
#define ELSEWHERE 4

static __device__ float state = 3;
__device__ unsigned counter;
__constant__ float factors[4] = {1, 2, 3, 4};

static __global__ void twin(float *p, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) p[i] = p[i] * state + factors[i & 3];
}
template <class T> __global__ void generic(T *p, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) p[i] += T(1);
}
// Reads what it writes, so that a run that is not put back shows.
__global__ void inplace(float *p, int n, float *elsewhere) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) p[i] = p[i] * 1.5f + 1;
#if SABOTAGE == WRONG
  if (i == 4321) p[i] += 0.25f;
#elif SABOTAGE == FAULT
  if (i == 4321) *(volatile int *)8 = 1;
#elif SABOTAGE == HANG
  if (i == 4321) while (*(volatile float *)p != -77.0f) {}
#elif SABOTAGE == ELSEWHERE
  if (i == 4321) elsewhere[5] = 1;
#endif
}
__global__ void variables(float *out) {
  int i = threadIdx.x;
  out[i] = state * factors[i & 3] + counter;
  __syncthreads();
  if (i == 0) {
    state = state * 2 + 1;
    counter++;
  }
}
extern __shared__ float big[];
__global__ void dynamic(float *p, int n) {
  for (int i = threadIdx.x; i < n; i += blockDim.x) big[i] = p[i];
  __syncthreads();
  for (int i = threadIdx.x; i < n; i += blockDim.x) p[i] = big[n - 1 - i] + 1;
}
__global__ void rows(char *p, size_t pitch, int width, int height) {
  for (int y = blockIdx.x; y < height; y += gridDim.x)
    for (int x = threadIdx.x; x < width; x += blockDim.x) p[y * pitch + x] += (char)(x + y);
}
struct Pack { float *p; int n; float a, b; };
__global__ void packed(Pack k) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < k.n) k.p[i] = k.p[i] * k.a + k.b;
}
__global__ void racy(float *sum, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) atomicAdd(sum, 1.0f / (1 + i % 1000));
}
__global__ void loud(int *p) {
  if (threadIdx.x == 0) printf("loud %d\n", *p);
}
__global__ void together(float *p) {
  cooperative_groups::this_grid().sync();
  p[blockIdx.x * blockDim.x + threadIdx.x] += 1;
}
// The last writer of *last is block 0 where all blocks run at a time, as it takes longest; else one that comes later.
__global__ void lastWriter(int *last, float *p) {
  unsigned long long a, b, ns = blockIdx.x == 0 ? 200000 : 100000;
  asm volatile("mov.u64 %0, %%globaltimer;" : "=l"(a));
  do asm volatile("mov.u64 %0, %%globaltimer;" : "=l"(b)); while (b - a < ns);
  if (threadIdx.x == 0 && (blockIdx.x == 0 || blockIdx.x == gridDim.x - 1)) *(volatile int *)last = 1 + blockIdx.x;
  p[blockIdx.x * blockDim.x + threadIdx.x] += 1;
}
__global__ void spin(unsigned long long ns, unsigned long long *out) {
  unsigned long long a, b;
  asm volatile("mov.u64 %0, %%globaltimer;" : "=l"(a));
  do asm volatile("mov.u64 %0, %%globaltimer;" : "=l"(b)); while (b - a < ns);
  *out = 1;
}

static const int n = 1 << 20;

unsigned sum(const void *p, size_t bytes) {
  std::vector<unsigned char> v(bytes);
  CK(cudaMemcpy(v.data(), p, bytes, cudaMemcpyDefault));
  unsigned h = 2166136261u;
  for (unsigned char c : v) h = (h ^ c) * 16777619u;
  return h;
}
static void report(const char *what, const void *p, size_t bytes) { printf("%s %08x\n", what, sum(p, bytes)); }

static void plain() {
  float *p, *spare;
  CK(cudaMalloc(&p, n * 4));
  CK(cudaMalloc(&spare, 4096));
  CK(cudaMemset(spare, 0, 4096));
  std::vector<float> host(n);
  for (int i = 0; i < n; i++) host[i] = i % 977 * 0.125f;
  CK(cudaMemcpy(p, host.data(), n * 4, cudaMemcpyHostToDevice));
  cudaStream_t s;
  CK(cudaStreamCreateWithFlags(&s, cudaStreamNonBlocking));
  CK(cudaDeviceSynchronize());
  twin<<<n / 256, 256>>>(p, n);
  CK(cudaDeviceSynchronize());
  other(p, n, s);
  generic<<<n / 128, 128, 0, s>>>(p, n);
  for (int i = 0; i < 6; i++) inplace<<<n / 256, 256, 0, s>>>(p, n - i, spare);
  CK(cudaStreamSynchronize(s));
  report("plain", p, n * 4);
  report("spare", spare, 4096);
  float h = 5;
  CK(cudaMemcpyToSymbol(state, &h, 4));
  for (int i = 0; i < 3; i++) variables<<<1, 64>>>(spare);
  unsigned c;
  CK(cudaMemcpyFromSymbol(&c, counter, 4));
  CK(cudaMemcpyFromSymbol(&h, state, 4));
  printf("variables %u %g %08x\n", c, h, sum(spare, 4096));
  float *v = other_variable(); // memory that belongs to another module
  generic<<<1, 64>>>(v, 64);
  report("pointed", v, 256);
  CK(cudaFuncSetAttribute(dynamic, cudaFuncAttributeMaxDynamicSharedMemorySize, 100000));
  dynamic<<<1, 256, 80000>>>(p, 20000);
  report("dynamic", p, 80000);
  packed<<<n / 256, 256>>>(Pack{p, n, 0.5f, 2});
  report("packed", p, n * 4);
  float *q;
  CK(cudaMallocAsync(&q, 40000, s));
  CK(cudaMemsetAsync(q, 0, 40000, s));
  generic<<<40, 250, 0, s>>>(q, 10000);
  CK(cudaStreamSynchronize(s));
  report("async", q, 40000);
  CK(cudaFreeAsync(q, s));
  char *r;
  size_t pitch;
  CK(cudaMallocPitch(&r, &pitch, 1001, 37));
  CK(cudaMemset2D(r, pitch, 1, 1001, 37));
  rows<<<8, 128>>>(r, pitch, 1001, 37);
  std::vector<char> flat(1001 * 37);
  CK(cudaMemcpy2D(flat.data(), 1001, r, pitch, 1001, 37, cudaMemcpyDeviceToHost));
  report("pitch", flat.data(), flat.size());
  float *pinned, *mapped;
  CK(cudaHostAlloc(&pinned, 4096 * 4, cudaHostAllocMapped));
  memset(pinned, 0, 4096 * 4);
  CK(cudaHostGetDevicePointer(&mapped, pinned, 0));
  generic<<<16, 256>>>(mapped, 4096);
  CK(cudaDeviceSynchronize());
  report("pinned", pinned, 4096 * 4);
  float *registered = (float *)aligned_alloc(4096, 8192 * 4);
  memset(registered, 0, 8192 * 4);
  CK(cudaHostRegister(registered, 8192 * 4, cudaHostRegisterMapped));
  CK(cudaHostGetDevicePointer(&mapped, registered, 0));
  generic<<<32, 256>>>(mapped, 8192);
  CK(cudaDeviceSynchronize());
  report("registered", registered, 8192 * 4);
  cudaLaunchConfig_t g = {};
  cudaLaunchAttribute a = {};
  a.id = cudaLaunchAttributePriority;
  g.gridDim = n / 64;
  g.blockDim = 64;
  g.stream = s;
  g.attrs = &a;
  g.numAttrs = 1;
  CK(cudaLaunchKernelEx(&g, twin, p, n));
  report("extended", p, n * 4);
  float *once;
  CK(cudaMalloc(&once, 4));
  CK(cudaMemset(once, 0, 4));
  racy<<<n / 256, 256>>>(once, n);
  CK(cudaDeviceSynchronize());
  unsigned long long *t;
  CK(cudaMalloc(&t, 8));
  spin<<<1, 1>>>(200000, t);
  CK(cudaDeviceSynchronize());
  CK(cudaFree(t));
  CK(cudaFree(once));
  CK(cudaFree(r));
  CK(cudaFreeHost(pinned));
  CK(cudaHostUnregister(registered));
  generic<<<n / 512, 512>>>(p, n); // after everything else was freed
  report("after", p, n * 4);
}

// Kernels that are launched otherwise: what one leaves depends on how many blocks run at a time.
static void schedules() {
  float *p, *spare;
  int *last;
  CK(cudaMalloc(&p, n * 4));
  CK(cudaMalloc(&spare, 4096));
  CK(cudaMalloc(&last, 4));
  CK(cudaMemset(p, 0, n * 4));
  CK(cudaMemset(spare, 0, 4096));
  CK(cudaMemset(last, 0, 4));
  lastWriter<<<700, 256>>>(last, p);
  report("last", last, 4);
  inplace<<<n / 256, 256>>>(p, n, spare);
  inplace<<<n / 256, 256>>>(p, n, spare);
  report("schedules", p, n * 4);
}

// What must be left alone: it is run as often as the application says.
static void alone() {
  float *p;
  int *seven, h = 7;
  CK(cudaMalloc(&p, n * 4));
  CK(cudaMemset(p, 0, n * 4));
  CK(cudaMalloc(&seven, 4));
  CK(cudaMemcpy(seven, &h, 4, cudaMemcpyHostToDevice));
  loud<<<1, 32>>>(seven);
  CK(cudaDeviceSynchronize());
  void *args[] = {&p};
  CK(cudaLaunchCooperativeKernel((void *)together, dim3(32), dim3(64), args, 0, 0));
  cudaStream_t s;
  CK(cudaStreamCreate(&s));
  cudaGraph_t graph;
  cudaGraphExec_t exec;
  CK(cudaStreamBeginCapture(s, cudaStreamCaptureModeGlobal));
  inplace<<<4, 32, 0, s>>>(p, 128, p); // its first launch in this process: it is loaded during the capture
  CK(cudaStreamEndCapture(s, &graph));
  CK(cudaGraphInstantiate(&exec, graph, 0));
  for (int i = 0; i < 3; i++) CK(cudaGraphLaunch(exec, s));
  CK(cudaStreamSynchronize(s));
  cudaLaunchConfig_t g = {};
  cudaLaunchAttribute a = {};
  a.id = cudaLaunchAttributeClusterDimension;
  a.val.clusterDim.x = 2;
  a.val.clusterDim.y = a.val.clusterDim.z = 1;
  g.gridDim = 4;
  g.blockDim = 64;
  g.attrs = &a;
  g.numAttrs = 1;
  CK(cudaLaunchKernelEx(&g, generic<float>, p, 256));
  report("alone", p, 4096);
}

// Threads that launch, copy and synchronise at the same time.
static void threads() {
  std::vector<std::thread> all;
  std::vector<unsigned> sums(4);
  for (int k = 0; k < 4; k++)
    all.emplace_back([k, &sums] {
      cudaStream_t s;
      CK(cudaStreamCreate(&s));
      float *p, *host;
      CK(cudaMalloc(&p, 65536 * 4));
      CK(cudaMallocHost(&host, 65536 * 4));
      for (int i = 0; i < 65536; i++) host[i] = (float)(k + i % 100);
      CK(cudaMemcpyAsync(p, host, 65536 * 4, cudaMemcpyHostToDevice, s));
      for (int i = 0; i < 200; i++) {
        generic<<<64 + k, 1024, 0, s>>>(p, 65536);
        packed<<<256, 256, 0, s>>>(Pack{p, 65536, 1.0f, (float)i});
        if (i % 20 == 0) CK(cudaStreamSynchronize(s));
        if (i % 50 == 0) {
          float *q;
          CK(cudaMalloc(&q, 4096 * (k + 1)));
          CK(cudaMemcpyAsync(q, p, 4096, cudaMemcpyDeviceToDevice, s));
          CK(cudaFree(q));
        }
      }
      CK(cudaMemcpyAsync(host, p, 65536 * 4, cudaMemcpyDeviceToHost, s));
      CK(cudaStreamSynchronize(s));
      sums[k] = sum(host, 65536 * 4);
    });
  for (auto &t : all) t.join();
  printf("threads %08x %08x %08x %08x\n", sums[0], sums[1], sums[2], sums[3]);
}

// Memory mapped piece by piece, as growing arrays and some allocators do.
static void *entry(const char *name) {
  void *f = nullptr;
  cudaDriverEntryPointQueryResult r;
  CK(cudaGetDriverEntryPointByVersion(name, &f, 12000, cudaEnableDefault, &r));
  return f;
}
#define DRIVER(name) ((decltype(&name))entry(#name))
static void mapped() {
  CK(cudaFree(0));
  CUmemAllocationProp prop = {};
  prop.type = CU_MEM_ALLOCATION_TYPE_PINNED;
  prop.location.type = CU_MEM_LOCATION_TYPE_DEVICE;
  size_t grain = 0;
  DRIVER(cuMemGetAllocationGranularity)(&grain, &prop, CU_MEM_ALLOC_GRANULARITY_MINIMUM);
  CUdeviceptr p;
  DRIVER(cuMemAddressReserve)(&p, 4 * grain, 0, 0, 0);
  for (int i = 0; i < 2; i++) {
    CUmemGenericAllocationHandle h;
    if (DRIVER(cuMemCreate)(&h, grain, &prop, 0) || DRIVER(cuMemMap)(p + i * grain, grain, 0, h, 0)) exit(8);
    CUmemAccessDesc d = {};
    d.location = prop.location;
    d.flags = CU_MEM_ACCESS_FLAGS_PROT_READWRITE;
    if (DRIVER(cuMemSetAccess)(p + i * grain, grain, &d, 1)) exit(8);
  }
  CK(cudaMemset((void *)p, 0, 2 * grain));
  int count = (int)(2 * grain / 4);
  generic<<<(count + 255) / 256, 256>>>((float *)p, count);
  report("mapped", (void *)p, 2 * grain);
  DRIVER(cuMemUnmap)(p, 2 * grain);
  float *q;
  CK(cudaMalloc(&q, 4096));
  CK(cudaMemset(q, 0, 4096));
  generic<<<4, 256>>>(q, 1024);
  report("unmapped", q, 4096);
}

// A module that is loaded by hand: functions instead of kernels, arguments in one buffer.
static void driver(const char *cubin) {
  CK(cudaFree(0));
  CUmodule m;
  CUfunction in, vars;
  if (DRIVER(cuModuleLoad)(&m, cubin) || DRIVER(cuModuleGetFunction)(&in, m, "_Z7inplacePfiS_") ||
      DRIVER(cuModuleGetFunction)(&vars, m, "_Z9variablesPf"))
    exit(8);
  struct { float *p; int n; float *elsewhere; } args;
  CK(cudaMalloc(&args.p, 4096 * 4));
  CK(cudaMemset(args.p, 0, 4096 * 4));
  args.n = 4000;
  args.elsewhere = args.p;
  size_t size = sizeof args;
  void *extra[] = {CU_LAUNCH_PARAM_BUFFER_POINTER, &args, CU_LAUNCH_PARAM_BUFFER_SIZE, &size, CU_LAUNCH_PARAM_END};
  for (int i = 0; i < 3; i++)
    if (DRIVER(cuLaunchKernel)(in, 16, 1, 1, 256, 1, 1, 0, 0, nullptr, extra)) exit(8);
  void *params[] = {&args.p};
  for (int i = 0; i < 2; i++)
    if (DRIVER(cuLaunchKernel)(vars, 1, 1, 1, 64, 1, 1, 0, 0, params, nullptr)) exit(8);
  report("driver", args.p, 4096 * 4);
  CK(cudaDeviceSynchronize());
  DRIVER(cuModuleUnload)(m);
  if (DRIVER(cuModuleLoad)(&m, cubin) || DRIVER(cuModuleGetFunction)(&vars, m, "_Z9variablesPf")) exit(8); // at the old place, maybe
  if (DRIVER(cuLaunchKernel)(vars, 1, 1, 1, 64, 1, 1, 0, 0, params, nullptr)) exit(8);
  report("again", args.p, 4096 * 4);
}

static void managed() {
  float *m;
  CK(cudaMallocManaged(&m, 4096));
  memset(m, 0, 4096);
  generic<<<4, 256>>>(m, 1024);
  CK(cudaDeviceSynchronize());
  report("managed", m, 4096);
}

// Hardly any memory left on the device, taken by arrays (which are not saved): the copy has to go to the host.
static void tight() {
  float *p;
  size_t bytes = (size_t)1 << 30, left, total;
  CK(cudaMalloc(&p, bytes));
  CK(cudaMemset(p, 0, bytes));
  cudaChannelFormatDesc d = cudaCreateChannelDesc<float>();
  for (;;) {
    cudaArray_t a;
    CK(cudaMemGetInfo(&left, &total));
    if (left < (size_t)2600 << 20) break;
    CK(cudaMallocArray(&a, &d, 16384, 16384));
  }
  inplace<<<n / 256, 256>>>(p + (100 << 20), n, p);
  CK(cudaDeviceSynchronize());
  report("tight", p + (100 << 20), n * 4);
}

// Work in another stream that waits for the host: the device is never idle while the launch waits.
static void waits() {
  static volatile bool go = false;
  cudaStream_t s;
  float *p;
  CK(cudaMalloc(&p, 4096));
  CK(cudaMemset(p, 0, 4096));
  CK(cudaStreamCreateWithFlags(&s, cudaStreamNonBlocking));
  inplace<<<2, 256>>>(p, 512, p); // loaded now: loading waits for the whole device, and would wait for ever below
  CK(cudaDeviceSynchronize());
  CK(cudaLaunchHostFunc(s, [](void *) { while (!go) usleep(100); }, nullptr));
  inplace<<<4, 256>>>(p, 1024, p);
  go = true;
  CK(cudaDeviceSynchronize());
  report("waits", p, 4096);
}

// Very many allocations.
static void many() {
  std::vector<float *> all(20000);
  for (auto &p : all) {
    CK(cudaMalloc(&p, 4096));
    CK(cudaMemset(p, 0, 4096));
  }
  inplace<<<4, 256>>>(all[777], 1024, all[0]);
  report("many", all[777], 4096);
}

// More memory than can be saved anywhere.
static void full() {
  float *p;
  CK(cudaMalloc(&p, (size_t)100 << 30));
  CK(cudaMemset(p, 0, n * 4));
  inplace<<<n / 256, 256>>>(p, n, p);
  report("full", p, n * 4);
}

// A lot of memory, of which little is written.
static void large() {
  char *p;
  CK(cudaMalloc(&p, (size_t)32 << 30));
  CK(cudaMemset(p, 0, (size_t)32 << 30));
  inplace<<<n / 256, 256>>>((float *)(p + ((size_t)20 << 30)), n, (float *)p);
  report("large", p + ((size_t)20 << 30), n * 4);
}

int main(int argc, char **argv) {
  const char *what = argc > 1 ? argv[1] : "plain";
  setvbuf(stdout, nullptr, _IOLBF, 0);
  if (!strcmp(what, "plain")) plain();
  else if (!strcmp(what, "schedules")) schedules();
  else if (!strcmp(what, "alone")) alone();
  else if (!strcmp(what, "threads")) threads();
  else if (!strcmp(what, "mapped")) mapped();
  else if (!strcmp(what, "managed")) managed();
  else if (!strcmp(what, "driver") && argc > 2) driver(argv[2]);
  else if (!strcmp(what, "tight")) tight();
  else if (!strcmp(what, "full")) full();
  else if (!strcmp(what, "waits")) waits();
  else if (!strcmp(what, "many")) many();
  else if (!strcmp(what, "large")) large();
  else if (!strcmp(what, "crash")) { plain(); abort(); }
  else if (!strcmp(what, "exit")) { plain(); _exit(5); }
  else if (!strcmp(what, "fork")) {
    if (pid_t child = fork()) {
      int status;
      waitpid(child, &status, 0);
      if (status) return 7;
    }
    plain();
    if (fork() == 0) _exit(0); // a child of a process that has used CUDA
    wait(nullptr);
  } else return 6;
  CK(cudaDeviceSynchronize());
  CK(cudaGetLastError());
  printf("done\n");
  return 0;
}
