// Too many warps share L1: medians of many short series.
//
// Each warp finds the median of one series by bisection: it counts how many of its values lie below the middle of the
// interval, halves the interval, and reads the series again, 24 times. A series has 16 KB, so L1 (256 KB on a multiprocessor) could
// hold those of 15 warps. But 48 warps are resident, reading in turn, and the cache forgets every line before it is
// read again. With fewer blocks on a multiprocessor each series comes from memory once. Letting some warps of each block
// past the cache helps too, but those read from L2 each time.
#include "example.h"

constexpr int steps = 24;

// halve does one step for a series of which so many values lie below the middle.
__host__ __device__ inline void halve(float &low, float &high, int below, int n) {
    float middle = 0.5f * (low + high);
    if (2 * below < n) low = middle;
    else high = middle;
}

__global__ void median(const float4 *__restrict__ series, float *__restrict__ out, int n) {
    int warp = (blockIdx.x * blockDim.x + threadIdx.x) / 32, lane = threadIdx.x % 32;
    const float4 *mine = series + static_cast<size_t>(warp) * (n / 4);
    float low = 0, high = 1;
    for (int s = 0; s < steps; s++) {
        float middle = 0.5f * (low + high);
        int below = 0;
        for (int i = lane; i < n / 4; i += 32) {
            float4 v = mine[i];
            below += (v.x < middle) + (v.y < middle) + (v.z < middle) + (v.w < middle);
        }
        for (int d = 16; d > 0; d /= 2) below += __shfl_xor_sync(~0u, below, d);
        halve(low, high, below, n);
    }
    if (lane == 0) out[warp] = low;
}

int main() {
    example::Example ex("quantile");
    const int count = 1 << 14, n = 4096, block = 256;
    example::Array<float> series(static_cast<size_t>(count) * n), out(count);
    for (size_t i = 0; i < series.size(); i++) series[i] = example::noise(static_cast<uint32_t>(i));
    series.up();

    ex.time("median", [&] {
        median<<<count / (block / 32), block>>>(reinterpret_cast<const float4 *>(series.device), out.device, n);
    });

    out.down();
    for (int w = 0; w < count; w += 61) { // exact: sums of ones, and halves
        float low = 0, high = 1;
        for (int s = 0; s < steps; s++) {
            int below = 0;
            for (int i = 0; i < n; i++) below += series[static_cast<size_t>(w) * n + i] < 0.5f * (low + high);
            halve(low, high, below, n);
        }
        ex.check("median", w, out[w], low, 0);
    }
    return ex.finish();
}
