// class: a variable of another module, loaded by the driver's API, that a kernel gets the address of
#include "common.h"
static const char *text =
    ".version 7.0\n.target sm_50\n.address_size 64\n"
    ".visible .global .align 4 .u32 theirs = 5;\n.visible .entry nothing() { ret; }\n";
__global__ void raise(unsigned *p, float *a, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i == 0) atomicAdd(p, 1);
  if (i < n) a[i] += 1;
}
int main() {
  Data d(50000);
  CUmodule m;
  CUdeviceptr p;
  size_t size;
  unsigned h = 0;
  DR(DRIVER(cuModuleLoadData)(&m, text));
  DR(DRIVER(cuModuleGetGlobal)(&p, &size, m, "theirs"));
  for (int k = 0; k < 20; k++) raise<<<200, 256>>>((unsigned *)p, d.a, d.n);
  for (auto &x : d.ha) x += 20;
  CK(cudaMemcpy(&h, (void *)p, 4, cudaMemcpyDeviceToHost));
  DR(DRIVER(cuModuleUnload)(m));
  return verdict(h == 25 && d.right(), "another module's variable was run over");
}
