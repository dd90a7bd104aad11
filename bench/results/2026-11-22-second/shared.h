// SPDX-License-Identifier: Apache-2.0
// a.cu: #include "shared.h", RUN(A, 1); b.cu: RUN(B, 10)
#pragma once
#include <cuda_runtime.h>
#include <cstdio>
// Variables of a header: each file that includes it has its own.
static __device__ int calls;
static __constant__ float coef[4] = {1, 2, 3, 4};
#define BODY T s = 0; for (int i = 0; i < n; i++) s += o[(threadIdx.x + i) & 63] * coef[i & 3]; __syncthreads(); o[threadIdx.x] = s * 0.001f + 1; if (threadIdx.x == 0) atomicAdd(&calls, 1);
template <class T> __global__ void tk(T *o, int n) { BODY }
inline __global__ void ik(float *o, int n) { typedef float T; BODY }
struct S { static inline float *o() { static float *p = 0; if (!p) cudaMalloc(&p, 4096); return p; } };
#define RUN(X, C) extern "C" void run##X(int n) { float c[4] = {C, C + 1, C + 2, C + 3}; cudaMemcpyToSymbol(coef, c, 16); float h[64]; int k; float *o = S::o(); \
  cudaMemset(o, 0, 4096); tk<float><<<1, 64>>>(o, n); tk<float><<<1, 64>>>(o, n); cudaMemcpy(h, o, 256, cudaMemcpyDeviceToHost); cudaMemcpyFromSymbol(&k, calls, 4); printf(#X " template %d: %g %g calls %d, %d\n", n, h[0], h[63], k, cudaGetLastError()); \
  cudaMemset(o, 0, 4096); ik<<<1, 64>>>(o, n); ik<<<1, 64>>>(o, n); cudaMemcpy(h, o, 256, cudaMemcpyDeviceToHost); cudaMemcpyFromSymbol(&k, calls, 4); printf(#X " inline %d: %g %g calls %d, %d\n", n, h[0], h[63], k, cudaGetLastError()); }
