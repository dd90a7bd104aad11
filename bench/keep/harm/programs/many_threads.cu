// class: many threads, each with arguments, memory and a stream of its own
#include "common.h"
int main() {
  std::vector<std::thread> all;
  std::atomic<int> bad{0};
  for (int k = 0; k < 16; k++)
    all.emplace_back([&, k] {
      Data d(20000 + 64 * k);
      cudaStream_t s;
      CK(cudaStreamCreate(&s));
      for (int t = 0; t < 40; t++) d.step(t, s);
      CK(cudaStreamSynchronize(s));
      if (!d.right()) bad++;
    });
  for (auto &t : all) t.join();
  return verdict(bad == 0);
}
