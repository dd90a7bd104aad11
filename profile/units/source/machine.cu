// What an SM of this machine's GPU does: latencies in cycles, rates in results of one lane per cycle and SM, and what
// occupancy is worth to code that waits for its own results. Prints one line each: kind, name, value, tab-separated.
#include <cstdio>
#include <cstdlib>
#include <vector>
#include <algorithm>
#include <cuda_runtime.h>

#define CHECK(call) do { cudaError_t e = (call); if (e != cudaSuccess) { \
  fprintf(stderr, "%s: %s\n", #call, cudaGetErrorString(e)); exit(e == cudaErrorNoDevice || e == cudaErrorInsufficientDriver ? 3 : 1); } } while (0)

// A chain of addresses: each load tells where the next one goes.
__global__ void chase(const unsigned* next, int steps, long long* cycles, unsigned* out) {
  unsigned at = 0;
  for (int i = 0; i < steps / 4; i++) at = __ldg(next + at); // warm
  long long start = clock64();
  for (int i = 0; i < steps; i++) at = __ldg(next + at);
  *cycles = clock64() - start;
  *out = at;
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

struct FP32 { typedef float T; static __device__ T op(T a, T b) { return fmaf(a, b, b); } };
struct FP64 { typedef double T; static __device__ T op(T a, T b) { return fma(a, b, b); } };
struct IMad { typedef unsigned T; static __device__ T op(T a, T b) { return a * b + b; } };
struct Logic { typedef unsigned T; static __device__ T op(T a, T b) { return (a ^ b) + (a & 0x55u); } };
struct SFU { typedef float T; static __device__ T op(T a, T b) { asm volatile("rcp.approx.ftz.f32 %0, %0;" : "+f"(a)); return a; } };
struct Convert { typedef float T; static __device__ T op(T a, T b) { return (float)__float2int_rn(a); } };
struct Shuffle { typedef unsigned T; static __device__ T op(T a, T b) { return __shfl_xor_sync(~0u, a, 5); } };

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
      for (int k = 0; k < N; k++) v[k] = Op::op(v[k], seed);
  long long took = clock64() - start;
  typename Op::T sum = v[0];
  for (int k = 1; k < N; k++) sum += v[k];
  if (sum == (typename Op::T)12345.5) out[0] = sum;
  if (threadIdx.x == 0) cycles[blockIdx.x] = took;
}

__global__ void copy(const float4* in, float4* out, size_t n) {
  for (size_t i = blockIdx.x * (size_t)blockDim.x + threadIdx.x; i < n; i += (size_t)gridDim.x * blockDim.x) out[i] = in[i];
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
  int steps = (int)std::min<size_t>(lines, 20000);
  chase<<<1, 1>>>(device, bytes > (64u << 20) ? steps : (int)lines * 8, cycles, (unsigned*)sink); // the cache's content settles
  chase<<<1, 1>>>(device, steps, cycles, (unsigned*)sink);
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
  rate<Logic>("integer", sms, 1000);
  rate<SFU>("sfu", sms, 500);
  rate<Convert>("convert", sms, 500);
  rate<Shuffle>("shuffle", sms, 500);
  // f(occupancy): one dependent chain a thread, 64 warps' work in all, done with fewer warps at once.
  CHECK(cudaFuncSetAttribute(work<FP32, 1>, cudaFuncAttributeMaxDynamicSharedMemorySize, p.sharedMemPerBlockOptin));
  for (int warps = 4; warps <= p.maxThreadsPerMultiProcessor / 32; warps += 4) {
    int block = std::min(warps, 32) * 32;
    if (warps > 32 && warps % 8 != 0) continue;
    int blocks = warps > 32 ? 2 : 1;
    if (warps > 32) block = warps / 2 * 32;
    cudaEvent_t a, b;
    CHECK(cudaEventCreate(&a)); CHECK(cudaEventCreate(&b));
    int rounds = 4000 * 64 / warps;
    work<FP32, 1><<<sms * blocks, block>>>(rounds, 3.f, (float*)sink, cycles);
    CHECK(cudaEventRecord(a));
    work<FP32, 1><<<sms * blocks, block>>>(rounds, 3.f, (float*)sink, cycles);
    CHECK(cudaEventRecord(b));
    CHECK(cudaDeviceSynchronize());
    float ms;
    CHECK(cudaEventElapsedTime(&ms, a, b));
    printf("occupancy\t%d\t%.5f\n", warps, ms);
  }
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
