// Several translation units, linked on the device (-rdc=true).
//
// The kernel is here, what it calls is in step.cu and field.cu, and they share a __constant__ table and a __device__ counter. A cubin of one
// unit is only a part: registers of the whole are settled at the link, and a variable that was copied instead of shared shows in
// the counter.
#include "example.h"
#include "field.h"

constexpr int steps = 8;

__global__ void trajectories(const Body *__restrict__ start, Body *__restrict__ end, int n, int count, float dt) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    Body b = start[i];
    for (int s = 0; s < count; s++) b = advance(b, dt);
    end[i] = b;
}

// The same on the host, in double precision.
static void reference(const std::vector<float4> &centre, double (&b)[4], double dt) {
    auto rate = [&](const double (&at)[4], double (&d)[4]) {
        d[0] = at[2], d[1] = at[3], d[2] = d[3] = 0;
        for (const float4 &c : centre) {
            double dx = c.x - at[0], dy = c.y - at[1], r2 = dx * dx + dy * dy + c.w, pull = c.z / (r2 * std::sqrt(r2));
            d[2] += pull * dx, d[3] += pull * dy;
        }
    };
    double k[4][4], at[4];
    const double part[4] = {0, 0.5, 0.5, 1}, weight[4] = {1, 2, 2, 1};
    for (int s = 0; s < 4; s++) {
        for (int i = 0; i < 4; i++) at[i] = b[i] + (s ? part[s] * dt * k[s - 1][i] : 0);
        rate(at, k[s]);
    }
    for (int s = 0; s < 4; s++)
        for (int i = 0; i < 4; i++) b[i] += dt / 6 * weight[s] * k[s][i];
}

int main() {
    example::Example ex("separate");
    const int n = 1 << 18, block = 256;
    const float dt = 0.01f;
    std::vector<float4> where(centres);
    for (uint32_t k = 0; k < centres; k++)
        where[k] = make_float4(4 * example::noise(4 * k) - 2, 4 * example::noise(4 * k + 1) - 2, example::noise(4 * k + 2), 0.05f);
    CUDA(cudaMemcpyToSymbol(centre, where.data(), centres * sizeof(float4)));
    unsigned zero = 0, asked = 0;
    CUDA(cudaMemcpyToSymbol(evaluations, &zero, sizeof zero));

    example::Array<Body> start(n), end(n);
    for (uint32_t i = 0; i < n; i++)
        start[i] = {2 * example::noise(7 * i) - 1, 2 * example::noise(7 * i + 1) - 1, example::noise(7 * i + 2), example::noise(7 * i + 3)};
    start.up();

    ex.time("trajectories", [&] { trajectories<<<n / block, block>>>(start.device, end.device, n, steps, dt); });

    CUDA(cudaMemcpyFromSymbol(&asked, evaluations, sizeof asked));
    ex.check("evaluations", 0, asked, 4.0 * steps * (example::warmups + example::launches), 0);
    end.down();
    for (int i = 0; i < n; i += 17) {
        double b[4] = {start[i].x, start[i].y, start[i].vx, start[i].vy};
        for (int s = 0; s < steps; s++) reference(where, b, dt);
        ex.check("x", i, end[i].x, b[0], 1e-4);
        ex.check("y", i, end[i].y, b[1], 1e-4);
        ex.check("vx", i, end[i].vx, b[2], 1e-3);
        ex.check("vy", i, end[i].vy, b[3], 1e-3);
    }
    return ex.finish();
}
