// class: a graph that is captured anew for each step, and given to the executable graph
#include "common.h"
int main() {
  Data d;
  cudaStream_t s;
  cudaGraphExec_t e = nullptr;
  CK(cudaStreamCreateWithFlags(&s, cudaStreamNonBlocking));
  for (int t = 0; t < 30; t++) {
    cudaGraph_t g;
    CK(cudaStreamBeginCapture(s, cudaStreamCaptureModeThreadLocal));
    d.step(t, s);
    d.step(t % 3, s);
    CK(cudaStreamEndCapture(s, &g));
    if (!e) CK(cudaGraphInstantiate(&e, g, 0));
    else {
#if CUDART_VERSION >= 12000
      cudaGraphExecUpdateResultInfo info;
      CK(cudaGraphExecUpdate(e, g, &info));
#else
      cudaGraphNode_t node;
      cudaGraphExecUpdateResult result;
      CK(cudaGraphExecUpdate(e, g, &node, &result));
#endif
    }
    CK(cudaGraphLaunch(e, s));
    CK(cudaGraphDestroy(g)); // the first one too, of which the executable graph was made
  }
  CK(cudaStreamSynchronize(s));
  CK(cudaGraphExecDestroy(e));
  return verdict(d.right());
}
