// Limited by occupancy: a few registers above a step.
//
// Every warp follows its own chain through a table: read a row of 32 values, add it to the running moments, and let the row name
// the next one. A warp has one read in flight and nothing to do meanwhile, so time is latency, and only more resident
// warps help. A block has 1024 threads: up to 32 registers a thread two blocks fit on a multiprocessor, with one register more
// a single one. The twenty moments take the kernel just above that step.
#include "example.h"

constexpr int moments = 20, rows = 1 << 17, steps = 64, block = 1024;

// The k-th Chebyshev polynomials are moments that stay bounded and need no constants.
__host__ __device__ inline void add_moments(float (&sum)[moments], float x) {
    float before = 1, now = x;
#pragma unroll
    for (int k = 0; k < moments; k++) {
        sum[k] += now;
        float after = 2 * x * now - before;
        before = now, now = after;
    }
}

__global__ void walk(const float *__restrict__ table, const int *__restrict__ next, float *__restrict__ out, int count) {
    int thread = blockIdx.x * blockDim.x + threadIdx.x;
    int lane = threadIdx.x % 32, row = thread / 32 % rows;
    float sum[moments] = {};
    for (int s = 0; s < count; s++) {
        add_moments(sum, table[row * 32 + lane]);
        row = next[row];
    }
    int threads = gridDim.x * blockDim.x;
#pragma unroll
    for (int k = 0; k < moments; k++) out[k * threads + thread] = sum[k];
}

int main() {
    example::Example ex("occupancy");
    const int blocks = 132 * 4, threads = blocks * block; // four blocks a multiprocessor of an H100 or H200
    example::Array<float> table(static_cast<size_t>(rows) * 32), out(static_cast<size_t>(moments) * threads);
    example::Array<int> next(rows);
    for (size_t i = 0; i < table.size(); i++) table[i] = 2 * example::noise(static_cast<uint32_t>(i)) - 1;
    for (int i = 0; i < rows; i++) next[i] = static_cast<int>(i * 40503u + 12345u) & (rows - 1); // a permutation: 40503 is odd
    table.up(), next.up();

    ex.time("walk", [&] { walk<<<blocks, block>>>(table.device, next.device, out.device, steps); });

    out.down();
    for (int t = 0; t < threads; t += 7) {
        float sum[moments] = {};
        for (int s = 0, row = t / 32 % rows; s < steps; s++, row = next[row]) add_moments(sum, table[row * 32 + t % 32]);
        for (int k = 0; k < moments; k++) ex.check("out", size_t(k) * threads + t, out[size_t(k) * threads + t], sum[k], 1e-4);
    }
    return ex.finish();
}
