// class: a graph whose branches wait for each other by a flag in memory
#include "common.h"
__global__ void waits(volatile int *flag, int *seen) {
  while (*flag == 0) __nanosleep(1000);
  *flag = 0;
  ++*seen;
}
__global__ void tells(volatile int *flag) { *flag = 1; }
int main() {
  Data d;
  int *p, seen = 0;
  CK(cudaMalloc(&p, 8));
  CK(cudaMemset(p, 0, 8));
  cudaStream_t s, t;
  cudaEvent_t fork, join;
  cudaGraph_t g;
  cudaGraphExec_t e;
  CK(cudaStreamCreateWithFlags(&s, cudaStreamNonBlocking));
  CK(cudaStreamCreateWithFlags(&t, cudaStreamNonBlocking));
  CK(cudaEventCreate(&fork));
  CK(cudaEventCreate(&join));
  cudaFuncAttributes a; // both are loaded before one waits
  CK(cudaFuncGetAttributes(&a, waits));
  CK(cudaFuncGetAttributes(&a, tells));
  CK(cudaStreamBeginCapture(s, cudaStreamCaptureModeRelaxed));
  CK(cudaEventRecord(fork, s));
  CK(cudaStreamWaitEvent(t, fork, 0));
  waits<<<1, 1, 0, s>>>(p, p + 1);
  tells<<<1, 1, 0, t>>>(p);
  work<<<256, 256, 0, t>>>(d.a, d.b, d.n, 0.5f, 1);
  CK(cudaEventRecord(join, t));
  CK(cudaStreamWaitEvent(s, join, 0));
  CK(cudaStreamEndCapture(s, &g));
  CK(cudaGraphInstantiate(&e, g, 0));
  for (int i = 0; i < 10; i++) {
    CK(cudaGraphLaunch(e, s));
    CK(cudaStreamSynchronize(s));
    d.after(1);
  }
  CK(cudaMemcpy(&seen, p + 1, 4, cudaMemcpyDeviceToHost));
  return verdict(seen == 10 && d.right());
}
