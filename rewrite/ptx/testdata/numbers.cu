// Half, bfloat16, fp8, double, integers of all widths, vectors, conversions, libdevice, constants with initialisers.
#include <cuda_fp16.h>
#include <cuda_bf16.h>
#include <cuda_fp8.h>
#include <cmath>
struct S { char c; double d; short s[3]; const char *name; float3 v; };
__constant__ S config = {'x', 2.5, {1, 2, 3}, "name", {1, 2, 3}};
__device__ int zeros[1000];
__device__ short shorts[5] = {-1, 2, 3, -4, 5};
__device__ int *self = zeros + 7;
__device__ unsigned long long big = 0xffffffffffffffffull;
__device__ double inf = INFINITY;
__managed__ int managed = 5;
__device__ const float table[4][2] = {{1, 2}, {3, 4}, {5.5f, -6}, {7, 1e-30f}};
__global__ void halves(__half2 *h, __nv_bfloat162 *b, __nv_fp8_e4m3 *q) {
  int t = threadIdx.x;
  h[t] = __hfma2(h[t], h[t + 1], h[t + 2]);
#if __CUDA_ARCH__ >= 800 || __CUDACC_VER_MAJOR__ >= 12
  b[t] = __hmul2(b[t], b[t + 1]);
#endif
  q[t] = __nv_fp8_e4m3(float(q[t]) * 2.f);
  h[t + 5] = h2exp(h[t]);
}
__global__ void doubles(double *d, float *f, long long *l, char *c, unsigned short *u, bool *p) {
  int t = threadIdx.x;
  d[t] = sin(d[t]) * pow(d[t + 1], 2.7) + fma(d[t], d[t], 1.0);
  f[t] = __sinf(f[t]) + rsqrtf(f[t]) + erff(f[t]) + f[t] / 3.7f + fmaxf(f[t], 1e-38f);
  l[t] = l[t] / (l[t + 1] | 1) + __mul64hi(l[t], l[t]);
  c[t] += u[t] * 3; u[t] = c[t + 1] >> 2; p[t] = !p[t + 1];
}
__global__ void constants(float *f, int i) {
  f[0] = config.d + config.s[i] + config.name[i] + config.v.y + zeros[i] + shorts[i] + *self + big + inf + managed + table[i & 3][i & 1];
}
__global__ void wide(char4 *a, ushort4 *b, double2 *d, longlong4 *l, uchar2 *q, __grid_constant__ const S s) {
  int t = threadIdx.x;
  a[t] = make_char4(b[t].x, b[t].y, 1, 2); d[t] = d[t + 1]; l[t] = l[t + 2]; q[t] = make_uchar2(a[t].y, a[t].z); b[t].x = s.s[t & 1] + s.v.z;
}
