// class: functions of the host in a stream, by both ways; their order, and what they see
#include "common.h"
static std::vector<int> order;
static void function(void *v) { order.push_back((int)(size_t)v); }
static void callback(cudaStream_t, cudaError_t e, void *v) { order.push_back((int)(size_t)v + 1000 * e); }
int main() {
  Data d;
  cudaStream_t s;
  CK(cudaStreamCreate(&s));
  for (int t = 0; t < 30; t++) {
    d.step(t, s);
    if (t % 2) CK(cudaLaunchHostFunc(s, function, (void *)(size_t)t));
    else CK(cudaStreamAddCallback(s, callback, (void *)(size_t)t, 0));
  }
  CK(cudaStreamSynchronize(s));
  bool good = order.size() == 30;
  for (size_t i = 0; i < order.size(); i++) good = good && order[i] == (int)i;
  return verdict(good && d.right());
}
