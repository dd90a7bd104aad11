// A loop whose unrolling factor matters: cross sections looked up as Monte Carlo codes for particle transport do.
//
// For every nuclide of a material a thread searches its energy in that nuclide's grid. A search is nine reads, each waiting
// for the one before; the searches of different nuclides do not depend on each other, but for the sum. LLVM's size limit
// for a loop of unknown length lets it take two at a time. There are few warps, so that four or eight at a time are better: they
// hide each other's latency. The factor is for that loop alone: the nine steps inside are unrolled completely as it is, and any factor for
// them would undo that. With many warps one search at a time would be enough, and need fewer registers: which factor is
// best is known only from the launches. (The sum keeps its order, and so its bits.)
#include "example.h"

constexpr int points = 512, nuclides = 272;

struct Section {
    float value, slope; // at a grid point, and towards the next one
};

__host__ __device__ inline float macroscopic(const float *__restrict__ grid, const Section *__restrict__ section,
                                             const float *__restrict__ density, float energy, int count) {
    float sum = 0;
    for (int k = 0; k < count; k++) {
        int low = k * points; // the last grid point that is not above energy, in nine halvings
        for (int step = points / 2; step > 0; step /= 2) low += grid[low + step] <= energy ? step : 0;
        sum += density[k] * (section[low].value + section[low].slope * (energy - grid[low]));
    }
    return sum;
}

__global__ void lookup(const float *__restrict__ grid, const Section *__restrict__ section, const float *__restrict__ density,
                       const float *__restrict__ energy, float *__restrict__ out, int n, int count) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) out[i] = macroscopic(grid, section, density, energy[i], count);
}

int main() {
    example::Example ex("unroll");
    const int block = 128, n = 132 * block; // four warps a multiprocessor of an H100 or H200
    example::Array<float> grid(nuclides * points), density(nuclides), energy(n), out(n);
    example::Array<Section> section(nuclides * points);
    for (int k = 0; k < nuclides; k++) {
        density[k] = 0.1f + example::noise(k);
        for (int p = 0; p < points; p++) {
            int at = k * points + p;
            grid[at] = p == 0 ? 0 : (p + 0.9f * example::noise(at)) / points;
            section[at] = {1 + example::noise(7 * at), example::noise(7 * at + 1) - 0.5f};
        }
    }
    for (int i = 0; i < n; i++) energy[i] = example::noise(i + 12345);
    grid.up(), section.up(), density.up(), energy.up();

    ex.time("lookup", [&] {
        lookup<<<n / block, block>>>(grid.device, section.device, density.device, energy.device, out.device, n, nuclides);
    });

    out.down();
    for (int i = 0; i < n; i++)
        ex.check("out", i, out[i], macroscopic(grid.host.data(), section.host.data(), density.host.data(), energy[i], nuclides), 1e-5);
    return ex.finish();
}
