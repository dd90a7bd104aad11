// Tiles: each thread goes along a time series of its own.
//
// Measured series lie one behind the other in memory, and one thread works through each: mean, spread, and how much a value tells of the next
// one. A warp's loads are then 32 addresses, each in another line, and come from L1 one after the other. The threads of a block together read whole
// pieces of rows: copied to shared memory side by side, they are read there at full speed, value by value in the same order. In
// examples/stars all threads read the same star at the same time, once in a turn that computes much: L1 serves that as well.
#include "example.h"

struct Moments { float mean, spread, next; };

__host__ __device__ inline Moments moments(const float *__restrict__ x, int length) {
    float sum = 0, squares = 0, products = 0, last = 0;
    for (int i = 0; i < length; i++) {
        float v = x[i];
        sum += v;
        squares += v * v;
        products += v * last;
        last = v;
    }
    float mean = sum / length, spread = squares / length - mean * mean;
    return {mean, spread, products / length - mean * mean};
}

__global__ void series(const float *__restrict__ x, float *__restrict__ mean, float *__restrict__ spread, float *__restrict__ next, int count,
                       int length) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= count) return;
    Moments m = moments(x + size_t(i) * length, length);
    mean[i] = m.mean, spread[i] = m.spread, next[i] = m.next;
}

int main() {
    example::Example ex("series");
    const int count = 131072, length = 512, block = 128;
    example::Array<float> x(size_t(count) * length), mean(count), spread(count), next(count);
    for (size_t i = 0; i < x.size(); i++) x[i] = example::noise(i);
    x.up();

    ex.time("series", [&] { series<<<count / block, block>>>(x.device, mean.device, spread.device, next.device, count, length); });

    mean.down(), spread.down(), next.down();
    for (int i = 0; i < count; i += 37) {
        Moments m = moments(&x[size_t(i) * length], length);
        ex.check("mean", i, mean[i], m.mean, 1e-4);
        ex.check("spread", i, spread[i], m.spread, 1e-3);
        ex.check("next", i, next[i], m.next, 2e-3);
    }
    return ex.finish();
}
