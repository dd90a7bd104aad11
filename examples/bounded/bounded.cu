// Registers that spill because the author wants many warps: moments of a walk.
//
// Every thread follows its own chain through a table and keeps 40 Chebyshev moments of the values on its way, brought up to date at every fourth step.
// The walk is all waiting, so the author asked for six blocks on a multiprocessor (__launch_bounds__), which leaves 40 registers a thread: the moments that
// find no place are spilled to local memory. Its lines share the cache with the table's, and the walk pushes them out before they are used again.
// gnvcc keeps the author's bound; what it may do is to let ptxas spill into shared memory, of which the kernel has none and the multiprocessor plenty.
// In examples/longthreads nothing is spilled, and in kernels whose spills stay in L1 it brings nothing.
#include "example.h"

constexpr int moments = 40, every = 4;

struct Series {
    float m[moments];
    __host__ __device__ void clear() {
#pragma unroll
        for (int k = 0; k < moments; k++) m[k] = 0;
    }
    // T(0) = 1, T(1) = x, T(k+1) = 2 x T(k) - T(k-1)
    __host__ __device__ void add(float x) {
        float last = 1, now = x;
#pragma unroll
        for (int k = 0; k < moments; k++) {
            m[k] += last;
            float next = 2 * x * now - last;
            last = now, now = next;
        }
    }
    __host__ __device__ float sum() const {
        float s = 0;
#pragma unroll
        for (int k = 0; k < moments; k++) s += m[k] * m[k];
        return s;
    }
};

__global__ void __launch_bounds__(256, 6) walk(const unsigned *__restrict__ table, float *__restrict__ out, int n, int mask, int batches) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    unsigned at = static_cast<unsigned>(i) * 2654435761u & mask;
    Series s;
    s.clear();
    for (int b = 0; b < batches; b++) {
#pragma unroll 1
        for (int k = 0; k < every; k++) at = table[at];
        s.add(static_cast<float>(at) / static_cast<float>(mask) * 2 - 1);
    }
    out[i] = s.sum();
}

int main() {
    example::Example ex("bounded");
    const int n = 132 * 6 * 256, size = 1 << 22, mask = size - 1, batches = 16;
    example::Array<unsigned> table(size);
    example::Array<float> out(n);
    for (int i = 0; i < size; i++) table[i] = (static_cast<unsigned>(i) * 1664525u + 1013904223u) & mask;
    table.up();

    ex.time("walk", [&] { walk<<<n / 256, 256>>>(table.device, out.device, n, mask, batches); });

    out.down();
    for (int i = 0; i < n; i += 13) {
        unsigned at = static_cast<unsigned>(i) * 2654435761u & mask;
        Series s;
        s.clear();
        for (int b = 0; b < batches; b++) {
            for (int k = 0; k < every; k++) at = table[at];
            s.add(static_cast<float>(at) / static_cast<float>(mask) * 2 - 1);
        }
        ex.check("out", i, out[i], s.sum(), 1e-3);
    }
    return ex.finish();
}
