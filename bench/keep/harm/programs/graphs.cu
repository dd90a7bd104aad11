// class: a graph made by hand, whose kernel gets other arguments between launches
#include "common.h"
int main() {
  Data d;
  cudaGraph_t g;
  cudaGraphExec_t e;
  cudaGraphNode_t node;
  float s = 0.5f;
  int t = 0;
  void *args[] = {&d.a, &d.b, &d.n, &s, &t};
  cudaKernelNodeParams p = {};
  p.func = (void *)work;
  p.gridDim = dim3(256);
  p.blockDim = dim3(256);
  p.kernelParams = args;
  CK(cudaGraphCreate(&g, 0));
  CK(cudaGraphAddKernelNode(&node, g, 0, 0, &p));
  CK(cudaGraphInstantiate(&e, g, 0));
  for (t = 0; t < 20; t++) {
    CK(cudaGraphExecKernelNodeSetParams(e, node, &p));
    CK(cudaGraphLaunch(e, 0));
    d.after(t);
  }
  return verdict(d.right());
}
