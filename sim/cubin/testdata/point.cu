// Kernels with all that a table of kernels would change: barriers, variables of each kind, a call.
__device__ int counter;
__device__ float words[64] = {1, 2, 3};
static __device__ float own[8] = {4};
__device__ float of4[4] = {1, 2, 3, 4};
__device__ char bytes[99] = "some", more[3], most[5000];
__device__ double wide = 3, *to = &wide;
__constant__ float few[16];
__device__ __noinline__ float helper(float x, int n) { return n > 0 ? x * few[n] : own[7 & n]; }
extern "C" __global__ void k(float *p, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) p[i] = p[i] * words[i % 64] + few[i % 16] + own[i % 8], atomicAdd(&counter, 1);
}
extern "C" __global__ void second(float *p, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < 1024) p[i] = p[i] * words[i % 64] + few[i % 16] + own[i % 8], atomicAdd(&counter, 1);
}
extern "C" __global__ void sums(float *p) {
  __shared__ float s[64];
  s[threadIdx.x] = p[threadIdx.x];
  __syncthreads();
  p[threadIdx.x] = s[63 - threadIdx.x] + counter;
}
extern "C" __global__ void calls(float *p, int n) { p[threadIdx.x] = helper(p[threadIdx.x], n); }
