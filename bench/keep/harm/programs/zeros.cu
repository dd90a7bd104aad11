// class: zeros in the data, for which a folded powf gives the same bits, and for others not
// other: 1
#include "common.h"
__global__ void powers(float *o, const float *x, const float *e, int n, float base) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) o[i] = powf(base + x[i], e[i]) + expf(x[i]) * e[i];
}
int main(int argc, char **) {
  Data d(200000);
  if (argc == 1) CK(cudaMemset(d.b, 0, d.n * 4));
  for (int t = 0; t < 30; t++) powers<<<1000, 256>>>(d.a, d.b, d.b, d.n, 2.0f);
  CK(cudaMemcpy(d.ha.data(), d.a, d.n * 4, cudaMemcpyDeviceToHost));
  for (int i = 0; i < 32; i++) printf("%a\n", d.ha[i * 6007]);
  puts("ok");
}
