// A known block size: a product of matrices in tiles, the tile being as large as the block.
//
// The kernel works with every square block. That is why its inner loop has blockDim.x turns, unknown when it is compiled, with two
// address computations for every multiplication. All launches have blocks of 32 by 32: where that is known the loop is
// unrolled, and the addresses in shared memory become constants in the load instructions.
#include "example.h"

__global__ void product(const float *__restrict__ a, const float *__restrict__ b, float *__restrict__ c, int n) {
    extern __shared__ float tiles[];
    const int tile = blockDim.x;
    float *left = tiles, *right = tiles + tile * tile;
    int row = blockIdx.y * tile + threadIdx.y, column = blockIdx.x * tile + threadIdx.x;
    float sum = 0;
    for (int k = 0; k < n; k += tile) {
        left[threadIdx.y * tile + threadIdx.x] = a[row * n + k + threadIdx.x];
        right[threadIdx.y * tile + threadIdx.x] = b[(k + threadIdx.y) * n + column];
        __syncthreads();
        for (int i = 0; i < tile; i++) sum += left[threadIdx.y * tile + i] * right[i * tile + threadIdx.x];
        __syncthreads();
    }
    c[row * n + column] = sum;
}

int main() {
    example::Example ex("blocksize");
    const int n = 768, tile = 32;
    example::Array<float> a(n * n), b(n * n), c(n * n);
    for (int i = 0; i < n * n; i++) a[i] = example::noise(i) - 0.5f, b[i] = example::noise(i + n * n) - 0.5f;
    a.up(), b.up();

    dim3 block(tile, tile), grid(n / tile, n / tile);
    ex.time("product", [&] { product<<<grid, block, 2 * tile * tile * sizeof(float)>>>(a.device, b.device, c.device, n); });

    c.down();
    std::vector<double> want(n);
    for (int row = 0; row < n; row += 7) {
        std::fill(want.begin(), want.end(), 0);
        for (int k = 0; k < n; k++)
            for (int column = 0; column < n; column++) want[column] += double(a[row * n + k]) * b[k * n + column];
        for (int column = 0; column < n; column++) ex.check("c", row * n + column, c[row * n + column], want[column], 1e-4);
    }
    return ex.finish();
}
