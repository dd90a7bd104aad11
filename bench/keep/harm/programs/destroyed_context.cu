// class: a context that is destroyed while the program goes on in another one
#include "common.h"
int main() {
  Data d;
  CUcontext old;
  DR(DRIVER(cuCtxGetCurrent)(&old));
  auto current = DRIVER(cuCtxSetCurrent);
  for (int r = 0; r < 3; r++) {
    CUcontext c;
#if CUDA_VERSION >= 13000
    DR(DRIVER(cuCtxCreate)(&c, nullptr, 0, 0));
#else
    DR(DRIVER(cuCtxCreate)(&c, 0, 0));
#endif
    float *x; // the runtime's calls go to the current context
    CK(cudaMalloc(&x, 400000));
    CK(cudaMemset(x, 0, 400000));
    for (int t = 0; t < 5; t++) work<<<64, 256>>>(x, x, 100000, 0.5f, t);
    CK(cudaDeviceSynchronize());
    DR(DRIVER(cuCtxDestroy)(c)); // with its memory
    DR(current(old));
    for (int t = 0; t < 5; t++) d.step(t);
  }
  return verdict(d.right());
}
