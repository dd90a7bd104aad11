// Blocks of another size: two kernels that know nothing of their blocks but the index over the grid, launched in blocks that suit the
// GPU badly.
//
// scan has a thread for each frequency and a long sum in each thread. 160 blocks of 1024 threads are one block and a bit for each of 132
// multiprocessors: some have two blocks to do while the others wait. As many threads in small blocks are dealt out evenly.
// relax averages neighbours in an image, in blocks that are 8 threads wide and 32 high: a warp reads pieces of 4 rows, 32 bytes each.
// 32 threads wide, it reads 128 consecutive bytes. The last launch has an image of which no wider block divides the threads: it
// takes the kernel itself.
#include "example.h"

// The power of a signal that was sampled at times of its own, at a frequency (Lomb, 1976, without the phase).
__host__ __device__ inline float power(const float *t, const float *x, int samples, float w) {
    float re = 0, im = 0;
    for (int k = 0; k < samples; k++) {
        float s, c;
        sincosf(w * t[k], &s, &c);
        re += x[k] * c;
        im += x[k] * s;
    }
    return re * re + im * im;
}

__global__ void scan(const float *__restrict__ t, const float *__restrict__ x, int samples, float *__restrict__ out, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) out[i] = power(t, x, samples, 0.01f * static_cast<float>(i + 1) / 1024);
}

__host__ __device__ inline float mean(const float *in, int width, int height, int x, int y) {
    int left = x > 0 ? x - 1 : 0, right = x < width - 1 ? x + 1 : x, up = y > 0 ? y - 1 : 0, down = y < height - 1 ? y + 1 : y;
    return 0.2f * (in[y * width + x] + in[y * width + left] + in[y * width + right] + in[up * width + x] + in[down * width + x]);
}

__global__ void relax(const float *__restrict__ in, float *__restrict__ out, int width, int height) {
    int x = blockIdx.x * blockDim.x + threadIdx.x, y = blockIdx.y * blockDim.y + threadIdx.y;
    if (x < width && y < height) out[y * width + x] = mean(in, width, height, x, y);
}

static void relaxed(example::Example &ex, const char *kernel, int width, int height) {
    const size_t n = static_cast<size_t>(width) * height;
    example::Array<float> in(n), out(n);
    for (size_t i = 0; i < n; i++) in[i] = example::noise(static_cast<uint32_t>(i));
    in.up();
    const dim3 block(8, 32), grid((width + 7) / 8, (height + 31) / 32);
    ex.time(kernel, [&] { relax<<<grid, block>>>(in.device, out.device, width, height); });
    out.down();
    for (int y = 0; y < height; y++)
        for (int x = 0; x < width; x++) ex.check(kernel, static_cast<size_t>(y) * width + x, out[static_cast<size_t>(y) * width + x], mean(in.host.data(), width, height, x, y), 1e-6);
}

int main() {
    example::Example ex("periodogram");
    const int n = 160 * 1024 - 5, samples = 2048, block = 1024;
    example::Array<float> t(samples), x(samples), out(n);
    for (int k = 0; k < samples; k++) {
        t[k] = static_cast<float>(k) + example::noise(k);
        x[k] = 2 * example::noise(1u << 20 | k) - 1;
    }
    t.up();
    x.up();
    ex.time("scan", [&] { scan<<<(n + block - 1) / block, block>>>(t.device, x.device, samples, out.device, n); });
    out.down();
    for (int i = 0; i < n; i += 991) ex.check("scan", i, out[i], power(t.host.data(), x.host.data(), samples, 0.01f * static_cast<float>(i + 1) / 1024), 1e-3, samples);

    relaxed(ex, "relax", 8192, 4096);
    relaxed(ex, "relax_odd", 4100, 4097); // 4104 threads in x: 8 divides them, and no warp's row does
    return ex.finish();
}
