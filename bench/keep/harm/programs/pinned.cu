// class: kernels that read and write pinned and registered host memory
#include "common.h"
int main() {
  Data d;
  float *p, *q = (float *)aligned_alloc(4096, 409600);
  CK(cudaMallocHost((void **)&p, 400000));
  memcpy(p, d.hb.data(), 400000);
  memcpy(q, d.hb.data(), 400000);
  CK(cudaHostRegister(q, 409600, cudaHostRegisterMapped));
  for (int t = 0; t < 10; t++) d.from(t % 2 ? p : q, t);
  bool good = d.right();
  memcpy(p, d.ha.data(), 400000); // and what the device wrote there
  for (int t = 0; t < 5; t++) work<<<64, 256>>>(p, d.b, d.n, 0.5f, t), d.after(t);
  CK(cudaDeviceSynchronize());
  for (int i = 0; i < d.n; i++) good = good && fabsf(p[i] - d.ha[i]) <= 1e-4f * fabsf(d.ha[i]) + 1e-5f;
  CK(cudaHostUnregister(q));
  q[0] = 1;
  return verdict(good);
}
