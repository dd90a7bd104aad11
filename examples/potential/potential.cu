// Approximation within a bound: reciprocal roots by the special function units.
//
// Every point sums the potentials of many charges, 1 / sqrt(distance). nvcc gives a root and a reciprocal that round correctly, some twenty instructions;
// the units give the reciprocal root in one, wrong in the last bit or two. All terms are positive, so that the sums are about as accurate
// as before. Nobody may decide that for the user: plain gnvcc tune leaves the bits alone, and this example's Makefile asks (TUNE).
#include "example.h"

__global__ void potential(const float4 *__restrict__ charges, int n, float *__restrict__ out, int points) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= points) return;
    float x = 0.01f * (i % 1024), y = 0.01f * (i / 1024), sum = 0;
    for (int k = 0; k < n; k++) {
        float4 c = charges[k];
        float dx = c.x - x, dy = c.y - y, dz = c.z;
        sum += c.w * (1 / sqrtf(dx * dx + dy * dy + dz * dz));
    }
    out[i] = sum;
}

int main() {
    example::Example ex("potential");
    const int block = 256, points = 132 * 4 * block, n = 512;
    example::Array<float4> charges(n);
    example::Array<float> out(points);
    for (int k = 0; k < n; k++)
        charges[k] = make_float4(10 * example::noise(4 * k), example::noise(4 * k + 1), 1 + example::noise(4 * k + 2), example::noise(4 * k + 3));
    charges.up();

    ex.time("potential", [&] { potential<<<points / block, block>>>(charges.device, n, out.device, points); });

    out.down();
    for (int i = 0; i < points; i += 97) {
        double x = 0.01f * (i % 1024), y = 0.01f * (i / 1024), sum = 0;
        for (int k = 0; k < n; k++) {
            double dx = charges[k].x - x, dy = charges[k].y - y, dz = charges[k].z;
            sum += charges[k].w / std::sqrt(dx * dx + dy * dy + dz * dz);
        }
        ex.check("out", i, out[i], sum, 2e-5);
    }
    return ex.finish();
}
