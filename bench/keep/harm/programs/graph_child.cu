// class: a graph with a graph as a node, a function of the host and events
#include "common.h"
static void called(void *p) { ++*(int *)p; }
int main() {
  Data d;
  cudaGraph_t g, inner;
  cudaGraphExec_t e;
  cudaGraphNode_t first, child, host, event;
  cudaEvent_t done;
  int calls = 0, t = 2;
  float s = 0.5f;
  void *args[] = {&d.a, &d.b, &d.n, &s, &t};
  cudaKernelNodeParams p = {};
  p.func = (void *)work, p.gridDim = dim3(256), p.blockDim = dim3(256), p.kernelParams = args;
  CK(cudaEventCreate(&done));
  CK(cudaGraphCreate(&g, 0));
  CK(cudaGraphCreate(&inner, 0));
  CK(cudaGraphAddKernelNode(&first, inner, 0, 0, &p));
  t = 5; // the arguments were copied
  CK(cudaGraphAddKernelNode(&first, g, 0, 0, &p));
  CK(cudaGraphAddChildGraphNode(&child, g, &first, 1, inner));
  cudaHostNodeParams h = {called, &calls};
  CK(cudaGraphAddHostNode(&host, g, &child, 1, &h));
  CK(cudaGraphAddEventRecordNode(&event, g, &host, 1, done));
  CK(cudaGraphInstantiate(&e, g, 0));
  for (int i = 0; i < 10; i++) {
    CK(cudaGraphLaunch(e, 0));
    d.after(5), d.after(2);
  }
  CK(cudaEventSynchronize(done));
  return verdict(calls == 10 && d.right());
}
