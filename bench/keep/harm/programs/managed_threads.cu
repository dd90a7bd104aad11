// class: managed memory that CPU threads write while kernels run
#include "common.h"
int main() {
  int device = 0, both = 0;
  CK(cudaGetDevice(&device));
  CK(cudaDeviceGetAttribute(&both, cudaDevAttrConcurrentManagedAccess, device));
  if (!both) return puts("skipped: no managed memory for both at a time"), 0;
  Data d;
  float *m;
  long *counter;
  CK(cudaMallocManaged(&m, d.n * 4));
  CK(cudaMallocManaged(&counter, 1 << 16));
  memcpy(m, d.hb.data(), d.n * 4);
  std::atomic<bool> stop(false);
  std::thread counts([&] {
    while (!stop) __atomic_fetch_add(counter, 1, __ATOMIC_RELAXED), usleep(20);
  });
  for (int t = 0; t < 40; t++) {
    d.from(m, t);
    if (t % 8 == 7) {
      CK(cudaDeviceSynchronize());
      m[t] += 2;
      d.hb[t] += 2;
    }
  }
  CK(cudaDeviceSynchronize());
  stop = true;
  counts.join();
  return verdict(d.right() && *counter > 0);
}
