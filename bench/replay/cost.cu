// What watching costs: launches of a kernel of about 20 us and one of many blocks of 1 us, ahead of the GPU and waited for.
#include <cstdio>
#include <cstdlib>
#include <ctime>
#include <cuda_runtime.h>
__global__ void spin(long long cycles) { long long t = clock64(); while (clock64() - t < cycles); }
__global__ void tiny(int *p) { if (p) p[0] = 1; }
static double now() { timespec t; clock_gettime(CLOCK_MONOTONIC, &t); return t.tv_sec + t.tv_nsec * 1e-9; }
static double run(int what, int n, bool wait) {
  double t = now();
  for (int i = 0; i < n; i++) {
    if (what == 0) spin<<<132, 128>>>(34000);
    else if (what == 1) spin<<<132 * 16 * 20, 128>>>(1700);
    else tiny<<<1, 32>>>(nullptr);
    if (wait) cudaDeviceSynchronize();
  }
  cudaDeviceSynchronize();
  return (now() - t) / n * 1e6;
}
int main(int c, char **v) {
  int n = c > 1 ? atoi(v[1]) : 20000;
  run(0, 200, false), run(1, 200, false), run(2, 200, false);
  const char *name[] = {"20 us", "42240 blocks of 1 us", "empty"};
  for (int round = 0; round < 2; round++)
    for (int what = 0; what < 3; what++)
      for (int wait = 0; wait < 2; wait++) printf("%-22s %-7s %9.3f us a launch\n", name[what], wait ? "waited" : "ahead", run(what, n, wait));
  // Event pairs around one launch of 100.
  cudaEvent_t a, b;
  cudaEventCreate(&a), cudaEventCreate(&b);
  double t = now();
  for (int i = 0; i < n; i++) {
    if (i % 100 == 0) cudaEventRecord(a);
    spin<<<132, 128>>>(34000);
    if (i % 100 == 0) cudaEventRecord(b);
  }
  cudaDeviceSynchronize();
  printf("20 us, events around 1 of 100: %.3f us a launch\n", (now() - t) / n * 1e6);
}
