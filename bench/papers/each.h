// What the kernels of the papers that are written anew share: a kernel is a functor that both sides can call, so that the host
// checks what the GPU computed, at a hundred places.
#pragma once
#include "example.h"

#define BOTH __host__ __device__ inline

template <typename F, typename T>
__global__ void each(F f, T *__restrict__ out, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) out[i] = f(i);
}

// run takes the functor with the device's pointers and with the host's.
template <typename T, typename F>
void run(example::Example &ex, const char *name, int n, F device, F host, double tolerance, int block = 256) {
    example::Array<T> out(n);
    ex.time(name, [&] { each<<<(n + block - 1) / block, block>>>(device, out.device, n); });
    out.down();
    for (int i = 0; i < n; i += n / 100 + 1) ex.check(name, i, out[i], host(i), tolerance);
}

// numbers are an array of them, the same on both sides.
struct Numbers {
    example::Array<float> all;
    explicit Numbers(size_t n, float low = 0, float high = 1) : all(n) {
        for (size_t i = 0; i < n; i++) all[i] = low + (high - low) * example::noise(static_cast<uint32_t>(i));
        all.up();
    }
};
