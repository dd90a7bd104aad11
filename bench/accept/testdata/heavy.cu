// Made up for TestCoverage: what shut levers out of the kernels of real programs.
#include <cstdio>

// A wish in its bounds, and one before its loop.
__global__ void __launch_bounds__(256, 4) directives(const float *x, float *o, int n) {
  float s = 0;
#pragma unroll 8
  for (int j = 0; j < n; j++) s += x[blockIdx.x * 256 + threadIdx.x + j * 256] * x[j];
  o[blockIdx.x * 256 + threadIdx.x] = s;
}

// Programmatic dependent launch.
__global__ void overlaps(const float *__restrict__ x, float *__restrict__ o, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  cudaGridDependencySynchronize();
  float s = 0;
  for (int j = 0; j < n; j++) s += x[i + j * 64];
  cudaTriggerProgrammaticLaunchCompletion();
  o[i] = s;
}

__global__ void prints(const float *x, float *o, int n) {
  float s = 0;
  for (int j = 0; j < n; j++) s += x[threadIdx.x + j * 64];
  if (s > 1e30f) printf("%f\n", s);
  o[threadIdx.x] = s;
}

// Too small to be asked about.
__global__ void small(float *o) { o[threadIdx.x] = 1; }
