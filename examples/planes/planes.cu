// Cache hints: two fields change places, in small bricks.
//
// A phase field model swaps its old and its new field after each time step, and an author who thinks of space gives blocks 8 by 8 by 4
// threads, one a cell. A warp then touches four rows of 64 bytes, each in another line, and every row of 64 bytes is a request of its own to memory.
// All of it is used, by the neighbouring block a little later: told to bring 256 bytes at a time into L2, the memory works in longer bursts. That
// is a hint on the loads, the arithmetic and the results stay what they are. In examples/separate hints on loads bring nothing.
#include "example.h"

constexpr int n = 256;

__global__ void exchange(double *__restrict__ a, double *__restrict__ b) {
    int x = blockIdx.x * blockDim.x + threadIdx.x, y = blockIdx.y * blockDim.y + threadIdx.y, z = blockIdx.z * blockDim.z + threadIdx.z;
    int i = (z * n + y) * n + x;
    double t = a[i];
    a[i] = b[i];
    b[i] = t;
}

// The time step's last part: what the field changes by is added to it.
__global__ void add(const double *__restrict__ change, double *__restrict__ field, double step) {
    int x = blockIdx.x * blockDim.x + threadIdx.x, y = blockIdx.y * blockDim.y + threadIdx.y, z = blockIdx.z * blockDim.z + threadIdx.z;
    int i = (z * n + y) * n + x;
    field[i] = field[i] + step * change[i];
}

int main() {
    example::Example ex("planes");
    const double step = 0.5;
    example::Array<double> a(size_t(n) * n * n), b(a.size()), c(a.size());
    for (size_t i = 0; i < a.size(); i++) a[i] = example::noise(i), b[i] = 2 + example::noise(i + 1), c[i] = 0;
    a.up(), b.up(), c.up();

    dim3 block(8, 8, 4), grid(n / block.x, n / block.y, n / block.z);
    int turns = 0; // the warm-up's included
    ex.time("exchange", [&] { exchange<<<grid, block>>>(a.device, b.device), turns++; });
    int steps = 0;
    ex.time("add", [&] { add<<<grid, block>>>(a.device, c.device, step), steps++; });

    std::vector<double> first = turns % 2 ? b.host : a.host, second = turns % 2 ? a.host : b.host;
    a.down(), b.down(), c.down();
    for (size_t i = 0; i < a.size(); i += 7) {
        ex.check("a", i, a[i], first[i], 0);
        ex.check("b", i, b[i], second[i], 0);
        ex.check("c", i, c[i], steps * step * first[i], 1e-12);
    }
    return ex.finish();
}
