// class: a graph with copies from and to the host and memsets between its kernels
#include "common.h"
__global__ void add(float *x, const float *y, int n) {
  for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x) x[i] += y[i];
}
int main() {
  const int n = 1 << 20;
  float *x, *y, *in, *out;
  cudaStream_t s;
  cudaGraph_t g;
  cudaGraphExec_t e;
  CK(cudaMalloc(&x, 4 * n));
  CK(cudaMalloc(&y, 4 * n));
  CK(cudaMallocHost(&in, 4 * n));
  CK(cudaMallocHost(&out, 4 * n));
  CK(cudaMemset(y, 0, 4 * n));
  CK(cudaStreamCreate(&s));
  CK(cudaStreamBeginCapture(s, cudaStreamCaptureModeRelaxed));
  CK(cudaMemsetAsync(x, 0, 4 * n, s));
  add<<<64, 256, 0, s>>>(x, y, n); // what the launch before left
  CK(cudaMemcpyAsync(y, in, 4 * n, cudaMemcpyHostToDevice, s));
  add<<<64, 256, 0, s>>>(x, y, n);
  CK(cudaMemcpyAsync(out, x, 4 * n, cudaMemcpyDeviceToHost, s));
  CK(cudaMemcpyAsync(y, x, 4 * n, cudaMemcpyDeviceToDevice, s));
  CK(cudaStreamEndCapture(s, &g));
  CK(cudaGraphInstantiate(&e, g, 0));
  bool good = true;
  float sum = 0;
  for (int t = 0; t < 20; t++) {
    for (int i = 0; i < n; i++) in[i] = t;
    CK(cudaGraphLaunch(e, s));
    CK(cudaStreamSynchronize(s));
    sum += t;
    for (int i = 0; i < n; i += 997) good &= out[i] == sum;
  }
  return verdict(good);
}
