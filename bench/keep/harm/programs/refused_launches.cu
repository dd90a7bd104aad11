// class: launches that fail, and errors that the program looks at later
#include "common.h"
int main() {
  Data d;
  for (int t = 0; t < 10; t++) {
    work<<<256, 2048>>>(d.a, d.b, d.n, 0.5f, t); // too many threads
    printf("%s, ", cudaGetErrorName(cudaPeekAtLastError()));
    work<<<0, 256>>>(d.a, d.b, d.n, 0.5f, t); // no blocks; the first error stays
    printf("%s\n", cudaGetErrorName(cudaGetLastError()));
    d.step(t);
  }
  printf("%s\n", cudaGetErrorName(cudaMemcpy(d.a, d.b, 1u << 31, cudaMemcpyDeviceToDevice)));
  cudaGetLastError();
  printf("%s\n", cudaGetErrorName(cudaDeviceSynchronize()));
  return verdict(d.right());
}
