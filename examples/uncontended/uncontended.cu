// Spin locks that nobody waits for: a table of counters, each with a lock, of which every thread uses one of its own.
//
// The swap succeeds at the first attempt. A test in front of it is one access more, a delay after a failure never comes: gnvcc must not
// adopt its lever for spin loops here.
#include "example.h"

constexpr int threads = 256;
constexpr int items = 128; // of a thread

__global__ void count(const unsigned *in, unsigned *out) {
    __shared__ int taken[threads];
    __shared__ unsigned table[threads];
    taken[threadIdx.x] = 0, table[threadIdx.x] = 0;
    __syncthreads();
    for (int i = 0; i < items; i++) {
        unsigned x = in[(blockIdx.x * items + i) * threads + threadIdx.x];
        while (atomicCAS(&taken[threadIdx.x], 0, 1) != 0);
        __threadfence_block();
        table[threadIdx.x] = table[threadIdx.x] * 31 + x;
        __threadfence_block();
        atomicExch(&taken[threadIdx.x], 0);
    }
    __syncthreads();
    out[blockIdx.x * threads + threadIdx.x] = table[threadIdx.x];
}

int main() {
    example::Example ex("uncontended");
    const int blocks = 528;
    example::Array<unsigned> in(static_cast<size_t>(blocks) * items * threads), out(blocks * threads);
    for (size_t i = 0; i < in.size(); i++) in[i] = static_cast<unsigned>(1000 * example::noise(static_cast<uint32_t>(i)));
    in.up();
    ex.time("count", [&] { count<<<blocks, threads>>>(in.device, out.device); });
    out.down();
    for (int block = 0; block < blocks; block++) {
        for (int t = 0; t < threads; t++) {
            unsigned want = 0;
            for (int i = 0; i < items; i++) want = want * 31 + in[(static_cast<size_t>(block) * items + i) * threads + t];
            ex.check("out", block * threads + t, out[block * threads + t], want, 0);
        }
    }
    return ex.finish();
}
