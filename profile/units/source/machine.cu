// What an SM of this machine's GPU does: latencies in cycles, rates in results of one lane per cycle and SM, and what
// occupancy is worth to code that waits for its own results. Prints one line each: kind, name, value, tab-separated.
#include <cstdio>
#include <cstdlib>
#include <vector>
#include <algorithm>
#include <cuda_runtime.h>

#define CHECK(call) do { cudaError_t e = (call); if (e != cudaSuccess) { \
  fprintf(stderr, "%s: %s\n", #call, cudaGetErrorString(e)); exit(e == cudaErrorNoDevice || e == cudaErrorInsufficientDriver ? 3 : 1); } } while (0)

// A chain of addresses: each load tells where the next one goes. The first warm steps are not timed, and the next run
// goes on where this one ends: lines that it visits for the first time come from where they were before.
__global__ void chase(const unsigned* next, int warm, int steps, long long* cycles, unsigned* place) {
  unsigned at = *place;
  for (int i = 0; i < warm; i++) at = __ldg(next + at);
  long long start = clock64();
  for (int i = 0; i < steps; i++) at = __ldg(next + at);
  *cycles = clock64() - start;
  *place = at;
}

__global__ void chaseShared(int steps, long long* cycles, unsigned* out) {
  __shared__ unsigned next[1024];
  for (int i = threadIdx.x; i < 1024; i += blockDim.x) next[i] = (i + 33) & 1023;
  __syncthreads();
  unsigned at = threadIdx.x;
  long long start = clock64();
  for (int i = 0; i < steps; i++) at = next[at];
  *cycles = clock64() - start;
  *out = at;
}

// One instruction each, which no compiler can take together with the next one; a test reads the machine code.
struct FP32 { typedef float T; static __device__ void op(T& a, T b) { asm volatile("fma.rn.f32 %0, %0, %1, %1;" : "+f"(a) : "f"(b)); } };
struct FP64 { typedef double T; static __device__ void op(T& a, T b) { asm volatile("fma.rn.f64 %0, %0, %1, %1;" : "+d"(a) : "d"(b)); } };
struct IMad { typedef unsigned T; static __device__ void op(T& a, T b) { asm volatile("mad.lo.u32 %0, %0, %1, %0;" : "+r"(a) : "r"(b)); } };
struct Shift { typedef unsigned T; static __device__ void op(T& a, T b) { asm volatile("shf.l.wrap.b32 %0, %0, %1, %1;" : "+r"(a) : "r"(b)); } };
struct SFU { typedef float T; static __device__ void op(T& a, T) { asm volatile("ex2.approx.ftz.f32 %0, %0;" : "+f"(a)); } };
struct Convert { typedef float T; static __device__ void op(T& a, T) { asm volatile("cvt.rni.f32.f32 %0, %0;" : "+f"(a)); } };
struct Shuffle { typedef unsigned T; static __device__ void op(T& a, T b) { asm volatile("shfl.sync.bfly.b32 %0, %0, %1, 31, -1;" : "+r"(a) : "r"(b)); } };

// When the first block of an SM began and the last one ended, by the SM's own clock: blocks of one SM don't take turns evenly.
__device__ unsigned long long began[1024], ended[1024];
static __device__ void note(long long start, long long end) {
  unsigned sm;
  asm volatile("mov.u32 %0, %%smid;" : "=r"(sm));
  if (threadIdx.x != 0 || sm >= 1024) return;
  atomicMin(&began[sm], (unsigned long long)start);
  atomicMax(&ended[sm], (unsigned long long)end);
}

// N independent chains of an operation.
template <class Op, int N> __global__ void work(int rounds, typename Op::T seed, typename Op::T* out, long long* cycles) {
  typename Op::T v[N];
  for (int k = 0; k < N; k++) v[k] = seed + threadIdx.x + k;
  __syncthreads();
  long long start = clock64();
  for (int i = 0; i < rounds; i++)
#pragma unroll
    for (int u = 0; u < 8; u++)
#pragma unroll
      for (int k = 0; k < N; k++) Op::op(v[k], seed);
  __syncthreads(); // warps don't take turns evenly: the time is the last one's
  long long end = clock64(), took = end - start;
  note(start, end);
  typename Op::T sum = v[0];
  for (int k = 1; k < N; k++) sum += v[k];
  if (sum == (typename Op::T)12345.5) out[0] = sum;
  if (threadIdx.x == 0) cycles[blockIdx.x] = took;
}

__global__ void copy(const float4* in, float4* out, size_t n) {
  for (size_t i = blockIdx.x * (size_t)blockDim.x + threadIdx.x; i < n; i += (size_t)gridDim.x * blockDim.x) out[i] = in[i];
}

// Each warp waits for one load before it asks for the next, in rows of 32 neighbouring words. All words are 0, which
// nobody knows; words is a power of two.
static __device__ unsigned sum(unsigned v) { return v; }
static __device__ unsigned sum(uint2 v) { return v.x + v.y; }
static __device__ unsigned sum(uint4 v) { return v.x + v.y + v.z + v.w; }
template <class T> __global__ void wait(const T* in, size_t words, int rounds, long long* cycles, unsigned* out) {
  size_t at = blockIdx.x * (size_t)blockDim.x + threadIdx.x, step = (size_t)gridDim.x * blockDim.x;
  __syncthreads();
  long long start = clock64();
  for (int i = 0; i < rounds; i++) at = (at + step + sum(__ldcg(in + at))) & (words - 1);
  __syncthreads();
  long long took = clock64() - start;
  if (threadIdx.x == 0) cycles[blockIdx.x] = took;
  if (at == words) *out = 1;
}

static long long* cycles;
static void* sink;

static void latency(const char* name, size_t bytes) {
  size_t n = bytes / 4, line = 128 / 4, lines = n / line;
  std::vector<unsigned> order(lines), next(n, 0);
  for (size_t i = 0; i < lines; i++) order[i] = i;
  unsigned s = 1;
  for (size_t i = lines - 1; i > 0; i--) { s = s * 1664525u + 1013904223u; std::swap(order[i], order[s % (i + 1)]); }
  for (size_t i = 0; i < lines; i++) next[order[i] * line] = order[(i + 1) % lines] * line;
  unsigned* device;
  CHECK(cudaMalloc(&device, bytes));
  CHECK(cudaMemcpy(device, next.data(), bytes, cudaMemcpyHostToDevice));
  bool far = bytes > (64u << 20); // no cache holds it: each line is visited once
  int steps = (int)std::min<size_t>(far ? lines / 4 : lines, 20000);
  CHECK(cudaMemset(sink, 0, 4));
  chase<<<1, 1>>>(device, far ? 1000 : (int)lines * 2, steps, cycles, (unsigned*)sink); // nothing hits the first time
  chase<<<1, 1>>>(device, far ? 0 : (int)lines, steps, cycles, (unsigned*)sink);
  CHECK(cudaDeviceSynchronize());
  printf("latency\t%s\t%.1f\n", name, (double)cycles[0] / steps);
  CHECK(cudaFree(device));
}

template <class Op> static void rate(const char* name, int sms, int rounds) {
  typedef typename Op::T T;
  double best = 0, chain = 0;
  for (int t = 0; t < 3; t++) {
    work<Op, 4><<<sms, 1024>>>(rounds, (T)3, (T*)sink, cycles);
    CHECK(cudaDeviceSynchronize());
    best = std::max(best, 1024.0 * rounds * 8 * 4 / cycles[0]);
    work<Op, 1><<<1, 32>>>(rounds, (T)3, (T*)sink, cycles);
    CHECK(cudaDeviceSynchronize());
    chain = (double)cycles[0] / (rounds * 8.0);
  }
  printf("rate\t%s\t%.2f\nlatency\t%s\t%.2f\n", name, best, name, chain);
}

// Cycles for which SMs were busy with the launch since forget, in the mean.
static void forget() {
  void *a, *b;
  CHECK(cudaGetSymbolAddress(&a, began)); CHECK(cudaGetSymbolAddress(&b, ended));
  CHECK(cudaMemset(a, 0xff, sizeof began)); CHECK(cudaMemset(b, 0, sizeof ended));
}
static double busy() {
  std::vector<unsigned long long> a(1024), b(1024);
  CHECK(cudaMemcpyFromSymbol(a.data(), began, sizeof began)); CHECK(cudaMemcpyFromSymbol(b.data(), ended, sizeof ended));
  double sum = 0; int n = 0;
  for (int i = 0; i < 1024; i++) if (b[i] > a[i]) sum += (double)(b[i] - a[i]), n++;
  return n ? sum / n : 1;
}

// Blocks of so many warps, so that each SM has them resident: one block, or two where one can't hold them.
struct Resident { int blocks, threads; };
static Resident resident(int warps) { return warps > 32 ? Resident{2, warps / 2 * 32} : Resident{1, warps * 32}; }

// f(k): sectors that an SM gets per cycle while k of its warps wait for one load each. What no cache holds is written before
// and read once, from the other end.
template <class T> static void supply(const char* kind, size_t bytes, bool cached, int sms, int most) {
  T* in;
  CHECK(cudaMalloc(&in, bytes));
  CHECK(cudaMemset(in, 0, bytes));
  for (int warps : {1, 2, 4, 8, 12, 16, 24, 32, 48, 64}) {
    if (warps > most) continue;
    Resident r = resident(warps);
    int rounds = cached ? 1000 : (int)std::min<size_t>(2000, bytes / 2 / sizeof(T) / sms / warps / 32);
    if (!cached) CHECK(cudaMemset(in, 0, bytes));
    for (int t = 0; t < 1 + cached; t++) wait<T><<<sms * r.blocks, r.threads>>>(in, bytes / sizeof(T), rounds, cycles, (unsigned*)sink);
    CHECK(cudaDeviceSynchronize());
    double mean = 0;
    for (int b = 0; b < sms * r.blocks; b++) mean += (double)cycles[b] / (sms * r.blocks);
    printf("%s\t%dx%d\t%.5f\n", kind, (int)sizeof(T), warps, (double)sizeof(T) * warps * rounds / mean);
  }
  CHECK(cudaFree(in));
}

int main() {
  cudaDeviceProp p;
  CHECK(cudaGetDeviceProperties(&p, 0));
  int clock = 0, l2 = p.l2CacheSize;
  CHECK(cudaDeviceGetAttribute(&clock, cudaDevAttrClockRate, 0));
  CHECK(cudaMallocManaged(&cycles, 4096 * sizeof(long long)));
  CHECK(cudaMalloc(&sink, 4096));
  printf("device\t%s\t%d\t%d\n", p.name, p.multiProcessorCount, p.major * 10 + p.minor);
  printf("clock\tMHz\t%d\n", clock / 1000);
  latency("l1", 16 << 10);
  latency("l2", std::min(l2 / 8, 4 << 20));
  latency("global", 512 << 20);
  chaseShared<<<1, 32>>>(4096, cycles, (unsigned*)sink);
  CHECK(cudaDeviceSynchronize());
  printf("latency\tshared\t%.1f\n", cycles[0] / 4096.0);
  int sms = p.multiProcessorCount;
  rate<FP32>("fp32", sms, 2000);
  rate<FP64>("fp64", sms, 500);
  rate<IMad>("imad", sms, 1000);
  rate<Shift>("integer", sms, 1000);
  rate<SFU>("sfu", sms, 500);
  rate<Convert>("convert", sms, 500);
  rate<Shuffle>("shuffle", sms, 500);
  int most = p.maxThreadsPerMultiProcessor / 32;
  // f(occupancy) and g(x): one dependent chain a thread; the same work in all, done by fewer warps at once.
  for (int warps = 1; warps <= most; warps += warps < 4 ? 1 : 4) {
    if (warps > 32 && warps % 8 != 0) continue;
    Resident r = resident(warps);
    int rounds = 2000 * 64 / warps;
    cudaEvent_t a, b;
    CHECK(cudaEventCreate(&a)); CHECK(cudaEventCreate(&b));
    float ms = 0;
    for (int t = 0; t < 2; t++) {
      forget();
      CHECK(cudaEventRecord(a));
      work<FP32, 1><<<sms * r.blocks, r.threads>>>(rounds, 3.f, (float*)sink, cycles);
      CHECK(cudaEventRecord(b));
      CHECK(cudaDeviceSynchronize());
      CHECK(cudaEventElapsedTime(&ms, a, b));
    }
    printf("occupancy\t%d\t%.5f\n", warps, ms);
    printf("issue\t%d\t%.5f\n", warps, 8.0 * rounds * warps / busy());
  }
  // f(k) of device memory and of L2, by width.
  size_t far = (size_t)1 << 30, near = (size_t)1 << 20;
  while (near * 4 <= (size_t)l2) near *= 2;
  supply<unsigned>("supply", far, false, sms, most);
  supply<uint2>("supply", far, false, sms, most);
  supply<uint4>("supply", far, false, sms, most);
  supply<unsigned>("supplyL2", near, true, sms, most);
  supply<uint4>("supplyL2", near, true, sms, most);
  size_t n = (size_t)1 << 26;
  float4 *in, *out;
  CHECK(cudaMalloc(&in, n * 8)); CHECK(cudaMalloc(&out, n * 8));
  cudaEvent_t a, b;
  CHECK(cudaEventCreate(&a)); CHECK(cudaEventCreate(&b));
  double best = 0;
  for (int t = 0; t < 5; t++) {
    CHECK(cudaEventRecord(a));
    copy<<<sms * 8, 256>>>(in, out, n / 2);
    CHECK(cudaEventRecord(b));
    CHECK(cudaDeviceSynchronize());
    float ms;
    CHECK(cudaEventElapsedTime(&ms, a, b));
    best = std::max(best, n * 8 * 2 / (ms * 1e-3));
  }
  printf("rate\tsectors\t%.4f\n", best / 32 / sms / (clock * 1e3));
  return 0;
}
