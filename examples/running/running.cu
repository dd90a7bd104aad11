// Sums that are stored after each turn of a loop, by few threads: the compiler keeps a sum in a register, but what it loads next may
// be what it has just stored, for all that it knows.
//
// So the turns wait for memory one after the other. The lever "early" asks at run time whether the addresses are others, and loads
// what several turns need at once.
#include "example.h"

constexpr int threads = 32, blocks = 12, turns = 4096;

__global__ void running(float *sum, float *a, float *b) {
    int t = blockIdx.x * blockDim.x + threadIdx.x;
    for (int i = 0; i < turns; i++) sum[t] += a[i * threads * blocks + t] * b[i];
}

int main() {
    example::Example ex("running");
    const size_t n = threads * blocks;
    example::Array<float> sum(n), a(n * turns), b(turns);
    for (size_t i = 0; i < a.size(); i++) a[i] = static_cast<float>(i % 7);
    for (size_t i = 0; i < b.size(); i++) b[i] = static_cast<float>(i % 3);
    a.up(), b.up();
    ex.time("running", [&] { cudaMemset(sum.device, 0, n * sizeof(float)), running<<<blocks, threads>>>(sum.device, a.device, b.device); });
    sum.down();
    for (size_t t = 0; t < n; t++) {
        int want = 0; // exact: no sum reaches 2^24
        for (size_t i = 0; i < turns; i++) want += static_cast<int>((i * n + t) % 7) * static_cast<int>(i % 3);
        ex.check("sum", t, sum[t], want, 0);
    }
    return ex.finish();
}
