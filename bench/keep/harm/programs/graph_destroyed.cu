// class: graphs that are made, launched and destroyed again and again, each destroyed before its launch
#include "common.h"
int main() {
  Data d;
  cudaStream_t s;
  CK(cudaStreamCreate(&s));
  for (int t = 0; t < 60; t++) {
    cudaGraph_t g;
    cudaGraphExec_t e;
    CK(cudaStreamBeginCapture(s, cudaStreamCaptureModeGlobal));
    d.step(t, s);
    CK(cudaStreamEndCapture(s, &g));
    CK(cudaGraphInstantiate(&e, g, 0));
    if (t % 3) CK(cudaGraphDestroy(g));
    CK(cudaGraphLaunch(e, s));
    if (t % 3 == 0) CK(cudaGraphDestroy(g));
    CK(cudaGraphExecDestroy(e)); // in flight
  }
  CK(cudaStreamSynchronize(s));
  return verdict(d.right());
}
