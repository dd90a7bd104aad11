// class: a graph that allocates its memory, and frees it
#include "common.h"
int main() {
  Data d;
  float *b;
  cudaStream_t s;
  cudaGraph_t g;
  cudaGraphExec_t e;
  CK(cudaStreamCreate(&s));
  CK(cudaStreamBeginCapture(s, cudaStreamCaptureModeRelaxed));
  CK(cudaMallocAsync(&b, d.n * 4, s));
  CK(cudaMemcpyAsync(b, d.b, d.n * 4, cudaMemcpyDeviceToDevice, s));
  work<<<256, 256, 0, s>>>(d.a, b, d.n, 0.5f, 7);
  CK(cudaFreeAsync(b, s));
  CK(cudaStreamEndCapture(s, &g));
  CK(cudaGraphInstantiate(&e, g, 0));
  for (int t = 0; t < 20; t++) {
    CK(cudaGraphLaunch(e, s));
    d.after(7);
  }
  CK(cudaStreamSynchronize(s));
  return verdict(d.right());
}
