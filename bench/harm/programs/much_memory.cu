// class: launches that reach gigabytes
#include "common.h"
int main() {
  float *p, *b, first[4], last[4];
  const size_t n = 800u << 20;
  CK(cudaMalloc(&p, n));
  CK(cudaMalloc(&b, n));
  CK(cudaMemset(p, 1, n));
  CK(cudaMemset(b, 0, n));
  for (int t = 0; t < 3; t++) work<<<4096, 256>>>(b, p, n / 4, 0.5f, t);
  CK(cudaMemcpy(first, b, 16, cudaMemcpyDeviceToHost));
  CK(cudaMemcpy(last, (char *)b + n - 16, 16, cudaMemcpyDeviceToHost));
  float a = 0, x;
  memset(&x, 1, 4);
  for (int t = 0; t < 3; t++) host_work(&a, &x, 1, 0.5f, t);
  bool good = true;
  for (int i = 0; i < 4; i++) good = good && fabsf(first[i] - a) < 1e-4f && fabsf(last[i] - a) < 1e-4f;
  return verdict(good);
}
