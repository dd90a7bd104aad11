// class: a graph that is instantiated twice, launched on two streams, one of them destroyed meanwhile
#include "common.h"
int main() {
  Data d;
  cudaStream_t s[2];
  cudaGraph_t g;
  cudaGraphExec_t e[2];
  for (auto &x : s) CK(cudaStreamCreate(&x));
  CK(cudaStreamBeginCapture(s[0], cudaStreamCaptureModeRelaxed));
  work<<<256, 256, 0, s[0]>>>(d.a, d.b, d.n, 0.5f, 1);
  work<<<256, 256, 0, s[0]>>>(d.a, d.b, d.n, 0.5f, 2);
  CK(cudaStreamEndCapture(s[0], &g));
  for (auto &x : e) CK(cudaGraphInstantiate(&x, g, 0));
  for (int t = 0; t < 20; t++) {
    int which = t % 2;
    CK(cudaGraphLaunch(e[which], s[which]));
    CK(cudaStreamSynchronize(s[which])); // both write the same
    CK(cudaGraphLaunch(e[which], s[!which]));
    CK(cudaStreamSynchronize(s[!which]));
    for (int i = 0; i < 2; i++) d.after(1), d.after(2);
  }
  CK(cudaGraphLaunch(e[0], s[0]));
  CK(cudaGraphExecDestroy(e[0])); // in flight
  CK(cudaGraphDestroy(g));
  CK(cudaStreamSynchronize(s[0]));
  CK(cudaGraphLaunch(e[1], s[1]));
  CK(cudaStreamSynchronize(s[1]));
  for (int i = 0; i < 2; i++) d.after(1), d.after(2);
  return verdict(d.right());
}
