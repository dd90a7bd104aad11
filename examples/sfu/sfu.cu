// What special function units give: each function as nvcc computes it, and by the units. After Li et al., ICS 2016
// (GPU performance modeling and optimization, 2016, Tables 6.4 and 6.5).
//
// A row has the latency of a call in cycles (one warp, each call on the result of the one before, additions to keep arguments
// in range taken off), the errors against the host's double precision, mean and largest, over 100,000 arguments, the registers of
// the kernel that computes these, and the calls a second of one multiprocessor. The levers approx and fastmath do the same to
// a program's own calls, one by one (gnvcc tune --exact=approximate --within 1e-4).
#include "example.h"

#define F1(name, type, text)                                                                     \
    struct name {                                                                                \
        using T = type;                                                                          \
        static __device__ __forceinline__ T run(T x, T y) { return text; }                       \
    };
__device__ __forceinline__ float unit(float x, int what) { // by the units alone
    float r;
    switch (what) {
    case 0: asm("rcp.approx.ftz.f32 %0, %1;" : "=f"(r) : "f"(x)); break;
    case 1: asm("sqrt.approx.ftz.f32 %0, %1;" : "=f"(r) : "f"(x)); break;
    case 2: asm("rsqrt.approx.ftz.f32 %0, %1;" : "=f"(r) : "f"(x)); break;
    case 3: asm("ex2.approx.ftz.f32 %0, %1;" : "=f"(r) : "f"(x)); break;
    case 4: asm("lg2.approx.ftz.f32 %0, %1;" : "=f"(r) : "f"(x)); break;
    case 5: asm("sin.approx.ftz.f32 %0, %1;" : "=f"(r) : "f"(x)); break;
    default: asm("cos.approx.ftz.f32 %0, %1;" : "=f"(r) : "f"(x)); break;
    }
    return r;
}
__device__ __forceinline__ float quotient(float x, float y) {
    float r;
    asm("div.approx.ftz.f32 %0, %1, %2;" : "=f"(r) : "f"(x), "f"(y));
    return r;
}
__device__ __forceinline__ double rcp(double x) { // 20 bits
    double r;
    asm("rcp.approx.ftz.f64 %0, %1;" : "=d"(r) : "d"(x));
    return r;
}
__device__ __forceinline__ double rsq(double x) {
    double r;
    asm("rsqrt.approx.ftz.f64 %0, %1;" : "=d"(r) : "d"(x));
    return r;
}
F1(Div, float, x / y) F1(DivU, float, quotient(x, y))
F1(Rcp, float, 1 / x) F1(RcpU, float, unit(x, 0))
F1(Sqrt, float, sqrtf(x)) F1(SqrtU, float, unit(x, 1))
F1(Rsqrt, float, 1 / sqrtf(x)) F1(RsqrtU, float, unit(x, 2))
F1(Pow, float, powf(x, y)) F1(PowU, float, unit(y * unit(x, 4), 3))
F1(Exp, float, expf(x)) F1(ExpU, float, unit(x * 1.4426950408889634f, 3))
F1(Log, float, logf(x)) F1(LogU, float, unit(x, 4) * 0.6931471805599453f)
F1(Sin, float, sinf(x)) F1(SinU, float, unit(x, 5))
F1(Cos, float, cosf(x)) F1(CosU, float, unit(x, 6))
F1(DivD, double, x / y) F1(DivDU, double, x * rcp(y))
F1(RcpD, double, 1 / x) F1(RcpDU, double, rcp(x))
F1(SqrtD, double, sqrt(x)) F1(SqrtDU, double, rcp(rsq(x)))
F1(RsqrtD, double, 1 / sqrt(x)) F1(RsqrtDU, double, rsq(x))

constexpr int calls = 64;
constexpr int arguments = 100000;

// keep brings a result back among the arguments, 1 to 2, by its low bits.
template <typename T> __device__ __forceinline__ T keep(T r);
template <> __device__ __forceinline__ float keep(float r) { return __int_as_float(__float_as_int(r) & 0x7fffff | 0x3f800000); }
template <> __device__ __forceinline__ double keep(double r) {
    return __longlong_as_double(__double_as_longlong(r) & 0xfffffffffffffLL | 0x3ff0000000000000LL);
}
struct Nothing { // what keep takes by itself
    template <typename T> static __device__ __forceinline__ T run(T x, T) { return x; }
};

template <typename F, typename T> __global__ void chain(T x, T y, T *out, long long *cycles) {
    x += threadIdx.x * T(1e-3);
    long long start = clock64();
#pragma unroll
    for (int i = 0; i < calls; i++) x = keep(F::run(x, y));
    cycles[0] = clock64() - start;
    out[threadIdx.x] = x;
}

template <typename F, typename T> __global__ void values(const T *x, const T *y, T *out) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < arguments) out[i] = F::run(x[i], y[i]);
}

template <typename F, typename T> __global__ void rate(T x, T y, T *out, int rounds) {
    T sum = 0, a[4];
    for (int k = 0; k < 4; k++) a[k] = x + T(threadIdx.x + 32 * k) * T(1e-3);
    for (int i = 0; i < rounds; i++)
        for (int k = 0; k < 4; k++) sum += F::run(a[k], y), a[k] += T(1e-6);
    out[blockIdx.x * blockDim.x + threadIdx.x] = sum;
}

struct Table {
    example::Example &ex;
    int processors = 0;

    explicit Table(example::Example &e) : ex(e) {
        CUDA(cudaDeviceGetAttribute(&processors, cudaDevAttrMultiProcessorCount, 0));
        std::printf("%-6s %-6s %-9s %8s %10s %10s %9s %13s\n", "", "type", "version", "latency", "mean error", "largest", "registers",
                    "Gcalls/s an SM");
    }

    template <typename F> void row(const char *name, const char *version, double (*want)(double, double), double low, double high, double bound) {
        using T = typename F::T;
        example::Array<T> x(arguments), y(arguments), out(arguments);
        for (int i = 0; i < arguments; i++) {
            x[i] = T(low + (high - low) * example::noise(i)), y[i] = T(0.5 + 2 * example::noise(i + 777777));
        }
        x.up(), y.up();
        values<F, T><<<(arguments + 255) / 256, 256>>>(x.device, y.device, out.device);
        out.down();
        double mean = 0, largest = 0;
        for (int i = 0; i < arguments; i++) {
            double exact = want(double(x[i]), double(y[i])), error = std::fabs(double(out[i]) - exact) / std::max(std::fabs(exact), 1e-30);
            mean += error / arguments, largest = std::max(largest, error);
        }
        ex.check(name, 0, mean, 0, bound);
        cudaFuncAttributes attributes;
        CUDA(cudaFuncGetAttributes(&attributes, values<F, T>));
        example::Array<long long> cycles(1);
        long long of[2];
        for (int warm = 0; warm < 2; warm++) {
            chain<F, T><<<1, 32>>>(T(1.5), T(1.25), out.device, cycles.device), cycles.down(), of[0] = cycles[0];
            chain<Nothing, T><<<1, 32>>>(T(1.5), T(1.25), out.device, cycles.device), cycles.down(), of[1] = cycles[0];
        }
        const int blocks = processors * 8, rounds = 1024;
        example::Array<T> sums(size_t(blocks) * 256);
        char label[32];
        std::snprintf(label, sizeof label, "%s_%s", name, version);
        double us = ex.time(label, [&] { rate<F, T><<<blocks, 256>>>(T(1.5), T(1.25), sums.device, rounds); });
        std::printf("%-6s %-6s %-9s %8.1f %10.2g %10.2g %9d %13.1f\n", name, sizeof(T) == 4 ? "f32" : "f64", version,
                    double(of[0] - of[1]) / calls, mean, largest, attributes.numRegs, 8.0 * 256 * 4 * rounds / us / 1e3);
    }
};

#define BOTH(name, accurate, units, text, low, high, bound)                                  \
    table.row<accurate>(name, "accurate", [](double x, double y) { return text; }, low, high, sizeof(accurate::T) == 4 ? 1e-7 : 1e-15); \
    table.row<units>(name, "units", [](double x, double y) { return text; }, low, high, bound);

int main() {
    example::Example ex("sfu");
    Table table(ex);
    BOTH("x/y", Div, DivU, x / y, 0.1, 100, 1e-6)
    BOTH("1/x", Rcp, RcpU, 1 / x, 0.1, 100, 1e-6)
    BOTH("sqrt", Sqrt, SqrtU, std::sqrt(x), 0.1, 100, 1e-6)
    BOTH("rsqrt", Rsqrt, RsqrtU, 1 / std::sqrt(x), 0.1, 100, 1e-6)
    BOTH("pow", Pow, PowU, std::pow(x, y), 0.1, 100, 1e-5)
    BOTH("exp", Exp, ExpU, std::exp(x), -10, 10, 1e-5)
    BOTH("log", Log, LogU, std::log(x), 2, 100, 1e-5)
    BOTH("sin", Sin, SinU, std::sin(x), 0.1, 3, 1e-5)
    BOTH("cos", Cos, CosU, std::cos(x), 0.1, 1.5, 1e-5)
    BOTH("x/y", DivD, DivDU, x / y, 0.1, 100, 1e-5)
    BOTH("1/x", RcpD, RcpDU, 1 / x, 0.1, 100, 1e-5)
    BOTH("sqrt", SqrtD, SqrtDU, std::sqrt(x), 0.1, 100, 1e-5)
    BOTH("rsqrt", RsqrtD, RsqrtDU, 1 / std::sqrt(x), 0.1, 100, 1e-5)
    return ex.finish();
}
