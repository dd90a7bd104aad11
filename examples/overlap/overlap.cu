// Each row is made of the one before it, through two pointers into one array: what a turn of the loop loads is what the turn before
// has stored.
//
// The lever "early" sees that at run time, and leaves the loop's order as it is: nothing is gained.
#include "example.h"

constexpr int threads = 128, blocks = 132, rows = 256;

__global__ void overlap(float *to, float *from) {
    int t = blockIdx.x * blockDim.x + threadIdx.x;
    for (int i = 0; i < rows; i++) to[i * threads * blocks + t] = from[i * threads * blocks + t] * 0.5f + 1.0f;
}

int main() {
    example::Example ex("overlap");
    const size_t n = threads * blocks;
    example::Array<float> all(n * (rows + 1));
    for (size_t i = 0; i < n; i++) all[i] = static_cast<float>(i % 5);
    all.up();
    ex.time("overlap", [&] { overlap<<<blocks, threads>>>(all.device + n, all.device); });
    all.down();
    for (size_t t = 0; t < n; t += 7) {
        float want = static_cast<float>(t % 5);
        for (int i = 0; i < rows; i++) want = want * 0.5f + 1.0f;
        ex.check("last row", t, all[rows * n + t], want, 0);
    }
    return ex.finish();
}
