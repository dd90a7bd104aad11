// class: a graph with a loop in it (a conditional node)
#include "common.h"
#if CUDART_VERSION >= 12040
__global__ void next(cudaGraphConditionalHandle h, int *left) { cudaGraphSetConditional(h, --*left > 0); }
int main() {
  Data d;
  int *left, turns = 4;
  CK(cudaMalloc(&left, 4));
  cudaGraph_t g;
  cudaGraphExec_t e;
  cudaGraphNode_t loop;
  cudaGraphConditionalHandle h;
  cudaStream_t s;
  CK(cudaStreamCreate(&s));
  CK(cudaGraphCreate(&g, 0));
  if (cudaGraphConditionalHandleCreate(&h, g, 1, cudaGraphCondAssignDefault) != cudaSuccess) return puts("skipped: no conditional nodes"), 0;
  cudaGraphNodeParams p = {};
  p.type = cudaGraphNodeTypeConditional;
  p.conditional.handle = h, p.conditional.type = cudaGraphCondTypeWhile, p.conditional.size = 1;
#if CUDART_VERSION >= 13000
  CK(cudaGraphAddNode(&loop, g, nullptr, nullptr, 0, &p));
#else
  CK(cudaGraphAddNode(&loop, g, nullptr, 0, &p));
#endif
  CK(cudaStreamBeginCaptureToGraph(s, p.conditional.phGraph_out[0], nullptr, nullptr, 0, cudaStreamCaptureModeRelaxed));
  work<<<256, 256, 0, s>>>(d.a, d.b, d.n, 0.5f, 1);
  next<<<1, 1, 0, s>>>(h, left);
  CK(cudaStreamEndCapture(s, nullptr));
  CK(cudaGraphInstantiate(&e, g, 0));
  for (int i = 0; i < 10; i++) {
    CK(cudaMemcpy(left, &turns, 4, cudaMemcpyHostToDevice));
    CK(cudaGraphLaunch(e, s));
    CK(cudaStreamSynchronize(s));
    for (int k = 0; k < turns; k++) d.after(1);
  }
  return verdict(d.right());
}
#else
int main() { puts("skipped: no conditional nodes"); }
#endif
