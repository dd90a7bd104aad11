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
#else
#include_next <cuda_runtime.h>
#endif
