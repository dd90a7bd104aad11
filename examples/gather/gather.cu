// An unstructured gather with many live values: one step of a finite-volume flow solver.
//
// A cell reads the five conserved quantities of its four neighbours, wherever they lie, and adds up the fluxes through
// its faces. The reads are scattered, so many have to be under way; the own state, the face's normal, the neighbour's
// state and five sums are all live at once, so registers are short. How many registers are best is a bargain between
// the two that only a measurement settles.
#include "example.h"

constexpr int faces = 4, quantities = 5; // density, momentum in x, y, z, energy
constexpr float gamma_ = 1.4f;

struct Flow {
    float rho, mx, my, mz, e;
    __host__ __device__ float pressure() const { return (gamma_ - 1) * (e - 0.5f * (mx * mx + my * my + mz * mz) / rho); }
};

// state holds one array of n values for each quantity; neighbour and normal hold one array for each face.
__host__ __device__ inline Flow read(const float *__restrict__ state, int n, int i) {
    return {state[i], state[i + n], state[i + 2 * n], state[i + 3 * n], state[i + 4 * n]};
}

__host__ __device__ inline void residual(const float *__restrict__ state, const int *__restrict__ neighbour,
                                         const float *__restrict__ normal, float *__restrict__ out, int n, int i) {
    Flow c = read(state, n, i);
    float pc = c.pressure(), uc = c.mx / c.rho, vc = c.my / c.rho, wc = c.mz / c.rho;
    float sound = sqrtf(gamma_ * pc / c.rho);
    Flow sum{0, 0, 0, 0, 0};
    for (int f = 0; f < faces; f++) {
        int j = neighbour[f * n + i];
        float x = normal[(3 * f + 0) * n + i], y = normal[(3 * f + 1) * n + i], z = normal[(3 * f + 2) * n + i];
        Flow d = read(state, n, j);
        float pd = d.pressure(), ud = d.mx / d.rho, vd = d.my / d.rho, wd = d.mz / d.rho;
        float area = sqrtf(x * x + y * y + z * z);
        float through_c = uc * x + vc * y + wc * z, through_d = ud * x + vd * y + wd * z;
        float damping = 0.5f * area * (sound + sqrtf(gamma_ * pd / d.rho)) + 0.5f * fabsf(through_c + through_d);
        sum.rho += 0.5f * (c.rho * through_c + d.rho * through_d - damping * (d.rho - c.rho));
        sum.mx += 0.5f * (c.mx * through_c + d.mx * through_d + (pc + pd) * x - damping * (d.mx - c.mx));
        sum.my += 0.5f * (c.my * through_c + d.my * through_d + (pc + pd) * y - damping * (d.my - c.my));
        sum.mz += 0.5f * (c.mz * through_c + d.mz * through_d + (pc + pd) * z - damping * (d.mz - c.mz));
        sum.e += 0.5f * ((c.e + pc) * through_c + (d.e + pd) * through_d - damping * (d.e - c.e));
    }
    out[i] = sum.rho, out[i + n] = sum.mx, out[i + 2 * n] = sum.my, out[i + 3 * n] = sum.mz, out[i + 4 * n] = sum.e;
}

__global__ void flux(const float *__restrict__ state, const int *__restrict__ neighbour, const float *__restrict__ normal,
                     float *__restrict__ out, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) residual(state, neighbour, normal, out, n, i);
}

int main() {
    example::Example ex("gather");
    const int n = 1 << 20, block = 192;
    example::Array<float> state(static_cast<size_t>(quantities) * n), normal(static_cast<size_t>(3) * faces * n);
    example::Array<float> out(static_cast<size_t>(quantities) * n);
    example::Array<int> neighbour(static_cast<size_t>(faces) * n);
    for (int i = 0; i < n; i++) {
        state[i] = 1 + 0.1f * example::noise(i);
        for (int q = 1; q < 4; q++) state[i + size_t(q) * n] = 0.3f * (example::noise(i + q * n) - 0.5f);
        state[i + size_t(4) * n] = 2.5f + 0.2f * example::noise(i + 4 * n);
        // Two neighbours are close in memory, two anywhere within reach: what a mesh looks like after renumbering.
        for (int f = 0; f < faces; f++) {
            int reach = f < 2 ? 8 : 1 << 15;
            int hop = 1 + static_cast<int>(example::noise(i + (5 + f) * n) * reach);
            neighbour[i + size_t(f) * n] = (i + (f % 2 ? hop : n - hop)) % n;
        }
    }
    for (size_t i = 0; i < normal.size(); i++) normal[i] = example::noise(static_cast<uint32_t>(i) * 3 + 1) - 0.5f;
    state.up(), normal.up(), neighbour.up();

    ex.time("flux", [&] { flux<<<(n + block - 1) / block, block>>>(state.device, neighbour.device, normal.device, out.device, n); });

    out.down();
    std::vector<float> want(out.size());
    for (int i = 0; i < n; i++) residual(state.host.data(), neighbour.host.data(), normal.host.data(), want.data(), n, i);
    for (size_t i = 0; i < want.size(); i++) ex.check("out", i, out[i], want[i], 1e-4);
    return ex.finish();
}
