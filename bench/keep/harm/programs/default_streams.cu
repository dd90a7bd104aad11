// class: threads with a default stream of their own
// build: -default-stream per-thread
#include "common.h"
int main() {
  std::vector<std::thread> all;
  std::atomic<int> bad{0};
  for (int k = 0; k < 8; k++)
    all.emplace_back([&, k] {
      Data d(20000 + 64 * k);
      for (int t = 0; t < 30; t++) d.step(t);
      if (!d.right()) bad++;
    });
  for (auto &t : all) t.join();
  return verdict(bad == 0);
}
