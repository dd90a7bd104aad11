// class: launches that differ in work
/* One size of launches each, of which most do next to nothing: a search over a graph (75 launches, few with a
   frontier), a triangle (launch i does i units), a work queue, and what converges. A recipe that
   gains on a launch without work may lose all of it on one with work. */
#include "common.h"
__global__ void frontier(const int *next, const char *now, char *then, int *cost, int n, int degree) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n || !now[i]) return;
  for (int e = 0; e < degree; e++) {
    int to = next[i * degree + e];
    if (cost[to] < 0) cost[to] = cost[i] + 1, then[to] = 1;
  }
}
__global__ void units(float *a, int n, int count) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  float x = a[i];
  for (int k = 0; k < count; k++) x = x * 0.5f + k;
  a[i] = x;
}
__global__ void queue(float *a, const int *items, const int *length, int n) {
  for (int q = blockIdx.x; q < *length; q += gridDim.x)
    for (int j = threadIdx.x; j < n; j += blockDim.x) a[items[q] * n + j] += items[q];
}
int main() {
  const int n = 1 << 20, degree = 4, levels = 75;
  std::vector<int> next(n * degree), cost(n, -1);
  for (int i = 0; i < n; i++)
    for (int e = 0; e < degree; e++) next[i * degree + e] = (int)((i * 4ll + e + 1) % n);
  int *dn, *dc;
  char *f[2];
  CK(cudaMalloc(&dn, n * degree * 4));
  CK(cudaMalloc(&dc, n * 4));
  for (auto &x : f) { CK(cudaMalloc(&x, n)); CK(cudaMemset(x, 0, n)); }
  cost[0] = 0;
  char one = 1;
  CK(cudaMemcpy(dn, next.data(), n * degree * 4, cudaMemcpyHostToDevice));
  CK(cudaMemcpy(dc, cost.data(), n * 4, cudaMemcpyHostToDevice));
  CK(cudaMemcpy(f[0], &one, 1, cudaMemcpyHostToDevice));
  for (int l = 0; l < levels; l++) {
    frontier<<<n / 1024, 1024>>>(dn, f[l & 1], f[!(l & 1)], dc, n, degree);
    CK(cudaMemset(f[l & 1], 0, n));
  }
  std::vector<int> now{0}, then, got(n);
  for (int l = 0; l < levels && !now.empty(); l++, now.swap(then), then.clear())
    for (int i : now)
      for (int e = 0; e < degree; e++) {
        int to = next[i * degree + e];
        if (cost[to] < 0) cost[to] = cost[i] + 1, then.push_back(to);
      }
  CK(cudaMemcpy(got.data(), dc, n * 4, cudaMemcpyDeviceToHost));
  bool good = got == cost;

  const int m = 1 << 16, rows = 64;
  float *a;
  CK(cudaMalloc(&a, m * rows * 4));
  CK(cudaMemset(a, 0, m * rows * 4));
  float x = 0;
  auto step = [&](int count) {
    units<<<m / 256, 256>>>(a, m, count);
    for (int k = 0; k < count; k++) x = fmaf(x, 0.5f, k);
  };
  for (int i = 1; i <= 100; i++) step(20 * i);                      // a triangle
  for (int c = 4000; c > 4; c = c * 9 / 10) step(c);                // what converges
  std::vector<float> h(m);
  CK(cudaMemcpy(h.data(), a, m * 4, cudaMemcpyDeviceToHost));
  for (float y : h) good = good && y == x;

  int *items, *length;
  CK(cudaMalloc(&items, rows * 4));
  CK(cudaMalloc(&length, 4));
  std::vector<int> list(rows);
  for (int i = 0; i < rows; i++) list[i] = i;
  CK(cudaMemcpy(items, list.data(), rows * 4, cudaMemcpyHostToDevice));
  CK(cudaMemset(a, 0, m * rows * 4));
  std::vector<float> want(rows);
  for (int l = 0; l < 200; l++) {
    int has = l % 20 ? l % 3 : rows;
    CK(cudaMemcpy(length, &has, 4, cudaMemcpyHostToDevice));
    queue<<<32, 256>>>(a, items, length, m);
    for (int i = 0; i < has; i++) want[i] += i;
  }
  for (int i = 0; i < rows; i++) {
    CK(cudaMemcpy(h.data(), a + (size_t)i * m, m * 4, cudaMemcpyDeviceToHost));
    for (float y : h) good = good && y == want[i];
  }
  return verdict(good);
}
