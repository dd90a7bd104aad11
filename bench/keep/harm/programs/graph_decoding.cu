// class: a long graph, of which some nodes get other arguments before each launch, as models that write token after token have it
#include "common.h"
int main() {
  enum { LAYERS = 24, TOKENS = 40 };
  Data d(200000);
  cudaStream_t s;
  cudaGraph_t g;
  cudaGraphExec_t e;
  CK(cudaStreamCreateWithFlags(&s, cudaStreamNonBlocking));
  CK(cudaStreamBeginCapture(s, cudaStreamCaptureModeRelaxed));
  for (int k = 0; k < LAYERS; k++) work<<<256, 256, 0, s>>>(d.a, d.b, d.n, 0.5f, k);
  CK(cudaStreamEndCapture(s, &g));
  CK(cudaGraphInstantiate(&e, g, 0));
  std::vector<cudaGraphNode_t> node(LAYERS);
  size_t n = LAYERS;
  CK(cudaGraphGetNodes(g, node.data(), &n));
  std::vector<int> is(LAYERS);
  for (int k = 0; k < LAYERS; k++) {
    cudaKernelNodeParams p;
    CK(cudaGraphKernelNodeGetParams(node[k], &p));
    is[k] = *(int *)p.kernelParams[4];
  }
  std::vector<int> at(LAYERS);
  for (int k = 0; k < LAYERS; k++) at[is[k]] = k;
  for (int t = 0; t < TOKENS; t++) {
    float f = 0.5f;
    int with = 100 + t, which = at[t % LAYERS];
    void *args[] = {&d.a, &d.b, &d.n, &f, &with};
    cudaKernelNodeParams p = {};
    p.func = (void *)work, p.gridDim = dim3(256), p.blockDim = dim3(256), p.kernelParams = args;
    CK(cudaGraphExecKernelNodeSetParams(e, node[which], &p));
    is[t % LAYERS] = with; // by layer
    CK(cudaGraphLaunch(e, s));
    CK(cudaStreamSynchronize(s));
    for (int k = 0; k < LAYERS; k++) d.after(is[k]);
  }
  return verdict(d.right());
}
