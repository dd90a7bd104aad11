#include <cstdio>
#include <cuda_runtime.h>
__global__ void width(unsigned *out, int n) {
  unsigned w, r; asm volatile("mov.u32 %0, %%cluster_nctaid.x;" : "=r"(w)); asm volatile("mov.u32 %0, %%cluster_ctarank;" : "=r"(r));
  unsigned s = 0; for (int i = 0; i < n; i++) s += w * 100 + r + i;
  if (threadIdx.x == 0) out[blockIdx.x] = s;
}
__global__ void shared(float *out, int n) {
  extern __shared__ float s[];
  for (int i = threadIdx.x; i < n; i += blockDim.x) s[i] = i;
  __syncthreads();
  out[blockIdx.x * blockDim.x + threadIdx.x] = s[(threadIdx.x * 7) % n];
}
static void show(const char *what, cudaError_t e) { printf("%s: %s\n", what, cudaGetErrorName(e)); }
int main() {
  unsigned *d, h[8]; cudaMalloc(&d, 1 << 20);
  for (int round = 0; round < 6; round++) {
    if (round == 2) { show("width", cudaFuncSetAttribute(width, cudaFuncAttributeRequiredClusterWidth, 2));
      show("height", cudaFuncSetAttribute(width, cudaFuncAttributeRequiredClusterHeight, 1)); show("depth", cudaFuncSetAttribute(width, cudaFuncAttributeRequiredClusterDepth, 1)); }
    if (round == 4) { show("width", cudaFuncSetAttribute(width, cudaFuncAttributeRequiredClusterWidth, 4)); }
    width<<<8, 64>>>(d, 3); show("launch", cudaGetLastError()); show("sync", cudaDeviceSynchronize());
    cudaMemcpy(h, d, sizeof h, cudaMemcpyDeviceToHost); for (unsigned v : h) printf(" %u", v); printf("\n");
  }
  float *f; cudaMalloc(&f, 1 << 20); float g[4];
  for (int round = 0; round < 4; round++) {
    int most = round == 0 ? 100 << 10 : round == 1 ? 100 << 10 : round == 2 ? 48 << 10 : 70 << 10;
    show("most", cudaFuncSetAttribute(shared, cudaFuncAttributeMaxDynamicSharedMemorySize, most));
    shared<<<4, 64, 64 << 10>>>(f, 16000); show("launch", cudaGetLastError()); show("sync", cudaDeviceSynchronize());
    cudaMemcpy(g, f, sizeof g, cudaMemcpyDeviceToHost); printf(" %g %g %g\n", g[0], g[1], g[3]);
  }
}
