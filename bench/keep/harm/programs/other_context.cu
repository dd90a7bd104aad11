// class: memory of another context that is written meanwhile
#include "common.h"
int main() {
  Data d;
  CUcontext c, old;
  CUdeviceptr m;
  int got;
  DR(DRIVER(cuCtxGetCurrent)(&old));
#if CUDA_VERSION >= 13000
  DR(DRIVER(cuCtxCreate)(&c, nullptr, 0, 0));
#else
  DR(DRIVER(cuCtxCreate)(&c, 0, 0));
#endif
  auto current = DRIVER(cuCtxSetCurrent);
  DR(DRIVER(cuMemAlloc)(&m, 4096));
  for (int t = 0; t < 20; t++) {
    DR(current(old));
    d.step(t);
    DR(current(c));
    DR(DRIVER(cuMemsetD32)(m, 100 + t, 1024));
    DR(DRIVER(cuMemcpyDtoH)(&got, m, 4));
    if (got != 100 + t) return verdict(false, "the other context's memory was undone");
  }
  DR(current(old));
  return verdict(d.right());
}
