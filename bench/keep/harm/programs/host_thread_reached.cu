// class: words that a CPU thread writes meanwhile, beside those that the kernel reads
#include "common.h"
int main() {
  Data d;
  float *p;
  CK(cudaMallocHost((void **)&p, d.n * 4 + 4096));
  memcpy(p, d.hb.data(), d.n * 4);
  volatile unsigned *word = (volatile unsigned *)(p + d.n + 100);
  std::atomic<bool> stop{false};
  std::atomic<long> lost{0};
  std::thread writer([&] {
    for (unsigned i = 1; !stop; i++) {
      *word = i;
      for (int k = 0; k < 50; k++)
        if (*word != i) lost++;
    }
  });
  for (int t = 0; t < 30; t++) {
    d.from(p, t);
    CK(cudaDeviceSynchronize());
  }
  stop = true;
  writer.join();
  return verdict(lost == 0 && d.right(), "words of a CPU thread were undone");
}
