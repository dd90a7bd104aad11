// What a launch costs the host, by the second entries that its kernel has: a line a kind of launch.
//
//   nvcc -O3 -arch=sm_90 cost.cu -o cost0 -cudart shared
//   gnvcc, with `gnvcc pin two 'spec{host(block)=256x1x1} shape=128x1x1'`, as cost1
//   ./cost0; ./cost1                                       with what the driver does
//   LD_PRELOAD=./null.so ./cost0; LD_PRELOAD=./null.so ./cost1    launches that do nothing: the stub
//
// The kernels do nothing, and a batch of launches is shorter than the queue, which is empty before
// it: the host never waits. Kinds of launches take turns, batch by batch, so that a machine that
// becomes slower does so for all of them.
#include <algorithm>
#include <chrono>
#include <cstdio>
#include <vector>

__global__ void one(int *out, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) out[i] = 1;
}
__global__ void two(int *out, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) out[i] = 2;
}

enum { LAUNCHES = 100, BATCHES = 1500 };

template <class F> static void batch(std::vector<double> &ns, F f) {
  cudaDeviceSynchronize();
  for (int i = 0; i < 4; i++) f();
  auto begin = std::chrono::steady_clock::now();
  for (int i = 0; i < LAUNCHES; i++) f();
  ns.push_back(std::chrono::duration<double, std::nano>(std::chrono::steady_clock::now() - begin)
                   .count() / LAUNCHES);
}

static void tell(const char *what, std::vector<double> ns) {
  std::sort(ns.begin(), ns.end());
  printf("%-24s median %7.1f ns, a tenth below %7.1f, a tenth above %7.1f\n", what,
         ns[ns.size() / 2], ns[ns.size() / 10], ns[ns.size() * 9 / 10]);
}

int main() {
  int *out, device;
  if (cudaMalloc(&out, 4096) != cudaSuccess) { printf("FAIL no device\n"); return 1; }
  cudaStream_t stream;
  cudaStreamCreate(&stream);
  cudaStreamCaptureStatus status;
  std::vector<double> a, b, c, peek, get, capturing;
  for (int r = -3; r < BATCHES; r++) {
    if (r == 0) for (auto v : {&a, &b, &c, &peek, &get, &capturing}) v->clear();
    batch(a, [&] { one<<<1, 256>>>(out, 0); });
    batch(b, [&] { two<<<1, 256>>>(out, 0); });
    batch(c, [&] { two<<<1, 64>>>(out, 0); });
    batch(peek, [&] { cudaPeekAtLastError(); });
    batch(get, [&] { cudaGetDevice(&device); });
    batch(capturing, [&] { cudaStreamIsCapturing(stream, &status); });
  }
  tell("one, no entry", a);
  tell("two, of 256 threads", b);
  tell("two, of 64 threads", c);
  tell("cudaPeekAtLastError", peek);
  tell("cudaGetDevice", get);
  tell("cudaStreamIsCapturing", capturing);
  return cudaDeviceSynchronize() != cudaSuccess;
}
