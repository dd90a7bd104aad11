// class: a program that takes nearly all memory of the device, and is told how much there is
// alone
#include "common.h"
int main() {
  Data d;
  d.step(0);
  CK(cudaDeviceSynchronize());
  size_t free, all;
  CK(cudaMemGetInfo(&free, &all));
  std::vector<void *> taken;
  for (size_t want = 1 << 30, left = free > (1u << 30) ? free - (1u << 30) : 0; left > want; left -= want) {
    void *p;
    CK(cudaMalloc(&p, want));
    taken.push_back(p);
  }
  for (int t = 1; t < 30; t++) d.step(t);
  bool good = d.right();
  Data more(1000000); // what was left
  for (int t = 0; t < 10; t++) more.step(t);
  good = good && more.right();
  for (void *p : taken) CK(cudaFree(p));
  return verdict(good);
}
