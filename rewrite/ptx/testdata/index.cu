// Kernels that use the index over the grid alone (free_XYZ: in these dimensions), and kernels that see more of the launch's shape.
#define I(D) (blockIdx.D * blockDim.D + threadIdx.D)
#include <cassert>
#include <cstdio>
extern "C" {
__global__ void free_100_plain(float *a, int n) { int i = I(x); if (i < n) a[i] *= 2; }
__global__ void free_100_stride(float *a, int n) { for (int i = I(x); i < n; i += blockDim.x * gridDim.x) a[i] *= 2; }
__global__ void free_100_wide(float *a, size_t n) { size_t i = (size_t)blockIdx.x * blockDim.x + threadIdx.x; if (i < n) a[i] *= 2; }
__global__ void free_100_order(float *a, int n) { int i = threadIdx.x + blockDim.x * blockIdx.x; if (i < n) a[i] = i; }
__global__ void free_110_plane(float *a, int w, int h) { int x = I(x), y = I(y); if (x < w && y < h) a[y * w + x] *= 2; }
__global__ void free_111_space(float *a, int w, int h) { a[(I(z) * h + I(y)) * w + I(x)] *= 2; }
__global__ void free_010_rows(float *a, int n) { int y = I(y); for (int k = 0; k < n; k++) a[y * n + k] += k; }
__global__ void free_100_sum(int *a, unsigned long long *b) { atomicAdd(a, I(x)); atomicMax(b, (unsigned long long)I(x)); }
__global__ void free_100_guard(float *a, int n) { int i = I(x); if (i >= n) return; for (int k = 0; k < i; k++) { if (a[k] < 0) break; a[i] += a[k]; } }
__global__ void free_100_table(float *a, int n) { float t[16]; for (int k = 0; k < 16; k++) t[k] = a[k * n]; a[I(x)] = t[I(x) & 15]; }
__device__ __noinline__ double power(double x, int n) { double y = 1; for (int k = 0; k < n; k++) y *= x; return y; }
__global__ void free_100_calls(double *a, double e) { a[I(x)] = pow(a[I(x)], e) + sin(a[I(x)] * 1e9) + power(e, I(x)); }
__device__ __noinline__ int own() { return I(y); }
__global__ void free_010_called(int *a) { a[own()] = 1; }
__global__ void free_000_none(float *a) { a[0] = 1; }

__global__ void seen_first(float *a) { if (threadIdx.x == 0) a[blockIdx.x] = 1; }
__global__ void seen_constant(float *a) { a[blockIdx.x * 256 + threadIdx.x] *= 2; }
__global__ void seen_block(float *a, int n) { for (int k = 0; k < n; k++) a[blockIdx.x * n + k] *= 2; }
__global__ void seen_size(float *a, int n) { int i = I(x); a[i] = blockDim.x; }
__global__ void seen_grid(float *a, int n) { int i = I(x); a[i] = gridDim.x; }
__global__ void seen_mixed(float *a, int w) { a[I(y) * w + blockIdx.x * blockDim.y + threadIdx.x] *= 2; }
__global__ void seen_stride(float *a, int n) { for (int i = I(x); i < n; i += blockDim.x) a[i] *= 2; }
__global__ void seen_turn(float *a, int n) { int i = threadIdx.x; for (int k = 0; k < n; k++, i += blockDim.x) a[i] *= 2; }
__global__ void seen_lane(float *a) { int i = I(x); a[i] = threadIdx.x & 31; }
__global__ void seen_half(float *a) { a[blockIdx.x * (blockDim.x / 2) + threadIdx.x] *= 2; }
__global__ void seen_float(float *a) { float t = threadIdx.x; a[I(x)] = t; }
__global__ void seen_barrier(float *a) { int i = I(x); a[i] += 1; __syncthreads(); a[i ^ 1] += 1; }
__global__ void seen_shared(float *a) { __shared__ float s[4]; int i = I(x); s[i & 3] = i; a[i] = s[i & 1]; }
__global__ void seen_shuffle(float *a) { int i = I(x); a[i] = __shfl_xor_sync(~0u, a[i], 1); }
__global__ void seen_vote(float *a) { int i = I(x); a[i] = __ballot_sync(~0u, a[i] > 0); }
__global__ void seen_result(int *a) { a[I(x)] = atomicAdd(a, 1); }
__global__ void seen_float_sum(float *a) { atomicAdd(a, (float)I(x)); }
__global__ void seen_last(int *a) { atomicExch(a, I(x)); }
__global__ void seen_turns(unsigned *a) { atomicInc(a, I(x)); }
__global__ void seen_block_sum(int *a) { atomicAdd_block(a, I(x)); }
__global__ void seen_volatile(volatile int *a) { int i = I(x); a[i] = 1; while (a[i ^ 1] == 0); }
__global__ void seen_fence(int *a) { a[I(x)] = 1; __threadfence(); a[I(x)] = 2; }
__global__ void seen_sleep(int *a) { __nanosleep(threadIdx.x); a[I(x)] = 1; }
__global__ void seen_local(int *a, int n) { int t[8]; t[n & 7] = threadIdx.x; t[n + 1 & 7] = n; a[I(x)] = t[n + 2 & 7]; }
__global__ void seen_xor(int *a) { a[I(x)] = threadIdx.x ^ blockDim.x; }
__global__ void seen_compared(int *a) { if (blockDim.x == 256) a[I(x)] = 1; }
__global__ void seen_exit(int *a) { if (threadIdx.x >= 100) return; a[I(x)] = 1; }
__device__ __noinline__ int other(int i) { return i * 3 + threadIdx.x; }
__device__ __noinline__ void leave(int *a, int i) { if (threadIdx.x == 0) a[i] = 1; }
__global__ void seen_leave(int *a) { leave(a, I(x)); }
__device__ __noinline__ int plus(int i) { return i + 1; }
__global__ void seen_handed(int *a) { a[I(x)] = plus(threadIdx.x); }
__device__ int (*pointer)(int) = plus;
__global__ void seen_pointer(int *a) { a[I(x)] = pointer(a[I(x)]); }
__global__ void seen_called(int *a) { a[I(x)] = other(a[I(x)]); }
__global__ void seen_clock(long long *a) { a[I(x)] = clock64(); }
__global__ void free_100_print(int *a) { if (a[I(x)] < 0) printf("%d\n", I(x)); }
__global__ void free_100_assert(int *a) { assert(a[I(x)] >= 0); }
__global__ void seen_count(int *a) { if (threadIdx.x == 0) atomicAdd(a, 1); }
__global__ void seen_blocks(int *a) { a[I(x)] = gridDim.x; }
}
