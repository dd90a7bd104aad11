// class: a library with kernels that is opened, used, closed, and opened again
// also: -DLIBRARY -Xcompiler -fPIC -shared -cudart shared -o kernels.so
// build: -cudart shared
#include "common.h"
extern "C" void go(Data *d, int t);
#ifdef LIBRARY
static __device__ int calls;
static __global__ void add(float *a, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i == 0) calls++;
  if (i < n) a[i] += calls; // a new library's variable begins at 0
}
void go(Data *d, int t) {
  for (int k = 1; k <= 5; k++) {
    CK(cudaMemset(d->b, 0, 4));
    CK(cudaMemcpy(d->b, d->hb.data(), d->n * 4, cudaMemcpyHostToDevice));
    d->step(t);
  }
  int zero = 0;
  CK(cudaMemcpyToSymbol(calls, &zero, 4));
  for (int k = 0; k < 5; k++) {
    CK(cudaMemcpyToSymbol(calls, &t, 4));
    add<<<(d->n + 255) / 256, 256>>>(d->a, 0);
  }
  CK(cudaDeviceSynchronize());
}
#else
int main() {
  Data d;
  for (int r = 0; r < 3; r++) {
    void *l = dlopen("./kernels.so", RTLD_NOW | RTLD_LOCAL);
    if (!l) return puts(dlerror()), 1;
    ((decltype(&go))dlsym(l, "go"))(&d, r);
    dlclose(l);
    for (int t = 0; t < 5; t++) d.step(t);
  }
  return verdict(d.right());
}
#endif
