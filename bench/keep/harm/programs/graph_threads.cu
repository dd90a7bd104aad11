// class: two threads that launch graphs of their own, and change them
#include "common.h"
static void launches(Data *d, bool *good) {
  cudaStream_t s;
  cudaGraph_t g;
  cudaGraphExec_t e;
  cudaGraphNode_t node;
  CK(cudaStreamCreateWithFlags(&s, cudaStreamNonBlocking));
  float f = 0.5f;
  int t = 0;
  void *args[] = {&d->a, &d->b, &d->n, &f, &t};
  cudaKernelNodeParams p = {};
  p.func = (void *)work, p.gridDim = dim3(256), p.blockDim = dim3(256), p.kernelParams = args;
  CK(cudaGraphCreate(&g, 0));
  CK(cudaGraphAddKernelNode(&node, g, 0, 0, &p));
  CK(cudaGraphInstantiate(&e, g, 0));
  for (t = 0; t < 100; t++) {
    CK(cudaGraphExecKernelNodeSetParams(e, node, &p));
    CK(cudaGraphLaunch(e, s));
    d->after(t);
  }
  CK(cudaStreamSynchronize(s));
  *good = d->right();
}
int main() {
  Data a, b;
  bool good[2] = {};
  std::thread one(launches, &a, &good[0]), two(launches, &b, &good[1]);
  one.join();
  two.join();
  return verdict(good[0] && good[1]);
}
