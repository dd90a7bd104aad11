// A known trip count: a chain of reactions among n species, n being a number that the program reads at its start.
//
// The concentrations are a small array of each thread. As long as n is unknown its loops cannot be unrolled away, an array that is
// indexed by a loop counter cannot be in registers, and every access goes to (cached) memory. All launches have n = 12: in a copy of
// the kernel made for 12 the loops vanish and the array becomes twelve registers.
#include "example.h"

constexpr int most = 16; // species at most

// Heun's method for c'[i] = k[i-1] c[i-1] - k[i] c[i] - q c[i]^2.
__host__ __device__ inline void react(const float *__restrict__ rate, float *__restrict__ c, int n, int steps, float dt, float q) {
    float slope[most], ahead[most];
    for (int s = 0; s < steps; s++) {
        float inflow = 0;
        for (int i = 0; i < n; i++) {
            float outflow = rate[i] * c[i];
            slope[i] = inflow - outflow - q * c[i] * c[i];
            ahead[i] = c[i] + dt * slope[i];
            inflow = outflow;
        }
        inflow = 0;
        for (int i = 0; i < n; i++) {
            float outflow = rate[i] * ahead[i];
            c[i] += 0.5f * dt * (slope[i] + inflow - outflow - q * ahead[i] * ahead[i]);
            inflow = outflow;
        }
    }
}

__global__ void reactor(const float *__restrict__ rate, const float *__restrict__ start, float *__restrict__ end, int cells, int n,
                        int steps, float dt, float q) {
    int cell = blockIdx.x * blockDim.x + threadIdx.x;
    if (cell >= cells) return;
    float c[most];
    for (int i = 0; i < n; i++) c[i] = start[i * cells + cell];
    react(rate, c, n, steps, dt, q);
    for (int i = 0; i < n; i++) end[i * cells + cell] = c[i];
}

int main(int argc, char **argv) {
    example::Example ex("tripcount");
    const int cells = 1 << 19, block = 256, steps = 16;
    const int n = argc > 1 ? std::min(std::max(std::atoi(argv[1]), 1), most) : 12;
    const float dt = 0.02f, q = 0.1f;
    example::Array<float> rate(most), start(static_cast<size_t>(n) * cells), end(static_cast<size_t>(n) * cells);
    for (int i = 0; i < n; i++) rate[i] = i + 1 < n ? 0.5f + example::noise(i) : 0;
    for (size_t i = 0; i < start.size(); i++) start[i] = example::noise(static_cast<uint32_t>(i));
    rate.up(), start.up();

    ex.time("reactor", [&] { reactor<<<cells / block, block>>>(rate.device, start.device, end.device, cells, n, steps, dt, q); });

    end.down();
    for (int cell = 0; cell < cells; cell += 5) {
        float c[most];
        for (int i = 0; i < n; i++) c[i] = start[size_t(i) * cells + cell];
        react(rate.host.data(), c, n, steps, dt, q);
        for (int i = 0; i < n; i++) ex.check("end", size_t(i) * cells + cell, end[size_t(i) * cells + cell], c[i], 1e-4);
    }
    return ex.finish();
}
