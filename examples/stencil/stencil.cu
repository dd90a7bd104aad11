// A stencil: the star of radius 4 of acoustic wave propagation, 25 points in single precision.
//
// A thread owns a column of the volume and walks along z; the nine values that it needs from its own column move through registers, those
// of its neighbours come through the cache. Unrolling the walk turns the moves into names (nine steps are one turn of the
// queue), known extents turn the index arithmetic into constants, and the register count decides how many columns are
// under way at a time. None of that is for the source to say: it depends on the volume and on the GPU.
#include "example.h"

constexpr int radius = 4;
#define WEIGHTS {-2.847222f, 1.6f, -0.2f, 0.02539683f, -0.001785714f}
__constant__ float weight[radius + 1] = WEIGHTS;
const float host_weight[radius + 1] = WEIGHTS;

__global__ void wave(const float *__restrict__ in, float *__restrict__ out, int nx, int ny, int nz) {
    int x = blockIdx.x * blockDim.x + threadIdx.x + radius;
    int y = blockIdx.y * blockDim.y + threadIdx.y + radius;
    if (x >= nx - radius || y >= ny - radius) return;

    int plane = nx * ny;
    int at = y * nx + x;
    float queue[2 * radius + 1]; // z-4 .. z+4 of this column
    for (int k = 0; k < 2 * radius; k++) queue[k + 1] = in[at + k * plane];

    for (int z = radius; z < nz - radius; z++) {
        for (int k = 0; k < 2 * radius; k++) queue[k] = queue[k + 1];
        queue[2 * radius] = in[at + (z + radius) * plane];
        const float *p = in + at + z * plane;
        float sum = 3 * weight[0] * queue[radius];
        for (int k = 1; k <= radius; k++)
            sum += weight[k] * (queue[radius - k] + queue[radius + k] + p[-k] + p[k] + p[-k * nx] + p[k * nx]);
        out[at + z * plane] = sum;
    }
}

int main() {
    example::Example ex("stencil");
    const int nx = 320 + 2 * radius, ny = 320 + 2 * radius, nz = 192 + 2 * radius;
    const size_t plane = static_cast<size_t>(nx) * ny;
    example::Array<float> in(plane * nz), out(plane * nz);
    for (size_t i = 0; i < in.size(); i++) in[i] = example::noise(static_cast<uint32_t>(i)) - 0.5f;
    in.up();
    CUDA(cudaMemset(out.device, 0, out.size() * sizeof(float)));

    dim3 block(32, 8), grid((nx - 2 * radius) / block.x, (ny - 2 * radius) / block.y);
    ex.time("wave", [&] { wave<<<grid, block>>>(in.device, out.device, nx, ny, nz); });

    out.down();
    for (int z = radius; z < nz - radius; z += 3) { // every third plane is enough to find a mistake
        for (int y = radius; y < ny - radius; y++) {
            for (int x = radius; x < nx - radius; x++) {
                const float *p = &in[z * plane + static_cast<size_t>(y) * nx + x];
                double want = 3.0 * host_weight[0] * p[0];
                for (long k = 1; k <= radius; k++) {
                    long row = k * nx, level = k * static_cast<long>(plane);
                    want += host_weight[k] * (double(p[-k]) + p[k] + p[-row] + p[row] + p[-level] + p[level]);
                }
                ex.check("out", p - in.host.data(), out[p - in.host.data()], want, 1e-5);
            }
        }
    }
    return ex.finish();
}
