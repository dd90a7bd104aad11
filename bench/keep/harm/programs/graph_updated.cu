// class: a captured launch whose node gets other arguments than those it was captured with
#include "common.h"
int main() {
  Data d, beside;
  cudaStream_t s;
  cudaGraph_t g;
  cudaGraphExec_t e;
  CK(cudaStreamCreate(&s));
  for (int t = 0; t < 20; t++) beside.step(3); // what an entry for these values would be for
  CK(cudaStreamBeginCapture(s, cudaStreamCaptureModeRelaxed));
  work<<<256, 256, 0, s>>>(d.a, d.b, d.n, 0.5f, 3);
  CK(cudaStreamEndCapture(s, &g));
  CK(cudaGraphInstantiate(&e, g, 0));
  cudaGraphNode_t node;
  size_t n = 1;
  CK(cudaGraphGetNodes(g, &node, &n));
  cudaKernelNodeParams p = {};
  CK(cudaGraphKernelNodeGetParams(node, &p));
  bool own = p.func == (void *)work;
  for (int t = 0; t < 20; t++) {
    float f = 0.5f;
    void *args[] = {&d.a, &d.b, &d.n, &f, &t};
    p.kernelParams = args;
    p.func = (void *)work;
    CK(cudaGraphExecKernelNodeSetParams(e, node, &p));
    CK(cudaGraphLaunch(e, s));
    CK(cudaStreamSynchronize(s));
    d.after(t);
  }
  return verdict(own && d.right() && beside.right());
}
