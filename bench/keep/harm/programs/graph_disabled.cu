// class: a graph of which the program switches nodes off and on
#include "common.h"
int main() {
  Data d;
  cudaGraph_t g;
  cudaGraphExec_t e;
  cudaGraphNode_t node[3];
  float s = 0.5f;
  int t = 0;
  void *args[] = {&d.a, &d.b, &d.n, &s, &t};
  cudaKernelNodeParams p = {};
  p.func = (void *)work, p.gridDim = dim3(256), p.blockDim = dim3(256), p.kernelParams = args;
  CK(cudaGraphCreate(&g, 0));
  for (t = 0; t < 3; t++) CK(cudaGraphAddKernelNode(&node[t], g, t ? &node[t - 1] : 0, t > 0, &p));
  CK(cudaGraphInstantiate(&e, g, 0));
  for (int i = 0; i < 24; i++) {
    for (int k = 0; k < 3; k++) CK(cudaGraphNodeSetEnabled(e, node[k], i >> k & 1));
    CK(cudaGraphLaunch(e, 0));
    for (int k = 0; k < 3; k++)
      if (i >> k & 1) d.after(k);
  }
  return verdict(d.right());
}
