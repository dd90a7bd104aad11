// A known trip count whose plain copy would pay: forward rates along many paths, as a Libor market model simulates them.
//
// Nearly all launches have n = 40 maturities, and the copy made for 40 keeps the whole curve in registers: far faster, with 200 registers where
// the plain kernel has 40. Guarded inside one kernel, both copies would have the 200: launches with other values of n (one
// in four here has 36) would run at a fraction of their occupancy, and so slower than with nvcc. As two kernels, of which
// the host's launch stub chooses one, the plain one stays as it is.
#include "example.h"

constexpr int most = 64;

__host__ __device__ inline float discounted(const float *__restrict__ volatility, float z, int n, float delta, float start) {
    float forward[most], growth[most];
    for (int i = 0; i < n; i++) forward[i] = start + 0.0005f * i, growth[i] = 1;
    float kick = 0.25f * z;
    for (int t = 0; t < 8; t++) { // eight dates; the curve beyond each moves
        float drift = 0;
        for (int i = 0; i < n; i++) {
            float v = delta * volatility[i];
            drift += v * forward[i] / (1 + delta * forward[i]);
            forward[i] *= 1 + v * (drift - 0.5f * v) + volatility[i] * kick;
            growth[i] *= 1 + delta * forward[i];
        }
        kick = -0.9f * kick;
    }
    float value = 0, discount = 1;
    for (int i = n - 1; i >= 0; i--) {
        discount *= 1 / (1 + delta * forward[i]);
        value += discount * (forward[i] - start) + 0.001f / growth[i];
    }
    return value;
}

__global__ void paths(const float *__restrict__ volatility, const float *__restrict__ z, float *__restrict__ value, int count, int n,
                      float delta, float start) {
    int path = blockIdx.x * blockDim.x + threadIdx.x;
    if (path < count) value[path] = discounted(volatility, z[path], n, delta, start);
}

int main() {
    example::Example ex("plaincopy");
    const int count = 1 << 18, block = 128, usual = 40, other = 36;
    const float delta = 0.25f, start = 0.04f;
    example::Array<float> volatility(most), z(count), value(count), rest(count);
    for (int i = 0; i < most; i++) volatility[i] = 0.15f + 0.1f * example::noise(i);
    for (int i = 0; i < count; i++) z[i] = 2 * example::noise(i + 1000) - 1;
    volatility.up(), z.up();

    const int part = count / 4;
    ex.time("paths(n=40)", [&] { paths<<<count / block, block>>>(volatility.device, z.device, value.device, count, usual, delta, start); });
    ex.time("paths(n=36)", [&] { paths<<<part / block, block>>>(volatility.device, z.device, rest.device, part, other, delta, start); });

    value.down(), rest.down();
    for (int i = 0; i < count; i += 3) ex.check("value", i, value[i], discounted(volatility.host.data(), z[i], usual, delta, start), 1e-4);
    for (int i = 0; i < part; i++) ex.check("rest", i, rest[i], discounted(volatility.host.data(), z[i], other, delta, start), 1e-4);
    return ex.finish();
}
