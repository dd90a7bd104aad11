// SPDX-License-Identifier: Apache-2.0
// Stands where nvcc includes cuda_runtime.h by itself: for device code only what a kernel without
// library functions needs, in place of 36,000 lines; for host code all of it. The tools are nvcc's
// own, and what they write is as real.
#ifdef __CUDA_ARCH__
#define __CUDA_INCLUDE_COMPILER_INTERNAL_HEADERS__
#include <crt/host_config.h>
#include <builtin_types.h>
#include <cuda_runtime_api.h>
#include <device_launch_parameters.h>
extern "C" __host__ __device__ unsigned __cudaPushCallConfiguration(dim3 grid, dim3 block,
	__SIZE_TYPE__ shared = 0, struct CUstream_st *stream = 0);
// Those that gnvcc itself writes into the text of a variant.
extern "C" __device__ __device_builtin__ int __float_as_int(float);
extern "C" __device__ __device_builtin__ float __int_as_float(int);
extern "C" __device__ __device_builtin__ long long __double_as_longlong(double);
extern "C" __device__ __device_builtin__ double __longlong_as_double(long long);
#else
#include_next <cuda_runtime.h>
#endif
