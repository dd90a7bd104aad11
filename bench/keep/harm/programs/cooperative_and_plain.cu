// class: a kernel without a barrier that is launched in both ways, as cooperative with as many blocks as a full GPU has threads for
#include "common.h"
int main() {
  Data d(1 << 20);
  int device = 0, t = 0;
  float s = 0.5f;
  cudaDeviceProp p;
  CK(cudaGetDevice(&device));
  CK(cudaGetDeviceProperties(&p, device));
  int all = p.multiProcessorCount * (p.maxThreadsPerMultiProcessor / 256); // with 32 registers a thread
  void *args[] = {&d.a, &d.b, &d.n, &s, &t};
  cudaFuncAttributes a;
  CK(cudaFuncGetAttributes(&a, work));
  if (a.numRegs > 32) return puts("skipped: more than 32 registers"), 0;
  for (t = 0; t < 20; t++) {
    if (t % 2) d.step(t);
    else {
      CK(cudaLaunchCooperativeKernel((void *)work, dim3(all), dim3(256), args, 0, 0));
      d.after(t);
    }
  }
  return verdict(d.right());
}
