// class: kernels that run for seconds
#include "common.h"
__global__ void longer(long long ns, int *o) {
  long long s, t;
  asm volatile("mov.u64 %0, %%globaltimer;" : "=l"(s));
  do asm volatile("mov.u64 %0, %%globaltimer;" : "=l"(t));
  while (t - s < ns);
  *o += 1;
}
int main(int argc, char **argv) { // how many seconds, for who wants a kernel of more than a minute
  long long seconds = argc > 1 ? atoll(argv[1]) : 3;
  int *o, h = 0;
  CK(cudaMalloc(&o, 4));
  CK(cudaMemset(o, 0, 4));
  for (int k = 0; k < 2; k++) longer<<<1, 1>>>(seconds * 1000000000ll, o);
  CK(cudaMemcpy(&h, o, 4, cudaMemcpyDeviceToHost));
  return verdict(h == 2);
}
