// Launches of every kind of kernels that see nothing of their blocks; each result is checked.
#include <cooperative_groups.h>
#include <cstdio>
#include <thread>
#include <vector>
__global__ void plane(int *out, unsigned long long *count, int w, int h, int k) {
  int x = blockIdx.x * blockDim.x + threadIdx.x, y = blockIdx.y * blockDim.y + threadIdx.y;
  atomicAdd(count, 1ull);
  if (x < w && y < h) out[y * w + x] = x * 7 + y * 13 + k;
}
__global__ void line(int *out, unsigned long long *count, int n, int k) {
  int step = gridDim.x * blockDim.x;
  atomicAdd(count, 1ull);
  for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += step) out[i] = i * 3 + k;
}
static int bad;
struct Buffer {
  int *out; unsigned long long *count;
  Buffer() { cudaMalloc(&out, 4 << 20); cudaMalloc(&count, 8); clear(); }
  void clear() { cudaMemset(out, 0xee, 4 << 20); cudaMemset(count, 0, 8); cudaDeviceSynchronize(); }
  void expect(const char *what, int w, int h, int k, unsigned long long threads) {
    cudaError_t e = cudaDeviceSynchronize();
    std::vector<int> host(1 << 20); unsigned long long n = 0;
    cudaMemcpy(host.data(), out, 4 << 20, cudaMemcpyDeviceToHost); cudaMemcpy(&n, count, 8, cudaMemcpyDeviceToHost);
    long wrong = 0;
    for (int i = 0; i < 1 << 20; i++) {
      int want = i < w * h ? (h > 1 ? i % w * 7 + i / w * 13 + k : i * 3 + k) : (int)0xeeeeeeee;
      wrong += host[i] != want;
    }
    bool ok = e == cudaSuccess && !wrong && n == threads;
    printf("%s %s: %ld words wrong, %llu threads of %llu, %s\n", ok ? "ok" : "WRONG", what, wrong, n, threads, cudaGetErrorString(e));
    bad += !ok; clear();
  }
};
int main() {
  Buffer b;
  auto say = [](const char *what) { printf("-- %s\n", what); fflush(stdout); };
  say("even"); plane<<<dim3(8, 6), dim3(16, 16)>>>(b.out, b.count, 125, 90, 1); b.expect("even", 125, 90, 1, 128 * 96);
  say("odd"); plane<<<dim3(3, 5), dim3(16, 16)>>>(b.out, b.count, 47, 79, 2); b.expect("odd", 47, 79, 2, 48 * 80);
  say("other block"); plane<<<dim3(4, 12), dim3(32, 8)>>>(b.out, b.count, 125, 90, 3); b.expect("other block", 125, 90, 3, 128 * 96);
  say("dynamic"); plane<<<dim3(8, 6), dim3(16, 16), 64>>>(b.out, b.count, 125, 90, 4); b.expect("dynamic", 125, 90, 4, 128 * 96);
  say("deep"); plane<<<dim3(8, 6, 3), dim3(16, 16)>>>(b.out, b.count, 125, 90, 5); b.expect("deep", 125, 90, 5, 3 * 128 * 96);
  say("high"); plane<<<dim3(8, 40000), dim3(16, 16)>>>(b.out, b.count, 128, 4096, 6); b.expect("high", 128, 4096, 6, 128ull * 640000);
  cudaStream_t s; cudaStreamCreate(&s);
  say("stream"); plane<<<dim3(8, 6), dim3(16, 16), 0, s>>>(b.out, b.count, 125, 90, 7); b.expect("stream", 125, 90, 7, 128 * 96);
  say("graph");
  cudaGraph_t g; cudaGraphExec_t x;
  cudaStreamBeginCapture(s, cudaStreamCaptureModeGlobal);
  plane<<<dim3(8, 6), dim3(16, 16), 0, s>>>(b.out, b.count, 125, 90, 8);
  cudaStreamEndCapture(s, &g); cudaGraphInstantiate(&x, g, 0); cudaGraphLaunch(x, s); cudaGraphLaunch(x, s); b.expect("graph", 125, 90, 8, 2 * 128 * 96);
  int w = 125, h = 90, k = 9; void *args[] = {&b.out, &b.count, &w, &h, &k};
  say("pointer"); cudaLaunchKernel((void *)plane, dim3(8, 6), dim3(16, 16), args, 0, 0); b.expect("pointer", 125, 90, 9, 128 * 96);
  say("cooperative"); k = 10; cudaLaunchCooperativeKernel((void *)plane, dim3(8, 6), dim3(16, 16), args, 0, 0); b.expect("cooperative", 125, 90, 10, 128 * 96);
  say("attributes");
  cudaLaunchConfig_t c = {}; c.gridDim = dim3(8, 6); c.blockDim = dim3(16, 16); cudaLaunchAttribute a[1]; a[0].id = cudaLaunchAttributeClusterDimension; a[0].val.clusterDim.x = 2; a[0].val.clusterDim.y = a[0].val.clusterDim.z = 1;
  c.attrs = a; c.numAttrs = 1; cudaLaunchKernelEx(&c, plane, b.out, b.count, 125, 90, 11); b.expect("attributes", 125, 90, 11, 128 * 96);
  say("pending"); cudaSetDevice(99); plane<<<dim3(8, 6), dim3(16, 16)>>>(b.out, b.count, 125, 90, 12);
  printf("%s pending error: %s\n", cudaGetLastError() == cudaErrorInvalidDevice ? "ok" : (bad++, "WRONG"), "kept"); b.expect("pending", 125, 90, 12, 128 * 96);
  say("zero"); plane<<<dim3(0, 6), dim3(16, 16)>>>(b.out, b.count, 125, 90, 13); printf("%s zero: error %d\n", "said", (int)cudaGetLastError());
  say("too high"); plane<<<dim3(1, 70000), dim3(16, 16)>>>(b.out, b.count, 125, 90, 13); printf("%s too high: error %d\n", "said", (int)cudaGetLastError());
  b.clear();
  say("line"); line<<<100, 256>>>(b.out, b.count, 1000003, 14); b.expect("line", 1000003, 1, 14, 25600);
  say("line odd"); line<<<101, 256>>>(b.out, b.count, 1000003, 15); b.expect("line odd", 1000003, 1, 15, 25856);
  say("line one"); line<<<1, 256>>>(b.out, b.count, 1003, 16); b.expect("line one", 1003, 1, 16, 256);
  say("threads");
  std::vector<std::thread> all;
  for (int t = 0; t < 8; t++) all.emplace_back([&] { for (int i = 0; i < 200; i++) line<<<100, 256>>>(b.out, b.count, 1000003, 17); });
  for (auto &t : all) t.join();
  b.expect("threads", 1000003, 1, 17, 1600ull * 25600);
  printf(bad ? "FAIL %d\n" : "PASS edge\n", bad);
  return bad != 0;
}
