#include <cstdio>
#include <cstdint>
#include <vector>
#include <chrono>
#include <cuda_runtime.h>
#define K __global__ void
K k0(const double *a, double *b, int n) { __shared__ double s[64]; int t = threadIdx.x, i = blockIdx.x * 64 + t; double w = sin(0.1 * t), v = cos(-6.28 * t); s[t ^ 1] = a[i] * w; __syncthreads(); b[i] = s[t] * v + w; }
K k1(const double *a, double *b, int n) { int i = blockIdx.x * blockDim.x + threadIdx.x; if (i < n) b[i] = sin(a[i] * 1e9) + cos(a[i]); }
K k2(const float *a, float *b, int n) { int i = blockIdx.x * blockDim.x + threadIdx.x; if (i >= n) return; b[i] = sinf(a[i] * 1e7f) * powf(fabsf(a[i]) + 1, 1.5f) + tanhf(a[i]) * a[i] - a[i] / 3.f; }
K k3(const double *a, double *b, int n) { int i = blockIdx.x * blockDim.x + threadIdx.x; if (i < n) b[i] = pow(fabs(a[i]), 2.5) + exp(a[i]) * a[i] - log(fabs(a[i]) + 1e-3); }
K k4(const float *a, float *b, int n) { __shared__ float s[128]; int i = blockIdx.x * 128 + threadIdx.x; if (i < n) { s[threadIdx.x] = a[i]; float x = s[threadIdx.x], y = x * 1.5f, z = y * y + x; b[i] = z / (y * x + 3.f * z) + x * y - z * x; } }
K k5(const float *a, float *b, int n) { __shared__ float s[2][128]; int t = threadIdx.x, i = blockIdx.x * 128 + t; float v = 0; if (i < n) v = a[i]; s[0][t] = v; __syncthreads(); float r = 0; if (i < n && v > 0) { float x = v * s[0][t ^ 3], y = x * v + 1.25f; r = y * y - x; if (r > 2) r = r * x + y; else { r = sqrtf(r * r + 1); s[1][t] = r; } } else { r = v * v - 3 * v; } s[1][t] = r; __syncthreads(); if (i < n) b[i] = s[1][127 - t] * r + v; }
__noinline__ __device__ double poly(double x, int k) { double r = 1; for (int i = 0; i < (k & 15); i++) r = r * x + i; return r; }
K k6(const double *a, double *b, int n) { int t = threadIdx.x, i = blockIdx.x * blockDim.x + t; double c = poly(0.01 * t, t); double d = i < n ? poly(a[i], i) : 0; if (i < n) b[i] = c * d + poly(c, blockDim.x) - d; }
K k7(const double *a, double *b, int n) { extern __shared__ double e[]; int t = threadIdx.x, i = blockIdx.x * blockDim.x + t; double c = poly(0.02 * t, t + 1); e[t] = i < n ? a[i] * c : 0; __syncthreads(); for (int k = blockDim.x / 2; k; k /= 2) { if (t < k) e[t] += e[t + k] * poly(0.5, k); __syncthreads(); } if (t == 0) b[blockIdx.x] = e[0] / 3 + c; }
template <class T> void go(int id, void (*k)(const T *, T *, int), int block, int shared, int n) {
  int m = 1 << 22; std::vector<T> h(m); unsigned s = id * 77 + 1; for (auto &x : h) { s = s * 1664525 + 1013904223; x = T(int(s)) / T(1 << 28); }
  T *a, *b; cudaMalloc(&a, m * sizeof(T)); cudaMalloc(&b, m * sizeof(T)); cudaMemcpy(a, h.data(), m * sizeof(T), cudaMemcpyHostToDevice); cudaMemset(b, 0, m * sizeof(T));
  int grid = (n + block - 1) / block; k<<<grid, block, shared>>>(a, b, n); cudaDeviceSynchronize();
  cudaMemcpy(h.data(), b, m * sizeof(T), cudaMemcpyDeviceToHost); uint64_t f = 1469598103934665603ull; for (size_t i = 0; i < h.size() * sizeof(T) / 4; i++) f = (f ^ ((uint32_t *)h.data())[i]) * 1099511628211ull;
  cudaEvent_t x, y; cudaEventCreate(&x); cudaEventCreate(&y); cudaEventRecord(x); for (int i = 0; i < 50; i++) k<<<grid, block, shared>>>(a, b, n); cudaEventRecord(y); cudaDeviceSynchronize(); float ms; cudaEventElapsedTime(&ms, x, y);
  printf("k%d n %d: %016llx %s\n", id, n, (unsigned long long)f, cudaGetErrorString(cudaGetLastError())); fprintf(stderr, "k%d n %d: %.2f us\n", id, n, ms * 20); cudaFree(a); cudaFree(b);
}
int main() {
  for (int n : {4000000 & ~63, 3000001, 1000}) {
    go<double>(0, k0, 64, 0, n & ~63); go<double>(1, k1, 128, 0, n); go<float>(2, k2, 128, 0, n); go<double>(3, k3, 128, 0, n);
    go<float>(4, k4, 128, 0, n); go<float>(5, k5, 128, 0, n); go<double>(6, k6, 128, 0, n); go<double>(7, k7, 128, 1024, n);
  }
}
