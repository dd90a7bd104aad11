// Shared by the self-test's translation units.
#pragma once
#include <cstdio>
#include <cstdlib>
#include <cuda_runtime.h>
#define CK(call) \
  do { \
    cudaError_t e_ = (call); \
    if (e_ != cudaSuccess) { \
      printf("%s:%d: %s: %s\n", __FILE__, __LINE__, #call, cudaGetErrorString(e_)); \
      exit(9); \
    } \
  } while (0)
void other(float *p, int n, cudaStream_t s);
float *other_variable();
unsigned sum(const void *device, size_t bytes);
