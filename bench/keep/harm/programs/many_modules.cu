// class: modules that are loaded and unloaded by the driver's API, with the same names in them
#include "common.h"
static std::string text(int add) {
  return ".version 7.0\n.target sm_50\n.address_size 64\n"
         ".visible .global .align 4 .u32 seen;\n"
         ".visible .entry add(.param .u64 p) {\n"
         ".reg .b64 %r<4>; .reg .b32 %x<3>;\n"
         "ld.param.u64 %r1, [p]; cvta.to.global.u64 %r1, %r1;\n"
         "ld.global.u32 %x1, [%r1]; add.u32 %x1, %x1, " + std::to_string(add) + ";\n"
         "st.global.u32 [%r1], %x1; mov.u64 %r2, seen; ld.global.u32 %x2, [%r2];\n"
         "add.u32 %x2, %x2, 1; st.global.u32 [%r2], %x2; ret;\n}\n";
}
int main() {
  Data d;
  unsigned *o, h, want = 0;
  bool good = true;
  CK(cudaMalloc((void **)&o, 4));
  CK(cudaMemset(o, 0, 4));
  void *args[] = {&o};
  for (int k = 0; k < 12; k++) {
    CUmodule m;
    CUfunction f;
    CUdeviceptr seen;
    size_t size;
    DR(DRIVER(cuModuleLoadData)(&m, text(k + 1).c_str()));
    DR(DRIVER(cuModuleGetFunction)(&f, m, "add"));
    for (int r = 0; r < 4; r++, want += k + 1)
      DR(DRIVER(cuLaunchKernel)(f, 1, 1, 1, 1, 1, 1, 0, 0, args, 0));
    DR(DRIVER(cuModuleGetGlobal)(&seen, &size, m, "seen"));
    CK(cudaMemcpy(&h, (void *)seen, 4, cudaMemcpyDeviceToHost));
    good = good && h == 4;
    DR(DRIVER(cuModuleUnload)(m));
    d.step(k);
  }
  CK(cudaMemcpy(&h, o, 4, cudaMemcpyDeviceToHost));
  return verdict(good && h == want && d.right());
}
