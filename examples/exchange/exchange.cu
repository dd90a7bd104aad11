// Two fields of a time step change places, element by element: in the text each line is loaded, then stored to.
//
// ptxas loads first what the first store needs, which is the other line; the store then overtakes the load of its own. The lever
// "inorder" keeps the order of the text.
#include "example.h"

constexpr int side = 256;

__global__ void exchange(double a[][side][side], double b[][side][side]) {
    unsigned x = blockIdx.x * blockDim.x + threadIdx.x, y = blockIdx.y * blockDim.y + threadIdx.y, z = blockIdx.z * blockDim.z + threadIdx.z;
    if (x < side && y < side && z < side) {
        double old = a[z][y][x];
        a[z][y][x] = b[z][y][x];
        b[z][y][x] = old;
    }
}

int main() {
    example::Example ex("exchange");
    const size_t n = static_cast<size_t>(side) * side * side;
    example::Array<double> a(n), b(n);
    for (size_t i = 0; i < n; i++) a[i] = example::noise(static_cast<uint32_t>(i)), b[i] = -1.0 - i;
    a.up(), b.up();
    const dim3 block(16, 4, 4), grid(side / block.x, side / block.y, side / block.z);
    auto in = [](example::Array<double> &array) { return reinterpret_cast<double(*)[side][side]>(array.device); };
    int times = 0; // an even number leaves everything where it was
    ex.time("exchange", [&] { exchange<<<grid, block>>>(in(a), in(b)), times++; });
    a.down(), b.down();
    for (size_t i = 0; i < n; i += 7) {
        double one = example::noise(static_cast<uint32_t>(i)), other = -1.0 - i;
        ex.check("a", i, a[i], times % 2 ? other : one, 0);
        ex.check("b", i, b[i], times % 2 ? one : other, 0);
    }
    return ex.finish();
}
