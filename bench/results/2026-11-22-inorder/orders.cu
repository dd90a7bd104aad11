// times the variants of Swap (256^3 doubles) and swapGrid (400^3): each in turn, several rounds; and compares the bytes
#include <cuda.h>
#include <cstdio>
#include <cstdlib>
#include <vector>
#include <algorithm>
#include <string>
#define C(x) do { CUresult err_ = (x); if (err_) { const char *why_; cuGetErrorString(err_, &why_); printf("FAIL %s: %s\n", #x, why_); exit(1); } } while (0)
int main() {
  CUdevice d; CUcontext c; C(cuInit(0)); C(cuDeviceGet(&d, 0)); C(cuDevicePrimaryCtxRetain(&c, d)); C(cuCtxSetCurrent(c));
  const char *variants[] = {"base", "O1", "relcta", "reversed", "sys", "gpu", "nop", "dep", "relcta256", "relctaNA"};
  struct P { const char *file, *fun; int n; std::vector<std::vector<int>> blocks; } programs[] = {
    {"che", "_Z4SwapPA256_A256_dS1_", 256, {{16, 4, 4}, {128, 1, 1}, {32, 4, 1}, {32, 8, 1}}},
    {"ace", "_Z8swapGridPA400_A400_dS1_", 400, {{8, 8, 4}, {80, 2, 1}, {16, 16, 1}, {80, 1, 1}}}};
  for (auto &p : programs) {
    size_t bytes = size_t(p.n) * p.n * p.n * 8; CUdeviceptr a, b; C(cuMemAlloc(&a, bytes)); C(cuMemAlloc(&b, bytes));
    std::vector<double> x(bytes / 8), y(bytes / 8), u(bytes / 8);
    for (size_t i = 0; i < x.size(); i++) { x[i] = i; y[i] = -3.5 * i - 1; }
    std::vector<CUfunction> f;
    for (auto v : variants) { CUmodule m; C(cuModuleLoad(&m, (std::string(p.file) + "." + v + ".cubin").c_str())); CUfunction k; C(cuModuleGetFunction(&k, m, p.fun)); f.push_back(k); }
    void *args[] = {&a, &b}; CUevent s, e; C(cuEventCreate(&s, 0)); C(cuEventCreate(&e, 0));
    for (auto &w : p.blocks) {
      auto launch = [&](CUfunction k) { C(cuLaunchKernel(k, (p.n + w[0] - 1) / w[0], (p.n + w[1] - 1) / w[1], (p.n + w[2] - 1) / w[2], w[0], w[1], w[2], 0, 0, args, 0)); };
      std::vector<std::vector<float>> t(f.size());
      for (int r = 0; r < 12; r++) for (size_t i = 0; i < f.size(); i++) {
        launch(f[i]); C(cuEventRecord(s, 0)); for (int n = 0; n < 10; n++) launch(f[i]); C(cuEventRecord(e, 0)); C(cuEventSynchronize(e));
        float ms; C(cuEventElapsedTime(&ms, s, e)); t[i].push_back(ms * 100);
      }
      printf("%s %dx%dx%d us:", p.fun, w[0], w[1], w[2]);
      float base = 0;
      for (size_t i = 0; i < f.size(); i++) { std::sort(t[i].begin(), t[i].end()); float m = t[i][6]; if (!i) base = m; printf(" %s %.1f (%.3f)", variants[i], m, m / base); }
      printf("\n");
    }
    auto &w = p.blocks[0];
    for (size_t i = 0; i < f.size(); i++) {
      C(cuMemcpyHtoD(a, x.data(), bytes)); C(cuMemcpyHtoD(b, y.data(), bytes));
      C(cuLaunchKernel(f[i], (p.n + w[0] - 1) / w[0], (p.n + w[1] - 1) / w[1], (p.n + w[2] - 1) / w[2], w[0], w[1], w[2], 0, 0, args, 0));
      C(cuMemcpyDtoH(u.data(), a, bytes)); bool ok = u == y; C(cuMemcpyDtoH(u.data(), b, bytes)); ok = ok && u == x;
      if (!ok) printf("FAIL %s %s: other bytes\n", p.file, variants[i]);
    }
    printf("PASS %s: bytes compared\n", p.file);
    C(cuMemFree(a)); C(cuMemFree(b));
  }
}
