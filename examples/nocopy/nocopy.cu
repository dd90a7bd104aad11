// A copy that must not be adopted: it costs registers and wins nothing.
//
// Every thread keeps a small array of states; their number is the same in all launches. A copy of the kernel made for that number is unrolled
// completely and has the array in registers: the reads and writes of local memory are gone, as in tripcount. But here each turn asks for an
// exponential, a root and a quotient, and the units for those are what limits the kernel: they are busy all
// the time already. What the copy brings is more registers and fewer warps. A tool that believes adopts it, one that measures does not.
#include "example.h"

constexpr int most = 40; // states at most

__global__ void relax(const float *__restrict__ start, float *__restrict__ out, int threads, int n, int passes) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= threads) return;
    float x[most];
    for (int k = 0; k < n; k++) x[k] = start[k * threads + i];
    for (int p = 0; p < passes; p++) {
        float carry = x[n - 1];
        for (int k = 0; k < n; k++) {
            float old = x[k];
            x[k] = rsqrtf(1 + __expf(-old)) + __fdividef(0.25f, 2 + carry);
            carry = old;
        }
    }
    float sum = 0;
    for (int k = 0; k < n; k++) sum += x[k];
    out[i] = sum;
}

int main() {
    example::Example ex("nocopy");
    const int block = 256, threads = 132 * 8 * block, n = 36, passes = 8;
    example::Array<float> start(static_cast<size_t>(n) * threads), out(threads);
    for (size_t i = 0; i < start.size(); i++) start[i] = example::noise(static_cast<uint32_t>(i));
    start.up();

    ex.time("relax", [&] { relax<<<threads / block, block>>>(start.device, out.device, threads, n, passes); });

    out.down();
    for (int i = 0; i < threads; i += 31) {
        double x[most], sum = 0;
        for (int k = 0; k < n; k++) x[k] = start[size_t(k) * threads + i];
        for (int p = 0; p < passes; p++) {
            double carry = x[n - 1];
            for (int k = 0; k < n; k++) {
                double old = x[k];
                x[k] = 1 / std::sqrt(1 + std::exp(-old)) + 0.25 / (2 + carry);
                carry = old;
            }
        }
        for (int k = 0; k < n; k++) sum += x[k];
        ex.check("out", i, out[i], sum, 1e-5);
    }
    return ex.finish();
}
