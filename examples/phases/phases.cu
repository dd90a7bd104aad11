// A loop that nobody wrote: sines of large arguments.
//
// The phase of a carrier of some gigahertz after some hours is a number of 1e13 and more. CUDA's sinf is fast up to 1e5; beyond that it multiplies the argument
// by 2/pi to 192 bits, in a loop of six turns, which the compiler's front end marks "nounroll" to keep code small for what is rare. Here it is
// all there is to do.
#include "example.h"

__global__ void mix(const float *__restrict__ frequency, float *__restrict__ out, int channels, int samples, float begin) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= samples) return;
    float t = begin + static_cast<float>(i), sum = 0;
    for (int c = 0; c < channels; c++) sum += sinf(frequency[c] * t);
    out[i] = sum;
}

int main() {
    example::Example ex("phases");
    const int channels = 24, samples = 132 * 2048;
    const float begin = 65536;
    example::Array<float> frequency(channels), out(samples);
    for (int c = 0; c < channels; c++) frequency[c] = 1e9f * (1 + example::noise(c));
    frequency.up();

    ex.time("mix", [&] { mix<<<(samples + 255) / 256, 256>>>(frequency.device, out.device, channels, samples, begin); });

    out.down();
    for (int i = 0; i < samples; i += 11) {
        double want = 0;
        for (int c = 0; c < channels; c++) want += std::sin(static_cast<double>(frequency[c] * (begin + static_cast<float>(i))));
        ex.check("out", i, out[i], want, 1e-5, 10);
    }
    return ex.finish();
}
