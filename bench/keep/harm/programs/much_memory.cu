// class: launches that reach gigabytes
#include "common.h"
int main() {
  float *p, *b;
  const size_t n = 800u << 20;
  CK(cudaMalloc(&p, n));
  CK(cudaMalloc(&b, n));
  CK(cudaMemset(p, 1, n));
  CK(cudaMemset(b, 0, n));
  for (int t = 0; t < 3; t++) work<<<4096, 256>>>(b, p, n / 4, 0.5f, t);
  int w = columns(n / 4);
  std::vector<float> got(w), a(w), x(n / 4);
  CK(cudaMemcpy(got.data(), b, w * 4, cudaMemcpyDeviceToHost));
  memset(x.data(), 1, n);
  for (int t = 0; t < 3; t++) host_work(a.data(), x.data(), n / 4, 0.5f, t);
  bool good = true;
  for (int i = 0; i < w; i++) good = good && fabsf(got[i] - a[i]) <= 1e-4f * fabsf(a[i]) + 1e-5f;
  return verdict(good);
}
