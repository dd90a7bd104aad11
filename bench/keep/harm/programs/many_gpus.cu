// class: more than one GPU, with memory of one that the other reaches
#include "common.h"
int main() {
  int n = 0, can = 0;
  CK(cudaGetDeviceCount(&n));
  if (n < 2) return puts("skipped: one GPU is visible"), 0;
  CK(cudaDeviceCanAccessPeer(&can, 1, 0));
  Data d;
  CK(cudaSetDevice(1));
  Data e(70000);
  for (int t = 0; t < 20; t++) {
    CK(cudaSetDevice(t % 2));
    (t % 2 ? e : d).step(t);
  }
  if (can) { // the second GPU works on the first one's memory
    CK(cudaSetDevice(0));
    CK(cudaDeviceSynchronize());
    CK(cudaSetDevice(1));
    CK(cudaDeviceEnablePeerAccess(0, 0));
    for (int t = 0; t < 10; t++) d.step(t);
    CK(cudaDeviceSynchronize());
  }
  bool good = e.right();
  CK(cudaSetDevice(0));
  return verdict(good && d.right());
}
