// Where demotion to shared memory must not be adopted: all registers are used all the time.
//
// Each thread multiplies an 8 by 8 tile of two tall matrices: 64 sums, every one of which is added to at every step. Registers
// limit the warps as in examples/demote, but there is little to wait for: a sum in shared memory costs a load and a store a
// step, and more warps bring nothing.
#include "example.h"

constexpr int tile = 8;

__global__ void products(const float *__restrict__ a, const float *__restrict__ b, float *__restrict__ out, int n, int depth) {
    int column = blockIdx.x * blockDim.x + threadIdx.x, row = blockIdx.y;
    float sum[tile][tile] = {};
    for (int k = 0; k < depth; k++) {
        float x[tile], y[tile];
#pragma unroll
        for (int i = 0; i < tile; i++) x[i] = a[(static_cast<size_t>(k) * gridDim.y + row) * tile + i];
#pragma unroll
        for (int i = 0; i < tile; i++) y[i] = b[static_cast<size_t>(k) * tile * n + i * n + column];
#pragma unroll
        for (int i = 0; i < tile; i++)
#pragma unroll
            for (int j = 0; j < tile; j++) sum[i][j] = fmaf(x[i], y[j], sum[i][j]);
    }
#pragma unroll
    for (int i = 0; i < tile; i++)
#pragma unroll
        for (int j = 0; j < tile; j++) out[(static_cast<size_t>(row) * tile + i) * tile * n + j * n + column] = sum[i][j];
}

int main() {
    example::Example ex("hotregisters");
    const int n = 512, rows = 256, depth = 512, block = 128, wide = n * tile; // n columns of threads, tile columns of b each
    example::Array<float> a(static_cast<size_t>(depth) * rows * tile), b(static_cast<size_t>(depth) * wide);
    example::Array<float> out(static_cast<size_t>(rows) * tile * wide);
    for (size_t i = 0; i < a.size(); i++) a[i] = example::noise(static_cast<uint32_t>(i)) - 0.5f;
    for (size_t i = 0; i < b.size(); i++) b[i] = example::noise(static_cast<uint32_t>(i) + 77) - 0.5f;
    a.up(), b.up();

    ex.time("products", [&] { products<<<dim3(n / block, rows), block>>>(a.device, b.device, out.device, n, depth); });

    out.down();
    for (int r = 0; r < rows * tile; r += 97) // some of them: the host is slow at this
        for (int c = 0; c < wide; c += 31) {
            double want = 0;
            for (int k = 0; k < depth; k++) want += static_cast<double>(a[(static_cast<size_t>(k) * rows + r / tile) * tile + r % tile]) * b[static_cast<size_t>(k) * wide + c];
            ex.check("out", static_cast<size_t>(r) * wide + c, out[static_cast<size_t>(r) * wide + c], want, 1e-3);
        }
    return ex.finish();
}
