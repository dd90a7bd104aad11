// Few blocks, long threads, many registers wanted.
//
// One thread walks down a column of a tall matrix; one block of 64 columns a multiprocessor is all the parallelism that there is.
// What hides the latency of memory here is not other warps but the loads that one thread has in flight, and each of
// those wants a register of its own. ptxas cannot know how few the warps are: it settles on 32 registers, good for
// full occupancy, and so for 17 loads at a time. With 64 registers 50 are in flight, with 128 the whole batch.
// (column_bound says __launch_bounds__(64), so that even 128 registers can never make a launch fail.)
#include "example.h"

// 132 multiprocessors are an H100's or H200's.
constexpr int columns = 132 * 64, rows = 4096, block = 64, batch = 64;

__device__ float column(const float *__restrict__ m, int width, int height, int c) {
    float sum[4] = {0, 0, 0, 0};
    for (int r = 0; r < height; r += batch) {
#pragma unroll
        for (int k = 0; k < batch; k++) {
            float x = m[static_cast<size_t>(r + k) * width + c];
            sum[k % 4] += x * x;
        }
    }
    return sqrtf((sum[0] + sum[1]) + (sum[2] + sum[3]));
}

__global__ void column_norm(const float *__restrict__ m, float *__restrict__ norm, int width, int height) {
    int c = blockIdx.x * blockDim.x + threadIdx.x;
    if (c < width) norm[c] = column(m, width, height, c);
}

__global__ void __launch_bounds__(block) column_bound(const float *__restrict__ m, float *__restrict__ norm, int width, int height) {
    int c = blockIdx.x * blockDim.x + threadIdx.x;
    if (c < width) norm[c] = column(m, width, height, c);
}

int main() {
    example::Example ex("longthreads");
    example::Array<float> m(static_cast<size_t>(rows) * columns), norm(columns), bound(columns);
    for (size_t i = 0; i < m.size(); i++) m[i] = example::noise(static_cast<uint32_t>(i)) - 0.5f;
    m.up();

    ex.time("column_norm", [&] { column_norm<<<columns / block, block>>>(m.device, norm.device, columns, rows); });
    ex.time("column_bound", [&] { column_bound<<<columns / block, block>>>(m.device, bound.device, columns, rows); });

    norm.down();
    bound.down();
    std::vector<double> want(columns);
    for (size_t r = 0; r < rows; r++)
        for (size_t c = 0; c < columns; c++) want[c] += double(m[r * columns + c]) * m[r * columns + c];
    for (size_t c = 0; c < columns; c++) {
        ex.check("norm", c, norm[c], std::sqrt(want[c]), 1e-5);
        ex.check("bound", c, bound[c], std::sqrt(want[c]), 1e-5);
    }
    return ex.finish();
}
