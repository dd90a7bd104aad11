// class: infinities, NaN, subnormals and negative zeros in the data
// other: 1
#include "common.h"
__global__ void mix(float *o, const float *x, int n, float s) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  float a = 0;
  for (int k = 0; k < 16; k++) a = fmaxf(a, x[(i + k * 37) % n] * s) - fminf(a * s, x[(i + k) % n]);
  o[i] = a / (x[i] * s);
}
int main(int argc, char **) {
  const float some[] = {0.f, -0.f, INFINITY, -INFINITY, NAN, 1e-40f, -1e-45f, 3e38f};
  Data d(200000);
  for (int i = 0; i < d.n; i++)
    if (argc > 1 || i % 3 == 0) d.hb[i] = some[i % 8];
  CK(cudaMemcpy(d.b, d.hb.data(), d.n * 4, cudaMemcpyHostToDevice));
  for (int t = 0; t < 30; t++) mix<<<800, 256>>>(d.a, d.b, d.n, argc > 1 ? -0.f : 1.5f);
  CK(cudaMemcpy(d.ha.data(), d.a, d.n * 4, cudaMemcpyDeviceToHost));
  for (int i = 0; i < 48; i++) {
    float x = d.ha[i * 4001];
    if (x != x) puts("nan");
    else printf("%a\n", x);
  }
  puts("ok");
}
