// Alignment: eight floats of a point lie side by side, and no type says that they lie on a boundary of 16 bytes.
//
// A float * promises 4 bytes, so every float is a load of its own, and a warp's load of one float touches 32 sectors for 128 bytes: the
// cache's throughput is what limits the kernel. What cudaMalloc gave is aligned to 256 bytes. Behind a check of the two
// pointers, the eight loads are two of 16 bytes, and so are the stores.
#include "example.h"

constexpr int width = 8;

// Rotates neighbouring pairs of a point's coordinates and moves the result.
__host__ __device__ inline void turn(const float *__restrict__ from, float *__restrict__ to, float c, float s, float shift) {
    float p[width];
    for (int k = 0; k < width; k++) p[k] = from[k];
    for (int k = 0; k < width; k += 2) {
        to[k] = c * p[k] - s * p[k + 1] + shift;
        to[k + 1] = s * p[k] + c * p[k + 1] - shift;
    }
}

__global__ void rotate(const float *__restrict__ in, float *__restrict__ out, int n, float c, float s, float shift) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) turn(in + i * width, out + i * width, c, s, shift);
}

int main() {
    example::Example ex("alignment");
    const int n = 1 << 21, block = 256;
    example::Array<float> in(static_cast<size_t>(n) * width), out(in.size());
    for (size_t i = 0; i < in.size(); i++) in[i] = example::noise(static_cast<uint32_t>(i));
    in.up();

    ex.time("rotate", [&] { rotate<<<n / block, block>>>(in.device, out.device, n, 0.8f, 0.6f, 0.125f); });

    out.down();
    float want[width];
    for (int i = 0; i < n; i++) {
        turn(&in[size_t(i) * width], want, 0.8f, 0.6f, 0.125f);
        for (int k = 0; k < width; k++) ex.check("out", size_t(i) * width + k, out[size_t(i) * width + k], want[k], 1e-6);
    }
    return ex.finish();
}
