// SPDX-License-Identifier: Apache-2.0
// Stands where nvcc includes cuda_runtime.h by itself: what a small kernel and its launch need, in
// place of 36,000 lines, into which most of a compile's time goes. The tools are nvcc's own, and
// what they write is as real. Host code of other toolkits than 13 gets all of it.
#if defined __CUDA_ARCH__ || __CUDACC_VER_MAJOR__ == 13
#pragma GCC system_header // gnvcc takes the folder of cuda_runtime.h for that of all that follows
#define __CUDA_INCLUDE_COMPILER_INTERNAL_HEADERS__
#include <crt/host_config.h>
#include <builtin_types.h>
#include <cuda_runtime_api.h>
#include <device_launch_parameters.h>
#include <stdio.h>
extern "C" __host__ __device__ unsigned __cudaPushCallConfiguration(dim3 grid, dim3 block,
	__SIZE_TYPE__ shared = 0, struct CUstream_st *stream = 0);
// Functions that the compiler knows by themselves. One of several types, as sqrt, is not among
// them: where a float's is missing, a double's would be taken. Each is for kits.Short to know.
#define GNVCC_DEVICE extern "C" __device__ __device_builtin__
#define GNVCC_EACH(name) GNVCC_DEVICE float name(float)
#define GNVCC_PAIR(name) GNVCC_DEVICE float name(float, float)
extern "C" __host__ __device__ __device_builtin__ __cudart_builtin__ int printf(const char *, ...);
GNVCC_DEVICE void __syncthreads();
GNVCC_DEVICE void __threadfence();
GNVCC_DEVICE void __trap();
GNVCC_DEVICE void __threadfence_block();
GNVCC_DEVICE int __float_as_int(float);
GNVCC_DEVICE float __int_as_float(int);
GNVCC_DEVICE long long __double_as_longlong(double);
GNVCC_DEVICE double __longlong_as_double(long long);
GNVCC_DEVICE int __float2int_rn(float);
GNVCC_DEVICE int __float2int_rz(float);
GNVCC_DEVICE float __int2float_rn(int);
GNVCC_EACH(sqrtf); GNVCC_EACH(rsqrtf); GNVCC_EACH(fabsf); GNVCC_EACH(floorf); GNVCC_EACH(expf);
GNVCC_EACH(logf); GNVCC_EACH(sinf); GNVCC_EACH(cosf); GNVCC_EACH(tanhf); GNVCC_EACH(__cosf);
GNVCC_EACH(__sinf); GNVCC_EACH(__expf); GNVCC_EACH(__logf); GNVCC_EACH(__frcp_rn);
GNVCC_EACH(__fsqrt_rn);
GNVCC_PAIR(powf); GNVCC_PAIR(fminf); GNVCC_PAIR(fmaxf); GNVCC_PAIR(__powf); GNVCC_PAIR(__fdividef);
GNVCC_PAIR(__fadd_rn); GNVCC_PAIR(__fsub_rn); GNVCC_PAIR(__fmul_rn); GNVCC_PAIR(__fdiv_rn);
GNVCC_DEVICE float fmaf(float, float, float);
GNVCC_DEVICE float __fmaf_rn(float, float, float);
template <class T> static inline __host__ cudaError_t cudaMalloc(T **p, __SIZE_TYPE__ n)
	{ return cudaMalloc((void **)p, n); }
template <class T> static inline __host__ cudaError_t cudaFuncGetAttributes(
	struct cudaFuncAttributes *to, T *kernel)
	{ return cudaFuncGetAttributes(to, (const void *)kernel); }
#ifndef __CUDA_ARCH__
// What cudafe++ writes into a launch.
extern "C" cudaError_t __cudaGetKernel(cudaKernel_t *, const void *);
extern "C" cudaError_t __cudaLaunchKernel(cudaKernel_t, dim3, dim3, void **, __SIZE_TYPE__,
	cudaStream_t);
static inline cudaError_t __cudaLaunchKernel_helper(cudaKernel_t kernel, dim3 grid, dim3 block,
	void **args, __SIZE_TYPE__ shared, cudaStream_t stream) {
	return __cudaLaunchKernel(kernel, grid, block, args, shared, stream);
}
#endif
#else
#include_next <cuda_runtime.h>
#endif
