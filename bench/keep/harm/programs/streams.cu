// class: streams with priorities and events; launches of one run beside those of others
#include "common.h"
int main() {
  int low, high;
  CK(cudaDeviceGetStreamPriorityRange(&low, &high));
  cudaStream_t s[4];
  cudaEvent_t e[4];
  std::vector<Data> d;
  for (int i = 0; i < 4; i++) {
    CK(cudaStreamCreateWithPriority(&s[i], cudaStreamNonBlocking, i % 2 ? high : low));
    CK(cudaEventCreateWithFlags(&e[i], cudaEventDisableTiming));
    d.emplace_back(50000 + i);
  }
  CK(cudaDeviceSynchronize());
  for (int t = 0; t < 40; t++)
    for (int i = 0; i < 4; i++) { // each waits for its neighbour's step before
      CK(cudaStreamWaitEvent(s[i], e[(i + 1) % 4]));
      d[i].step(t, s[i]);
      CK(cudaEventRecord(e[i], s[i]));
    }
  bool good = true;
  CK(cudaDeviceSynchronize());
  for (auto &x : d) good = good && x.right();
  return verdict(good);
}
