// Calls that fastmath renames, and calls that it must leave alone; what each kernel shows stands in its name.
#include <cmath>
#include <complex>

namespace own {
__device__ float log10f(float x) { return x + 1; }
}
struct Curve {
    float k;
    __device__ float log2(float x) const { return k * x; }
};

template <typename T> __device__ T wave(T x) { return sin(x) * std::exp(x) + ::cos(x); }
__host__ __device__ inline float both(float x) { return std::sqrt(expf(x)); }
constexpr __device__ float constant(float x) { return x > 0 ? 1.0f : 0.0f; }

extern "C" __global__ void named(float *a) {
    int i = threadIdx.x;
    a[i] = sinf(a[i]) * cosf(a[i + 1]) + expf(a[i + 2]) - logf(a[i + 3]) * powf(a[i + 4], a[i + 5]);
}
extern "C" __global__ void pair(float *a) {
    float s, c;
    sincosf(a[threadIdx.x], &s, &c);
    a[threadIdx.x] = s * c;
}
extern "C" __global__ void overloaded(float *a) {
    int i = threadIdx.x;
    a[i] = std::sin(a[i]) + pow(a[i + 1], a[i + 2]) + both(a[i + 3]) * exp10f(a[i + 4]) + std::exp2(a[i + 5]);
}
extern "C" __global__ void doubles(double *a) {
    int i = threadIdx.x;
    a[i] = sin(a[i]) + std::exp(a[i + 1]) + log(a[i + 2]) + pow(a[i + 3], 2);
}
extern "C" __global__ void integers(float *a, int n) { a[threadIdx.x] = pow(a[threadIdx.x], n) + sin(2.0 * n); }
__global__ void templated(float *a) { a[threadIdx.x] = wave(a[threadIdx.x]) + constant(a[threadIdx.x]); }
__global__ void owned(float *a, Curve c) { a[threadIdx.x] = own::log10f(a[threadIdx.x]) + c.log2(a[threadIdx.x]) + __logf(a[threadIdx.x]); }
__global__ void plain(float *a) { a[threadIdx.x] = sqrtf(a[threadIdx.x]) + tanhf(a[threadIdx.x]); }
