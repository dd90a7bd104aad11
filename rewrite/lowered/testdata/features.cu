#include <cassert>
#include <cstdio>
#include <cuda_fp16.h>
#include <cuda_bf16.h>
#include <cooperative_groups.h>
#include <cooperative_groups/reduce.h>
#include <mma.h>
#include <cuda/atomic>
#include <cuda/std/complex>
namespace cg = cooperative_groups;
namespace { enum { kA = 3, kB }; __device__ float hiddenVar = 2; __device__ float helper(float x) { return x * kA + hiddenVar; } }
namespace one { __device__ int same = 1; __device__ int f(int x) { return x + same; } } namespace two { __device__ int same = 2; __device__ int f(int x) { return x * same; } }
__constant__ float coef[64]; __device__ float table[64]; static __device__ unsigned count; __managed__ int mng = 4;
union U { int i; float f; }; struct Bits { unsigned a : 3, b : 7; int : 0; unsigned long long c : 40; };
template <int N> struct Fixed { float v[N]; __device__ Fixed() { for (int i = 0; i < N; i++) v[i] = i; } __device__ float sum() const { float s = 0; 
#pragma unroll
  for (float x : v) s += x; return s; } };
__global__ void textures(cudaTextureObject_t t, cudaSurfaceObject_t s, float *o) { o[0] = tex2D<float>(t, 1.5f, 2.5f) + tex1Dfetch<float4>(t, 3).x; surf2Dwrite(o[1], s, 4, 5); o[2] = tex3D<float>(t, 1, 2, 3); }
__global__ void halves(__half *a, __half2 *b, __nv_bfloat16 *c, __nv_bfloat162 *d) { a[0] = __hfma(a[1], a[2], a[3]); b[0] = __hadd2(b[1], h2sqrt(b[2])); c[0] = __hmul(c[1], __float2bfloat16(3.5f)); d[0] = __hmax2(d[1], d[2]); }
__global__ void groups(int *a) { auto b = cg::this_thread_block(); auto w = cg::tiled_partition<32>(b); int x = cg::reduce(w, a[threadIdx.x], cg::plus<int>()); b.sync(); auto g = cg::coalesced_threads(); a[threadIdx.x] = x + w.shfl_down(x, 1) + g.size(); cg::this_grid().sync(); }
__global__ void wmma(half *a, half *b, float *c) { using namespace nvcuda::wmma; fragment<matrix_a, 16, 16, 16, half, row_major> fa; fragment<matrix_b, 16, 16, 16, half, col_major> fb; fragment<accumulator, 16, 16, 16, float> fc; fill_fragment(fc, 0.0f); for (int i = 0; i < 4; i++) { load_matrix_sync(fa, a + 16 * i, 64); load_matrix_sync(fb, b + 16 * i, 64); mma_sync(fc, fa, fb, fc); } store_matrix_sync(c, fc, 16, mem_row_major); }
__global__ void atomics(int *a, double *d, cuda::atomic<int, cuda::thread_scope_device> *p) { atomicAdd(a, 1); atomicAdd(d, 2.0); atomicCAS(a + 1, 2, 3); p->fetch_add(3, cuda::memory_order_relaxed); atomicInc(&count, 17); atomicMax((long long *)d, 5LL); }
__global__ void names(float *a, int n, U u, Bits b) { a[0] = helper(a[1]) + one::f(n) + two::f(n) + coef[n & 63] + table[n & 63] + mng + u.f + b.b + (float)b.c; static int calls; static __shared__ float sh[64]; sh[threadIdx.x] = a[threadIdx.x]; __syncthreads(); a[2] = sh[threadIdx.x ^ 3] + calls++; Fixed<7> f; a[3] = f.sum(); }
__global__ void flow(int *a, int n) { for (int i = 0; i < n; i++) { if (a[i] == 3) continue; if (a[i] == 4) break; switch (a[i]) { case 1: a[i] = 2; break; case 5 ... 9: a[i] = 6; default: goto out; } int k = 0; do { k += a[k]; } while (k < 7); while (k > 3) k--; a[i] += k; } out: a[n] = 0; try_again: if (atomicAdd(a, 1) < 3) goto try_again; }
__global__ void cplx(cuda::std::complex<float> *z, double2 *d) { z[0] = z[1] * z[2] / z[3]; d[0] = make_double2(d[1].x * 2, sqrt(d[1].y)); d[2].x = rsqrt(d[3].x) + exp(d[3].y) + sin(d[4].x) + pow(d[4].y, 3.0) + erf(d[5].x) + j0(d[5].y) + tgamma(d[6].x) + fmod(d[6].y, 3.0); }
__global__ void floats(float *f) { f[0] = sinf(f[1]) + cosf(f[2]) + __expf(f[3]) + powf(f[4], 2.5f) + f[5] / f[6] + sqrtf(f[7]) + rsqrtf(f[8]) + fmaf(f[1], f[2], f[3]) + log1pf(f[9]) + erfcinvf(f[10]) + normcdff(f[11]) + (isnan(f[12]) ? 1 : 2) + fabs(f[13]) + truncf(f[14]) + ldexpf(f[15], 3) + frexpf(f[16], (int *)f) + __builtin_expect(f[17] > 0, 1) + fmaxf(f[18], f[19]) + modff(f[20], f + 21); sincosf(f[22], f + 23, f + 24); sincospif(f[25], f + 26, f + 27); }
template <class F> __global__ void apply(F f, int *a, int n) { for (int i = threadIdx.x; i < n; i += blockDim.x) a[i] = f(a[i]); }
template <class... T> __global__ void packs(int *o, T... t) { int s = 0; ((s += t), ...); o[0] = s + sizeof...(T); }
struct Base { virtual __device__ int go(int x) const { return x + 1; } virtual __device__ ~Base() {} }; struct Derived : Base { int k; __device__ int go(int x) const override { return x + k; } };
__global__ void virtuals(int *a, int n) { Derived d; d.k = n; Base b; const Base *p = n > 3 ? (const Base *)&d : &b; a[0] = p->go(a[1]); }
__device__ int twice(int x) { return 2 * x; } __device__ int thrice(int x) { return 3 * x; }
__global__ void pointers(int *a, int n) { int (*f)(int) = n ? twice : thrice; a[0] = f(a[1]); }
__global__ void __launch_bounds__(128, 4) bounds(int *a) { int v[8] = {1, 2, 3}; for (int i = 0; i < 8; i++) v[i] += a[i]; for (int i = 0; i < 8; i++) a[v[i] & 7] = v[(i + a[0]) & 7]; asm volatile("{ .reg .pred p; setp.eq.s32 p, %0, 0; @p bra L%=; add.s32 %0, %0, 1; L%=: }" : "+r"(a[3])); }
__global__ void grid(const __grid_constant__ Fixed<4> f, float *o) { o[0] = f.v[threadIdx.x & 3]; }
__global__ void ueber(int *groesse) { groesse[0] = groesse[1] ; }
extern "C" __global__ void plain(int *__val_n, int __no_sc, bool b, wchar_t w, char16_t c, size_t z) { __val_n[0] = __no_sc + b + w + c + z; __no_sc++; __val_n[1] = __no_sc; }
struct None {}; struct Holds : None { None none[3]; int y; None more; };
static __global__ void layouts(const double (*rows)[16], int *o, int n) { __shared__ Holds h[4]; h[threadIdx.x & 3].y = n; __syncthreads(); float first[40] = {0.0f}; float second[50]; const unsigned char mask[16] = {255, 85, 51, 73}; for (int i = 0; i < n; i++) { second[i] = rows[i][3]; first[i & 31] += second[n - i]; } o[0] = first[n & 31] + second[n & 15] + mask[n & 15] + h[n & 3].y + sizeof(Holds); assert(n < 1000); if (n == 77) printf("n is %d\n", n); }
int main() { layouts<<<1, 1>>>(0, 0, 0); int *a = 0; int k = 3; apply<<<1, 32>>>([=] __device__ (int x) { return x + k; }, a, 3); apply<<<1, 32>>>([=] __device__ (int x) { return x * k; }, a, 3); packs<<<1, 1>>>(a, 1, 2u, 3ll, 'a'); }
