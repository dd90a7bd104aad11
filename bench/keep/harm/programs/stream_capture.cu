// class: a stream that is captured, in each of the modes; the graph is launched again and again
#include "common.h"
int main() {
  Data d, beside;
  cudaStream_t s;
  CK(cudaStreamCreateWithFlags(&s, cudaStreamNonBlocking));
  const cudaStreamCaptureMode modes[] = {cudaStreamCaptureModeGlobal, cudaStreamCaptureModeThreadLocal,
                                         cudaStreamCaptureModeRelaxed};
  for (auto mode : modes) {
    cudaGraph_t g;
    cudaGraphExec_t e;
    CK(cudaStreamBeginCapture(s, mode));
    work<<<256, 256, 0, s>>>(d.a, d.b, d.n, 0.5f, mode); // may be this kernel's first launch
    CK(cudaStreamEndCapture(s, &g));
    CK(cudaGraphInstantiate(&e, g, 0));
    for (int t = 0; t < 10; t++) {
      CK(cudaGraphLaunch(e, s));
      d.after(mode);
      beside.step(t);
    }
    CK(cudaStreamSynchronize(s));
    CK(cudaGraphExecDestroy(e));
    CK(cudaGraphDestroy(g));
  }
  return verdict(d.right() && beside.right());
}
