// class: words that a CPU thread writes meanwhile, in pinned memory
#include "common.h"
int main() {
  Data d;
  volatile unsigned *p;
  CK(cudaMallocHost((void **)&p, 1 << 20));
  memset((void *)p, 0, 1 << 20);
  std::atomic<bool> stop{false};
  std::atomic<long> lost{0};
  std::thread writer([&] {
    for (unsigned i = 1; !stop; i++) {
      p[100] = i;
      for (int k = 0; k < 50; k++)
        if (p[100] != i) lost++;
    }
  });
  for (int t = 0; t < 30; t++) {
    d.step(t);
    CK(cudaDeviceSynchronize());
  }
  stop = true;
  writer.join();
  return verdict(lost == 0 && d.right(), "words of a CPU thread were undone");
}
