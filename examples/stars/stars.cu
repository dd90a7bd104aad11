// Powers within a bound: the light of many stars.
//
// A star's image is a Moffat profile, w / (1 + r^2)^b; every pixel sums those of many stars. CUDA's powf is right to the last bits by some fifty
// instructions; the special function units give a logarithm and a power of two in one each, and errors of about 1e-6. Whether that will do is for the user
// to say: plain gnvcc tune leaves the bits alone, and this example's Makefile asks for 1e-4 (TUNE). In examples/phases the same units' sine
// would be nonsense, and a bound refuses it.
#include "example.h"

__global__ void light(const float4 *__restrict__ stars, int m, const float2 *__restrict__ pixels, float *__restrict__ out, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    float2 p = pixels[i];
    float sum = 0;
    for (int k = 0; k < m; k++) { // x, y: where it is; z: how bright; w: its exponent
        float4 star = stars[k];
        float x = 4 * (p.x - star.x), y = 4 * (p.y - star.y);
        sum += star.z * powf(1 + x * x + y * y, -star.w);
    }
    out[i] = sum;
}

int main() {
    example::Example ex("stars");
    const int n = 132 * 2048, m = 64;
    example::Array<float4> stars(m);
    example::Array<float2> pixels(n);
    example::Array<float> out(n);
    for (int k = 0; k < m; k++) stars[k] = {example::noise(4 * k), example::noise(4 * k + 1), 1 + example::noise(4 * k + 2), 2 + example::noise(4 * k + 3)};
    for (int i = 0; i < n; i++) pixels[i] = {example::noise(2 * i + 1000), example::noise(2 * i + 1001)};
    stars.up(), pixels.up();

    ex.time("light", [&] { light<<<n / 256, 256>>>(stars.device, m, pixels.device, out.device, n); });

    out.down();
    for (int i = 0; i < n; i += 17) {
        double want = 0;
        for (int k = 0; k < m; k++) {
            double x = 4 * (pixels[i].x - stars[k].x), y = 4 * (pixels[i].y - stars[k].y);
            want += stars[k].z * std::pow(1 + x * x + y * y, -stars[k].w);
        }
        ex.check("out", i, out[i], want, 1e-4);
    }
    return ex.finish();
}
