// What kernels of one module share: functions that are not inlined, variables, constants, strings, textures, shared arrays.
#include <cassert>
#include <cstdio>

static __device__ int counter;
__device__ int visible;
__constant__ float table[4] = {1, 2, 3, 4};
static __device__ const char *names[] = {"abc", "def"};
__device__ float (*pointer)(float);

__device__ __noinline__ float sum(const float *a, int n) { float s = 0; for (int i = 0; i < n; i++) s += a[i]; if (s < 0) printf("negative %f\n", s); return s; }
static __device__ __noinline__ float exchange(float x) { __shared__ float s[32]; s[threadIdx.x & 31] = x; __syncthreads(); return s[(threadIdx.x + 1) & 31]; }
static __device__ float scan(float x) { __shared__ float t[64]; t[threadIdx.x & 63] = x; __syncthreads(); for (int i = 0; i < 8; i++) x += t[(threadIdx.x + i) & 63]; return x; }
__device__ __noinline__ float twice(float x) { return 2 * x; }

static __global__ void first(float *a, int n)
{
  __shared__ float buf[32];
  buf[threadIdx.x] = exchange(n) + scan(n);
  __syncthreads();
  a[0] = sum(buf, n);
  printf("hello %d %s\n", n, names[n & 1]);
  const int powers[4] = {1, 2, 4, 8};
  for (int i = 0; i < n; i++) a[i] += powers[i & 3] + table[i & 3];
  atomicAdd(&counter, 1);
  atomicAdd(&visible, n);
}

namespace {
template <class T> __global__ void second(T *a, int n, cudaTextureObject_t tex)
{
  __shared__ T buf[32], other[16];
  { __shared__ T buf[8]; buf[threadIdx.x & 7] = n; __syncthreads(); a[1] = buf[threadIdx.x & 1]; }
  buf[threadIdx.x] = n; other[threadIdx.x & 15] = tex1Dfetch<float>(tex, n);
  __syncthreads();
  a[0] = buf[threadIdx.x ^ 1] + exchange(n) + other[threadIdx.x & 3] + scan(n);
  assert(n < 100);
  printf("other %d\n", n);
}
}

extern "C" __global__ void third(float *a, int n)
{
  extern __shared__ float dynamic[];
  __shared__ float buf[32];
  buf[threadIdx.x] = n;
  dynamic[threadIdx.x] = n;
  __syncthreads();
  for (int i = 0; i < n; i++) a[i] = buf[(threadIdx.x ^ i) & 31] + sum(dynamic, n);
  printf("third %d\n", n);
}

__global__ void fourth(float *a, int n) { pointer = twice; for (int i = 0; i < n; i++) a[i] = pointer(a[i]); }
__global__ void untouched(float *a, int n) { a[0] = sum(a, n) + exchange(n); printf("untouched\n"); }

int main()
{
  first<<<1, 1>>>(0, 1);
  second<float><<<1, 1>>>(0, 1, 0);
  second<double><<<1, 1>>>(0, 1, 0);
}
