// A hint for one array: a membrane that swings.
//
// One step of the wave equation in two dimensions: the new height of a point follows from its own and its four neighbours', from the height one step
// ago, and from the wave's speed there. The present heights are read five times each, by neighbouring threads and blocks, and belong into the
// cache; the old heights and the speeds are read once and take places there. Which loads stream can be seen by the pointers that they go through. (A
// program of this kind, iso2dfd of HeCBench, ran 1.17 times as fast with a hint on one array, 1.04 times with the same on all loads: H200, CUDA 13.0.)
#include "example.h"

constexpr int columns = 2048, rows = 2048;

__global__ void swing(const float *__restrict__ now, float *__restrict__ next, const float *__restrict__ speed, int nx, int ny) {
    int x = blockIdx.x * blockDim.x + threadIdx.x, y = blockIdx.y * blockDim.y + threadIdx.y;
    if (x < 1 || y < 1 || x >= nx - 1 || y >= ny - 1) return;
    size_t i = static_cast<size_t>(y) * nx + x;
    float bent = now[i + 1] - 2 * now[i] + now[i - 1] + (now[i + nx] - 2 * now[i] + now[i - nx]);
    next[i] = 2 * now[i] - next[i] + bent * speed[i]; // next holds the heights of one step ago
}

int main() {
    example::Example ex("membrane");
    const size_t n = static_cast<size_t>(columns) * rows;
    example::Array<float> now(n), next(n), speed(n);
    for (size_t i = 0; i < n; i++) now[i] = example::noise(i) - 0.5f, next[i] = now[i], speed[i] = 0.2f + 0.1f * example::noise(i + 1);
    now.up(), next.up(), speed.up();

    dim3 block(16, 16), grid(columns / block.x, rows / block.y);
    int steps = 0;
    ex.time("swing", [&] { swing<<<grid, block>>>(now.device, next.device, speed.device, columns, rows), steps++; });

    // now stays as it is, so that next becomes a - next again and again: after an even number of steps it is what it was.
    std::vector<float> first = next.host;
    next.down();
    for (int y = 1; y < rows - 1; y += 3)
        for (int x = 1; x < columns - 1; x++) {
            size_t i = static_cast<size_t>(y) * columns + x;
            const float *p = &now.host[i];
            double bent = double(p[1]) - 4.0 * p[0] + p[-1] + p[columns] + p[-columns];
            double want = steps % 2 ? 2.0 * p[0] - first[i] + bent * speed[i] : first[i];
            ex.check("next", i, next[i], want, 1e-5);
        }
    return ex.finish();
}
