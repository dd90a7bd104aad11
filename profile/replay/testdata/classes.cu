// Programs in one, each of which a search inside the program harms or a capture gets wrong where it is careless: classes NAME. Each checks
// itself and prints "NAME ok", or what was wrong and exits with 1. "classes" alone lists the names.
#include <cuda.h>
#include <atomic>
#include <chrono>
#include <cmath>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <cuda_runtime.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <thread>
#include <unistd.h>
#include <vector>

#define CK(x) do { cudaError_t e_ = (x); if (e_ != cudaSuccess) { printf("%s: %s\n", #x, cudaGetErrorString(e_)); exit(1); } } while (0)
static const char *name;
static int ok(bool good, const char *what) { printf("%s %s\n", name, good ? "ok" : what); return good ? 0 : 1; }
static double now() { return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count(); }

// A kernel with work enough to be worth a search; every case launches it or a sibling.
__global__ void work(float *a, const float *b, int n, float s, int t) {
  for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x) {
    float x = b[i];
    for (int k = 0; k < 40; k++) x = x * s + a[i] * 0.001f;
    a[i] = x + t;
  }
}
static void host_work(float *a, const float *b, int n, float s, int t) {
  for (int i = 0; i < n; i++) {
    float x = b[i];
    for (int k = 0; k < 40; k++) x = fmaf(x, s, a[i] * 0.001f);
    a[i] = x + t;
  }
}
struct Data {
  float *a, *b; std::vector<float> ha, hb; int n;
  Data(int n) : ha(n), hb(n), n(n) {
    for (int i = 0; i < n; i++) ha[i] = i % 17, hb[i] = i % 31;
    CK(cudaMalloc(&a, n * 4)); CK(cudaMalloc(&b, n * 4));
    CK(cudaMemcpy(a, ha.data(), n * 4, cudaMemcpyHostToDevice)); CK(cudaMemcpy(b, hb.data(), n * 4, cudaMemcpyHostToDevice));
  }
  void step(int t, cudaStream_t s = 0) { work<<<256, 256, 0, s>>>(a, b, n, 0.5f, t); host_work(ha.data(), hb.data(), n, 0.5f, t); }
  bool right() {
    std::vector<float> g(n);
    CK(cudaMemcpy(g.data(), a, n * 4, cudaMemcpyDeviceToHost));
    for (int i = 0; i < n; i++) if (fabsf(g[i] - ha[i]) > 1e-4f * fabsf(ha[i]) + 1e-5f) return false;
    return true;
  }
};
static int plain() { Data d(100000); for (int t = 0; t < 20; t++) d.step(t); return ok(d.right(), "wrong"); }

__global__ void list(float **rows, int n, int m) { for (int i = blockIdx.x; i < n; i += gridDim.x) for (int j = threadIdx.x; j < m; j += blockDim.x) rows[i][j] = rows[i][j] * 1.5f + i; }
static int chain() {
  const int n = 64, m = 5000; std::vector<float *> rows(n); std::vector<float> h(m);
  for (int i = 0; i < n; i++) { for (int j = 0; j < m; j++) h[j] = j % 13; CK(cudaMalloc(&rows[i], m * 4)); CK(cudaMemcpy(rows[i], h.data(), m * 4, cudaMemcpyHostToDevice)); }
  float **d; CK(cudaMalloc(&d, n * 8)); CK(cudaMemcpy(d, rows.data(), n * 8, cudaMemcpyHostToDevice));
  for (int k = 0; k < 5; k++) list<<<32, 128>>>(d, n, m);
  bool good = true;
  for (int i = 0; i < n; i++) { CK(cudaMemcpy(h.data(), rows[i], m * 4, cudaMemcpyDeviceToHost)); for (int j = 0; j < m; j++) { float x = j % 13; for (int k = 0; k < 5; k++) x = x * 1.5f + i; good = good && x == h[j]; } }
  return ok(good, "wrong");
}

__device__ int counter; __device__ float table[1000]; __constant__ float scale[4];
__global__ void count(float *a, int n) { int i = blockIdx.x * blockDim.x + threadIdx.x; if (i == 0) counter++; if (i < n) a[i] = a[i] * scale[i & 3] + table[i % 1000] + counter * 0; }
static int variables() {
  Data d(50000); float s[4] = {1, 2, 0.5f, 0.25f}; std::vector<float> t(1000, 3.0f);
  CK(cudaMemcpyToSymbol(scale, s, 16)); CK(cudaMemcpyToSymbol(table, t.data(), 4000));
  for (int k = 0; k < 20; k++) count<<<200, 256>>>(d.a, d.n);
  int c = 0; CK(cudaMemcpyFromSymbol(&c, counter, 4));
  return ok(c == 20, "counted wrongly");
}
__global__ void inside(int **p, int n) { for (int i = threadIdx.x; i < n; i += blockDim.x) atomicAdd(*p + 0, 1); }
static int to_variable() { // memory that holds the address of a variable
  void *v; int **d; CK(cudaGetSymbolAddress(&v, counter)); CK(cudaMalloc(&d, 8)); CK(cudaMemcpy(d, &v, 8, cudaMemcpyHostToDevice));
  for (int k = 0; k < 10; k++) inside<<<1, 128>>>(d, 1000);
  int c = 0; CK(cudaMemcpyFromSymbol(&c, counter, 4)); return ok(c == 10000, "counted wrongly");
}
static int host_thread() { // a CPU thread writes pinned memory all the time
  Data d(100000); std::atomic<bool> stop{false}; volatile unsigned *p; CK(cudaMallocHost((void **)&p, 1 << 20)); memset((void *)p, 0, 1 << 20);
  std::atomic<long> lost{0};
  std::thread w([&] { unsigned i = 0; while (!stop) { p[100] = ++i; for (int k = 0; k < 50; k++) if (p[100] != i) { lost++; break; } } });
  for (int t = 0; t < 30; t++) { d.step(t); CK(cudaDeviceSynchronize()); }
  stop = true; w.join(); return ok(lost == 0 && d.right(), "words of a CPU thread were undone");
}
static int shared_memory() { // another process writes memory that is registered here
  Data d(100000); volatile unsigned *p = (volatile unsigned *)mmap(0, 1 << 20, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  pid_t c = fork();
  if (c == 0) { unsigned i = 0; while (p[0] == 0) { p[100] = ++i; if (p[100] != i) p[200]++; } _exit(0); }
  CK(cudaHostRegister((void *)p, 1 << 20, cudaHostRegisterMapped));
  for (int t = 0; t < 30; t++) { d.step(t); CK(cudaDeviceSynchronize()); }
  p[0] = 1; waitpid(c, 0, 0); return ok(p[200] == 0 && d.right(), "words of another process were undone");
}
__global__ void wait_for(volatile int *flag, float *a, int n) { if (blockIdx.x == 0 && threadIdx.x == 0) while (*flag == 0) {} for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x) a[i] += 1; }
static int waits_for_host() {
  Data d(1000); volatile int *f; CK(cudaHostAlloc((void **)&f, 4096, cudaHostAllocMapped));
  for (int k = 0; k < 3; k++) { *f = 0; wait_for<<<4, 128>>>(f, d.a, d.n); usleep(100000); *f = 1; CK(cudaDeviceSynchronize()); }
  return ok(true, "");
}
__global__ void wait_dev(volatile int *flag) { while (*flag == 0) {} }
__global__ void set_dev(volatile int *flag) { *flag = 1; }
static int waits_for_kernel() {
  cudaStream_t a, b; CK(cudaStreamCreateWithFlags(&a, cudaStreamNonBlocking)); CK(cudaStreamCreateWithFlags(&b, cudaStreamNonBlocking)); int *f; CK(cudaMalloc(&f, 4096));
  Data d(100000); set_dev<<<1, 1>>>(f); d.step(0); // loaded now: loading waits for the device
  for (int k = 0; k < 3; k++) { CK(cudaMemset(f, 0, 4)); CK(cudaDeviceSynchronize()); wait_dev<<<1, 1, 0, a>>>(f); d.step(k, b); set_dev<<<1, 1, 0, b>>>(f); CK(cudaDeviceSynchronize()); }
  return ok(d.right(), "wrong");
}
__global__ void long_one(long long ns, int *o) { long long s, t; asm volatile("mov.u64 %0,%%globaltimer;" : "=l"(s)); do asm volatile("mov.u64 %0,%%globaltimer;" : "=l"(t)); while (t - s < ns); *o += 1; }
static int long_kernel() { int *o, h = 0; CK(cudaMalloc(&o, 4)); CK(cudaMemset(o, 0, 4)); for (int k = 0; k < 2; k++) long_one<<<1, 1>>>(4000000000ll, o); CK(cudaMemcpy(&h, o, 4, cudaMemcpyDeviceToHost)); return ok(h == 2, "wrong"); }
__global__ void allocate(int **p) { if (!p[threadIdx.x]) p[threadIdx.x] = (int *)malloc(64); if (p[threadIdx.x]) p[threadIdx.x][0]++; }
static int device_heap() { int **p; Data d(100000); CK(cudaMalloc(&p, 256 * 8)); CK(cudaMemset(p, 0, 256 * 8)); for (int k = 0; k < 10; k++) { allocate<<<1, 256>>>(p); d.step(k); } CK(cudaDeviceSynchronize()); return ok(d.right(), "wrong"); }
static int free_fails() { // freeing an address inside an allocation fails, and the memory lives on
  Data d(100000); cudaFree(d.a + 64); cudaGetLastError(); for (int t = 0; t < 20; t++) d.step(t); return ok(d.right(), "wrong");
}
static char *guarded; static std::atomic<int> faults{0};
static void on_segv(int, siginfo_t *i, void *) { faults++; if ((char *)i->si_addr < guarded || (char *)i->si_addr >= guarded + (1 << 20)) _exit(99); mprotect(guarded, 1 << 20, PROT_READ | PROT_WRITE); }
static int protected_pages() {
  Data d(100000); guarded = (char *)mmap(0, 1 << 20, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0); memset(guarded, 1, 1 << 20);
  CK(cudaHostRegister(guarded, 1 << 20, cudaHostRegisterMapped)); struct sigaction s = {}; s.sa_sigaction = on_segv; s.sa_flags = SA_SIGINFO; sigaction(SIGSEGV, &s, 0); mprotect(guarded, 1 << 20, PROT_NONE);
  for (int t = 0; t < 20; t++) d.step(t);
  int before = faults; guarded[5] = 2; return ok(d.right() && before == 0 && faults == 1, "pages under mprotect were touched");
}
static int threads() { // many threads, each with arguments of its own
  std::vector<std::thread> ts; std::atomic<int> bad{0};
  for (int k = 0; k < 16; k++) ts.emplace_back([&, k] { Data d(20000 + 64 * k); cudaStream_t s; CK(cudaStreamCreate(&s)); for (int t = 0; t < 40; t++) d.step(t, s); CK(cudaStreamSynchronize(s)); if (!d.right()) bad++; });
  for (auto &t : ts) t.join(); return ok(bad == 0, "wrong");
}
__global__ void tick(volatile unsigned *p) { *p = *p + 1; }
static int polled_counter() { // the host polls a counter that kernels raise
  volatile unsigned *p; CK(cudaHostAlloc((void **)&p, 4096, cudaHostAllocMapped)); *p = 0; unsigned last = 0, steps = 0;
  for (int k = 0; k < 20; k++) { tick<<<1, 1>>>(p); while (*p == last) {} steps += *p - last; last = *p; } CK(cudaDeviceSynchronize()); return ok(steps == 20 && *p == 20, "counted more than there was");
}
static int write_combined() {
  char *p; CK(cudaHostAlloc((void **)&p, 256 << 20, cudaHostAllocWriteCombined | cudaHostAllocMapped)); Data d(100000); double t0 = now(); for (int t = 0; t < 40; t++) d.step(t); CK(cudaDeviceSynchronize());
  return ok(d.right() && now() - t0 < 10, "slow");
}
static int second_context() { // another context's memory is written meanwhile
  Data d(100000); CUcontext c, old; int *q, h = 0; cuCtxGetCurrent(&old);
#if CUDA_VERSION >= 13000
  if (cuCtxCreate(&c, nullptr, 0, 0)) return ok(false, "no second context");
#else
  if (cuCtxCreate(&c, 0, 0)) return ok(false, "no second context");
#endif
  CUdeviceptr m; cuMemAlloc(&m, 4096); cuMemsetD32(m, 7, 1024); cuCtxSetCurrent(old); (void)q;
  for (int t = 0; t < 20; t++) { d.step(t); cuCtxSetCurrent(c); cuMemsetD32(m, 100 + t, 1024); cuMemcpyDtoH(&h, m, 4); cuCtxSetCurrent(old); if (h != 100 + t) return ok(false, "the other context's memory was undone"); }
  return ok(d.right(), "wrong");
}
static int managed() { float *m; CK(cudaMallocManaged(&m, 400000)); Data d(100000); for (int i = 0; i < 100000; i++) m[i] = i; for (int t = 0; t < 10; t++) { d.step(t); work<<<64, 256>>>(m, d.b, 100000, 0.5f, t); CK(cudaDeviceSynchronize()); } return ok(d.right(), "wrong"); }
static int graph() {
  Data d(100000); cudaStream_t s; CK(cudaStreamCreate(&s)); cudaGraph_t g; cudaGraphExec_t e; CK(cudaStreamBeginCapture(s, cudaStreamCaptureModeGlobal)); work<<<256, 256, 0, s>>>(d.a, d.b, d.n, 0.5f, 1); CK(cudaStreamEndCapture(s, &g)); CK(cudaGraphInstantiate(&e, g, 0));
  for (int t = 0; t < 10; t++) { CK(cudaGraphLaunch(e, s)); host_work(d.ha.data(), d.hb.data(), d.n, 0.5f, 1); } CK(cudaStreamSynchronize(s)); for (int t = 0; t < 5; t++) d.step(t); return ok(d.right(), "wrong");
}
static int pool() { Data d(100000); for (int t = 0; t < 20; t++) { float *p; CK(cudaMallocAsync(&p, 400000, 0)); CK(cudaMemcpyAsync(p, d.b, 400000, cudaMemcpyDeviceToDevice, 0)); work<<<256, 256>>>(d.a, p, d.n, 0.5f, t); host_work(d.ha.data(), d.hb.data(), d.n, 0.5f, t); CK(cudaFreeAsync(p, 0)); } return ok(d.right(), "wrong"); }
static int pinned() { Data d(100000); float *p; CK(cudaMallocHost(&p, 400000)); memcpy(p, d.hb.data(), 400000); for (int t = 0; t < 10; t++) { work<<<256, 256>>>(d.a, p, d.n, 0.5f, t); host_work(d.ha.data(), d.hb.data(), d.n, 0.5f, t); } return ok(d.right(), "wrong"); }
static int child() { Data d(100000); d.step(0); CK(cudaDeviceSynchronize()); pid_t c = fork(); if (c == 0) { execl("/proc/self/exe", "classes", "plain", (char *)0); _exit(9); } int st; waitpid(c, &st, 0); for (int t = 1; t < 10; t++) d.step(t); return ok(d.right() && st == 0, "wrong"); }
static int leaves() { Data d(100000); for (int t = 0; t < 10; t++) d.step(t); CK(cudaDeviceSynchronize()); printf("%s ok\n", name); fflush(stdout); _exit(d.right() ? 0 : 1); }
static int killed() { Data d(100000); for (int t = 0; t < 10; t++) d.step(t); bool r = d.right(); printf("%s %s\n", name, r ? "ok" : "wrong"); fflush(stdout); raise(SIGTERM); return 1; }
__global__ void __launch_bounds__(256) dynamic(float *a, int n) { extern __shared__ float s[]; int i = blockIdx.x * 256 + threadIdx.x; s[threadIdx.x * 60] = i < n ? a[i] : 0; __syncthreads(); if (i < n) a[i] = s[(255 - threadIdx.x) * 60] + 1; }
static int much_shared() { Data d(25600); CK(cudaFuncSetAttribute(dynamic, cudaFuncAttributeMaxDynamicSharedMemorySize, 61440)); CK(cudaFuncSetCacheConfig(dynamic, cudaFuncCachePreferShared)); for (int k = 0; k < 4; k++) dynamic<<<100, 256, 61440>>>(d.a, d.n); CK(cudaDeviceSynchronize()); std::vector<float> g(d.n); CK(cudaMemcpy(g.data(), d.a, d.n * 4, cudaMemcpyDeviceToHost)); bool good = true; for (int i = 0; i < d.n; i++) good = good && g[i] == d.ha[i] + 4; return ok(good, "wrong"); }
static int vmm() {
  CUmemAllocationProp p = {}; p.type = CU_MEM_ALLOCATION_TYPE_PINNED; p.location.type = CU_MEM_LOCATION_TYPE_DEVICE; CUmemAccessDesc a = {}; a.location = p.location; a.flags = CU_MEM_ACCESS_FLAGS_PROT_READWRITE; CUdeviceptr q; CUmemGenericAllocationHandle h[2];
  CK(cudaFree(0)); size_t S = 2 << 20; cuMemAddressReserve(&q, 2 * S, 0, 0, 0); for (int i = 0; i < 2; i++) { cuMemCreate(&h[i], S, &p, 0); cuMemMap(q + i * S, S, 0, h[i], 0); } cuMemSetAccess(q, 2 * S, &a, 1);
  Data d(1000000); CK(cudaMemcpy((void *)q, d.hb.data(), 4000000, cudaMemcpyHostToDevice)); for (int t = 0; t < 10; t++) { work<<<256, 256>>>(d.a, (float *)q, d.n, 0.5f, t); host_work(d.ha.data(), d.hb.data(), d.n, 0.5f, t); } return ok(d.right(), "wrong");
}
static int twice_mapped() { // one piece of memory at two addresses
  CUmemAllocationProp p = {}; p.type = CU_MEM_ALLOCATION_TYPE_PINNED; p.location.type = CU_MEM_LOCATION_TYPE_DEVICE; CUmemAccessDesc a = {}; a.location = p.location; a.flags = CU_MEM_ACCESS_FLAGS_PROT_READWRITE; CUdeviceptr q, r; CUmemGenericAllocationHandle h; CK(cudaFree(0)); size_t S = 2 << 20;
  cuMemCreate(&h, S, &p, 0); cuMemAddressReserve(&q, S, 0, 0, 0); cuMemAddressReserve(&r, S, 0, 0, 0); cuMemMap(q, S, 0, h, 0); cuMemMap(r, S, 0, h, 0); cuMemSetAccess(q, S, &a, 1); cuMemSetAccess(r, S, &a, 1);
  std::vector<float> x(1000, 2.0f), y(1000); CK(cudaMemcpy((void *)q, x.data(), 4000, cudaMemcpyHostToDevice)); for (int t = 0; t < 6; t++) { work<<<1, 1000>>>((float *)q, (float *)r, 1000, 0.5f, 0); host_work(x.data(), x.data(), 1, 0.5f, 0); } CK(cudaMemcpy(y.data(), (void *)r, 4000, cudaMemcpyDeviceToHost)); return ok(fabsf(y[0] - x[0]) < 1e-4f, "wrong");
}
// The first launch's values are the cheapest, and t looks constant there.
__global__ void sets(float *a, int n, int mode, int t) { for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x) { float x = a[i]; for (int k = 0; k < 50 * mode; k++) x = x * 0.999f + (t & 1); a[i] = x; } }
static int value_sets() { Data d(1000000); for (int t = 0; t < 40; t++) sets<<<512, 256>>>(d.a, d.n, t < 2 ? 1 : 4, t); CK(cudaDeviceSynchronize()); return ok(true, ""); }
// Zeros in the data: a copy in which the compiler has folded powf away is wrong on other data.
__global__ void powers(float *o, const float *x, const float *e, int n, float base) { int i = blockIdx.x * blockDim.x + threadIdx.x; if (i < n) o[i] = powf(base + x[i], e[i]) + expf(x[i]) * e[i]; }
static int zeros() { Data d(1000000); CK(cudaMemset(d.b, 0, 4000000)); for (int t = 0; t < 10; t++) powers<<<4000, 256>>>(d.a, d.b, d.b, d.n, 2.0f); CK(cudaDeviceSynchronize()); return ok(true, ""); }
__global__ void texture(float *o, cudaTextureObject_t t, int n) { int i = blockIdx.x * blockDim.x + threadIdx.x; if (i < n) o[i] += tex1Dfetch<float>(t, i); }
static int textures() { Data d(100000); cudaResourceDesc r = {}; r.resType = cudaResourceTypeLinear; r.res.linear.devPtr = d.b; r.res.linear.desc = cudaCreateChannelDesc<float>(); r.res.linear.sizeInBytes = 400000; cudaTextureDesc td = {}; td.readMode = cudaReadModeElementType; cudaTextureObject_t t; CK(cudaCreateTextureObject(&t, &r, &td, 0)); for (int k = 0; k < 10; k++) texture<<<400, 256>>>(d.a, t, d.n); std::vector<float> g(d.n); CK(cudaMemcpy(g.data(), d.a, 400000, cudaMemcpyDeviceToHost)); bool good = true; for (int i = 0; i < d.n; i++) good = good && g[i] == d.ha[i] + 10 * d.hb[i]; return ok(good, "wrong"); }
static int large() { float *p; size_t n = 1500u << 20; CK(cudaMalloc(&p, n)); CK(cudaMemset(p, 1, n)); float *b; CK(cudaMalloc(&b, n)); CK(cudaMemset(b, 0, n)); for (int t = 0; t < 3; t++) work<<<4096, 256>>>(b, p, n / 4, 0.5f, t); CK(cudaDeviceSynchronize()); return ok(true, ""); }

static struct { const char *name; int (*f)(); } cases[] = {{"plain", plain}, {"chain", chain}, {"variables", variables}, {"to_variable", to_variable}, {"host_thread", host_thread}, {"shared_memory", shared_memory}, {"waits_for_host", waits_for_host}, {"waits_for_kernel", waits_for_kernel}, {"long_kernel", long_kernel}, {"device_heap", device_heap}, {"free_fails", free_fails}, {"protected_pages", protected_pages}, {"threads", threads}, {"polled_counter", polled_counter}, {"write_combined", write_combined}, {"second_context", second_context}, {"managed", managed}, {"graph", graph}, {"pool", pool}, {"pinned", pinned}, {"child", child}, {"leaves", leaves}, {"killed", killed}, {"much_shared", much_shared}, {"vmm", vmm}, {"twice_mapped", twice_mapped}, {"value_sets", value_sets}, {"zeros", zeros}, {"textures", textures}, {"large", large}};
int main(int argc, char **argv) {
  name = argc > 1 ? argv[1] : "";
  for (auto &c : cases) if (!*name) puts(c.name); else if (!strcmp(name, c.name)) return c.f();
  return *name ? 2 : 0;
}
