// What a kernel reads through its pointers: rewrite/reads_test.go has what is to be seen.
#include <cuda_bf16.h>
#include <cuda_fp16.h>
struct Row { const double *d; int n; };
__global__ void mixed(float *o, const float *x, const int *at, const double *d, const unsigned *bits, int n, Row row) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  float s = x[at[i]];
  if (s > 0.5f) s = -s;
  o[i] += s * (float)d[i] + __uint_as_float(bits[i] & 0x3fffffff) + (float)row.d[i % row.n];
}
// Math functions look at bits.
__global__ void math(float *o, const float *x, const float *e, const double *d, int n, float base) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) o[i] = powf(base + x[i], e[i]) + sinf(x[i]) + (float)exp(d[i]);
}
__global__ void vectors(float4 *o, const float4 *x, const double2 *d, const int4 *k, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  float4 v = x[i];
  double2 w = d[i];
  int4 j = k[i];
  o[i] = make_float4(v.x + v.y, v.z * 2, v.w - (float)w.x, (float)w.y + (float)(j.x + j.y * j.z + j.w));
}
// Copies, bins, sums by atomics, packed halves.
__global__ void others(float *to, const float *from, unsigned *bins, const float *v, float *sum, const unsigned *halves, float *out, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  to[i] = from[i];
  bins[(int)v[i]] = 1;
  atomicAdd(sum, 1.0f);
  unsigned h = halves[i], r;
  asm("add.rn.f16x2 %0, %1, %1;" : "=r"(r) : "r"(h));
  out[i] = (float)r;
}
// Halves and bfloat16s, single and in pairs; bits that only look like halves.
__global__ void halves(float *o, const __half *h, const __nv_bfloat16 *b, const __half2 *p, const unsigned short *k, int n, const __half *at) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  __half2 q = __hfma2(p[i], p[i], p[n - i]);
  o[i] = __half2float(h[i]) + __bfloat162float(b[i]) + __low2float(q) + k[(int)__half2float(at[i])];
}
// A float array by tiles, through shared memory and shuffles.
__global__ void tile(float *o, const float *x, int n) {
  __shared__ float s[256];
  int i = blockIdx.x * 256 + threadIdx.x;
  s[threadIdx.x] = i < n ? x[i] : 0;
  __syncthreads();
  float v = s[255 - threadIdx.x];
  for (int k = 16; k; k >>= 1) v += __shfl_xor_sync(~0u, v, k);
  if (i < n) o[i] = v * x[i];
}
// Numbers that only scale or select, tables, numbers that are cut to an index.
__constant__ float taps[16];
__constant__ int where[16];
__device__ double rate[4];
__device__ float given[4];
__device__ __noinline__ float called(const float *p) { return p[1] * 2; }
__global__ void weights(float *o, const float *x, const unsigned char *mask, const int *kind, const int *ends, const float *at, int *next, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n || kind[i] < 0) return;
  float s = x[i] * taps[i & 15] * mask[i] + (kind[i] == 7 ? 1.f : x[where[i & 15]]) * (float)rate[i & 3] + called(given);
  for (int j = 0; j < ends[i]; j++) s += x[j] * s;
  for (int j = i; j < n; j = next[j]) s *= x[j];
  o[i] = s + x[(int)at[i]] * at[i];
}
