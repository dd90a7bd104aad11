// Throughput and error of functions, accurate and by the special function units. Prints one line per function, form and range:
//
//   row  FUNCTION  TYPE  FORM  RANGE  KERNEL  Gop/s  largest-ulps  largest-relative-error  mean-relative-error
//   odd  FUNCTION  TYPE  FORM  x  y  accurate  this            (a special value with another kind of result)
//
// The forms are those of rewrite/approx.go and rewrite/source/fastmath.go. f32 is compared with f64 computed on the device, f64 with the accurate form,
// which rounds correctly (1/sqrt: to 1 ulp). Exit code 3: no GPU.
#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <string_view>
#include <vector>

#define CUDA(call)                                                                          \
  do {                                                                                      \
    cudaError_t error_ = (call);                                                            \
    if (error_ != cudaSuccess) {                                                            \
      std::fprintf(stderr, "line %d: %s: %s\n", __LINE__, #call, cudaGetErrorString(error_)); \
      std::exit(1);                                                                         \
    }                                                                                       \
  } while (0)

#define ASM1(name, op, T, c) \
  __device__ __forceinline__ T name(T x) { T r; asm(op " %0, %1;" : "=" c(r) : c(x)); return r; }
ASM1(rcp_a, "rcp.approx.f32", float, "f")
ASM1(rcp_f, "rcp.approx.ftz.f32", float, "f")
ASM1(sqrt_a, "sqrt.approx.f32", float, "f")
ASM1(sqrt_f, "sqrt.approx.ftz.f32", float, "f")
ASM1(rsqrt_a, "rsqrt.approx.f32", float, "f")
ASM1(rsqrt_f, "rsqrt.approx.ftz.f32", float, "f")
ASM1(rcp_d, "rcp.approx.ftz.f64", double, "d")
ASM1(rsqrt_d, "rsqrt.approx.ftz.f64", double, "d")
#define ASM2(name, op) \
  __device__ __forceinline__ float name(float x, float y) { float r; asm(op " %0, %1, %2;" : "=f"(r) : "f"(x), "f"(y)); return r; }
ASM2(div_full, "div.full.f32")
ASM2(div_a, "div.approx.f32")
ASM2(div_f, "div.approx.ftz.f32")

__device__ __forceinline__ double rcp_n(double y) {
  double r = rcp_d(y), e = fma(-y, r, 1.0);
  return isfinite(e) ? fma(r, e, r) : r;
}
__device__ __forceinline__ double sqrt_d(double x) { return rcp_d(rsqrt_d(x)); }
__device__ __forceinline__ double sqrt_n(double x) {
  double r = rsqrt_d(x), s = rcp_d(r), d = fma(-s, s, x) * (r * 0.5);
  return isfinite(d) ? s + d : s;
}
__device__ __forceinline__ double rsqrt_n(double x) {
  double r = rsqrt_d(x), d = fma(-(x * r), r, 1.0) * (r * 0.5);
  return isfinite(d) ? r + d : r;
}

// FORM(name, function, type, form, reference in f64, code, range of x, range of y). Ranges of positive numbers above 1e-9 are drawn evenly in the exponent.
#define FORMS32(F) \
  F(div0, "div", float, "accurate", x / y, __fdiv_rn(x, y), 1e-6, 1e6, 1e-6, 1e6) \
  F(div1, "div", float, "full", x / y, div_full(x, y), 1e-6, 1e6, 1e-6, 1e6) \
  F(div2, "div", float, "approx", x / y, div_a(x, y), 1e-6, 1e6, 1e-6, 1e6) \
  F(div3, "div", float, "approx.ftz", x / y, div_f(x, y), 1e-6, 1e6, 1e-6, 1e6) \
  F(rcp0, "rcp", float, "accurate", 1 / x, __frcp_rn(x), 1e-6, 1e6, 1, 1) \
  F(rcp1, "rcp", float, "approx", 1 / x, rcp_a(x), 1e-6, 1e6, 1, 1) \
  F(rcp2, "rcp", float, "approx.ftz", 1 / x, rcp_f(x), 1e-6, 1e6, 1, 1) \
  F(sqrt0, "sqrt", float, "accurate", sqrt(x), __fsqrt_rn(x), 1e-6, 1e6, 1, 1) \
  F(sqrt1, "sqrt", float, "approx", sqrt(x), sqrt_a(x), 1e-6, 1e6, 1, 1) \
  F(sqrt2, "sqrt", float, "approx.ftz", sqrt(x), sqrt_f(x), 1e-6, 1e6, 1, 1) \
  F(rsqrt0, "rsqrt", float, "accurate", 1 / sqrt(x), __frcp_rn(__fsqrt_rn(x)), 1e-6, 1e6, 1, 1) \
  F(rsqrt1, "rsqrt", float, "approx", 1 / sqrt(x), rsqrt_a(x), 1e-6, 1e6, 1, 1) \
  F(rsqrt2, "rsqrt", float, "approx.ftz", 1 / sqrt(x), rsqrt_f(x), 1e-6, 1e6, 1, 1) \
  F(sin0, "sin", float, "accurate", sin(x), sinf(x), -3.14, 3.14, 1, 1) \
  F(sin1, "sin", float, "approx", sin(x), __sinf(x), -3.14, 3.14, 1, 1) \
  F(sin2, "sin", float, "accurate", sin(x), sinf(x), -1e4, 1e4, 1, 1) \
  F(sin3, "sin", float, "approx", sin(x), __sinf(x), -1e4, 1e4, 1, 1) \
  F(cos0, "cos", float, "accurate", cos(x), cosf(x), -3.14, 3.14, 1, 1) \
  F(cos1, "cos", float, "approx", cos(x), __cosf(x), -3.14, 3.14, 1, 1) \
  F(cos2, "cos", float, "accurate", cos(x), cosf(x), -1e4, 1e4, 1, 1) \
  F(cos3, "cos", float, "approx", cos(x), __cosf(x), -1e4, 1e4, 1, 1) \
  F(exp0, "exp", float, "accurate", exp(x), expf(x), -20, 20, 1, 1) \
  F(exp1, "exp", float, "approx", exp(x), __expf(x), -20, 20, 1, 1) \
  F(log0, "log", float, "accurate", log(x), logf(x), 1e-6, 1e6, 1, 1) \
  F(log1, "log", float, "approx", log(x), __logf(x), 1e-6, 1e6, 1, 1) \
  F(log2_, "log", float, "accurate", log(x), logf(x), 0.9, 1.1, 1, 1) \
  F(log3, "log", float, "approx", log(x), __logf(x), 0.9, 1.1, 1, 1) \
  F(pow0, "pow", float, "accurate", pow(x, y), powf(x, y), 0.1, 10, -5, 5) \
  F(pow1, "pow", float, "approx", pow(x, y), __powf(x, y), 0.1, 10, -5, 5)
#define FORMS64(F) \
  F(ddiv0, "div", double, "accurate", x / y, __ddiv_rn(x, y), 1e-6, 1e6, 1e-6, 1e6) \
  F(ddiv1, "div", double, "f64", x / y, x * rcp_d(y), 1e-6, 1e6, 1e-6, 1e6) \
  F(ddiv2, "div", double, "f64+1", x / y, x * rcp_n(y), 1e-6, 1e6, 1e-6, 1e6) \
  F(drcp0, "rcp", double, "accurate", 1 / x, __drcp_rn(x), 1e-6, 1e6, 1, 1) \
  F(drcp1, "rcp", double, "f64", 1 / x, rcp_d(x), 1e-6, 1e6, 1, 1) \
  F(drcp2, "rcp", double, "f64+1", 1 / x, rcp_n(x), 1e-6, 1e6, 1, 1) \
  F(dsqrt0, "sqrt", double, "accurate", sqrt(x), __dsqrt_rn(x), 1e-6, 1e6, 1, 1) \
  F(dsqrt1, "sqrt", double, "f64", sqrt(x), sqrt_d(x), 1e-6, 1e6, 1, 1) \
  F(dsqrt2, "sqrt", double, "f64+1", sqrt(x), sqrt_n(x), 1e-6, 1e6, 1, 1) \
  F(drsqrt0, "rsqrt", double, "accurate", 1 / sqrt(x), __drcp_rn(__dsqrt_rn(x)), 1e-6, 1e6, 1, 1) \
  F(drsqrt1, "rsqrt", double, "f64", 1 / sqrt(x), rsqrt_d(x), 1e-6, 1e6, 1, 1) \
  F(drsqrt2, "rsqrt", double, "f64+1", 1 / sqrt(x), rsqrt_n(x), 1e-6, 1e6, 1, 1)
#define FORMS(F) FORMS32(F) FORMS64(F)

#define DEFINE(id, name, T, form, ref, code, xl, xh, yl, yh)                   \
  struct id {                                                                  \
    using Type = T;                                                            \
    static __device__ __forceinline__ T f(T x, T y) { return code; }           \
    static __device__ double reference(double x, double y) { return ref; }     \
  };
FORMS(DEFINE)

constexpr int turns = 256, lanes = 4; // lanes: independent chains of a thread

// Inputs walk up from the range's lower end by a tiny factor or step, so that the compiler can't keep any result.
template <typename F> __global__ void speed(typename F::Type *out, typename F::Type x, typename F::Type y, typename F::Type step) {
  using T = typename F::Type;
  T a[lanes], sum[lanes];
  for (int k = 0; k < lanes; k++) a[k] = x + step * (threadIdx.x * lanes + k), sum[k] = 0;
#pragma unroll 4
  for (int i = 0; i < turns; i++)
#pragma unroll
    for (int k = 0; k < lanes; k++) {
      sum[k] += F::f(a[k], y);
      a[k] += step;
    }
  T all = 0;
  for (int k = 0; k < lanes; k++) all += sum[k];
  out[blockIdx.x * blockDim.x + threadIdx.x] = all;
}

struct Found {
  double ulps, relative, sum;
};

__device__ double ulp(double r, bool single) {
  int e;
  frexp(r, &e); // |r| is in [2^(e-1), 2^e)
  return ldexp(1.0, single ? max(e - 24, -149) : max(e - 53, -1074));
}

template <typename F> __global__ void error(const typename F::Type *x, const typename F::Type *y, Found *found, int n) {
  using T = typename F::Type;
  Found f = {0, 0, 0};
  for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x) {
    double want = F::reference(x[i], y[i]), got = F::f(x[i], y[i]);
    double d = fabs(got - want), r = want == 0 ? (d == 0 ? 0 : 1) : d / fabs(want);
    if (!(r <= 1e9)) r = 1e9;
    f.sum += r;
    f.relative = fmax(f.relative, r);
    f.ulps = fmax(f.ulps, d / ulp(want, sizeof(T) == 4));
  }
  found[blockIdx.x * blockDim.x + threadIdx.x] = f;
}

template <typename F> __global__ void one(const typename F::Type *x, const typename F::Type *y, typename F::Type *out, int n) {
  int i = threadIdx.x;
  if (i < n) out[i] = F::f(x[i], y[i]);
}

template <typename T> struct Device {
  T *p;
  explicit Device(size_t n) { CUDA(cudaMalloc(&p, n * sizeof(T))); }
  Device(const std::vector<T> &v) : Device(v.size()) { CUDA(cudaMemcpy(p, v.data(), v.size() * sizeof(T), cudaMemcpyHostToDevice)); }
  std::vector<T> get(size_t n) {
    std::vector<T> v(n);
    CUDA(cudaMemcpy(v.data(), p, n * sizeof(T), cudaMemcpyDeviceToHost));
    return v;
  }
  ~Device() { cudaFree(p); }
};

static double draw(uint64_t &seed, double low, double high) {
  seed = seed * 6364136223846793005ull + 1442695040888963407ull;
  double u = (seed >> 11) * 0x1p-53;
  return low > 1e-9 ? low * std::pow(high / low, u) : low + (high - low) * u;
}

static const char *kind(double v) {
  if (std::isnan(v)) return "NaN";
  if (std::isinf(v)) return v > 0 ? "inf" : "-inf";
  if (v == 0) return std::signbit(v) ? "-0" : "0";
  return "number";
}

// one of each form, and one that computes nothing: gnvcc counts their instructions.
struct copy {
  using Type = float;
  static __device__ __forceinline__ float f(float x, float) { return x; }
};
#define ONE(id, ...) template __global__ void one<id>(const id::Type *, const id::Type *, id::Type *, int);
FORMS(ONE)
ONE(copy)

template <typename F> static void measure(const char *id, const char *name, const char *type, const char *form, double xl, double xh, double yl, double yh, int sms) {
  using T = typename F::Type;
  const int block = 256, blocks = sms * 8;
  Device<T> out((size_t)block * blocks);
  cudaEvent_t start, stop;
  CUDA(cudaEventCreate(&start));
  CUDA(cudaEventCreate(&stop));
  float best = 1e30f;
  for (int i = 0; i < 7; i++) {
    CUDA(cudaEventRecord(start));
    speed<F><<<blocks, block>>>(out.p, (T)xl, (T)((yl + 2 * yh) / 3), (T)((xh - xl) / (lanes * (block + turns))));
    CUDA(cudaEventRecord(stop));
    CUDA(cudaEventSynchronize(stop));
    float ms;
    CUDA(cudaEventElapsedTime(&ms, start, stop));
    if (i > 1) best = std::min(best, ms);
  }
  const int n = 1 << 18;
  std::vector<T> x(n), y(n);
  uint64_t seed = 1;
  for (int i = 0; i < n; i++) x[i] = (T)draw(seed, xl, xh), y[i] = (T)draw(seed, yl, yh);
  Device<T> dx(x), dy(y);
  const int threads = 64 * 128;
  Device<Found> found(threads);
  error<F><<<64, 128>>>(dx.p, dy.p, found.p, n);
  CUDA(cudaGetLastError());
  Found all = {0, 0, 0};
  for (const Found &f : found.get(threads)) all.ulps = std::max(all.ulps, f.ulps), all.relative = std::max(all.relative, f.relative), all.sum += f.sum;
  std::printf("row\t%s\t%s\t%s\t%g to %g", name, type, form, xl, xh);
  if (yl != yh) std::printf(", %g to %g", yl, yh);
  std::printf("\t%s\t%.1f\t%.3g\t%.3g\t%.3g\n", id, (double)block * blocks * turns * lanes / best / 1e6, all.ulps, all.relative, all.sum / n);
  CUDA(cudaEventDestroy(start));
  CUDA(cudaEventDestroy(stop));
}

// Where a form gives another kind of result than the accurate one (A) for a special value.
template <typename A, typename F> static void odd(const char *name, const char *type, const char *form) {
  using T = typename F::Type;
  bool single = sizeof(T) == 4, two = std::string_view(name) == "div" || std::string_view(name) == "pow";
  double subnormal = single ? 1e-40 : 1e-310, large = single ? 2e38 : 1.7e308, inf = INFINITY;
  std::vector<double> values = {0.0, -0.0, 1, -1, subnormal, -subnormal, large, inf, -inf, NAN};
  std::vector<T> x, y;
  for (double v : values)
    for (double w : values)
      if (two || w == 1) x.push_back((T)v), y.push_back((T)w);
  int n = (int)x.size();
  Device<T> dx(x), dy(y), da(n), df(n);
  one<A><<<1, 128>>>(dx.p, dy.p, da.p, n);
  one<F><<<1, 128>>>(dx.p, dy.p, df.p, n);
  CUDA(cudaGetLastError());
  std::vector<T> a = da.get(n), f = df.get(n);
  for (int i = 0; i < n; i++)
    if (std::string_view(kind(a[i])) != kind(f[i])) {
      auto text = [](double v) { static thread_local char b[4][32]; static thread_local int k; k = (k + 1) % 4; std::snprintf(b[k], 32, "%.3g", v); return b[k]; };
      std::printf("odd\t%s\t%s\t%s\t%s\t%s\t%s\t%s\n", name, type, form, text(x[i]), two ? text(y[i]) : "", text(a[i]), text(f[i]));
    }
}

int main() {
  int devices = 0;
  cudaError_t error = cudaGetDeviceCount(&devices);
  if (error != cudaSuccess || devices == 0) {
    std::fprintf(stderr, "no CUDA device: %s\n", cudaGetErrorString(error));
    return 3;
  }
  cudaDeviceProp p;
  CUDA(cudaGetDeviceProperties(&p, 0));
  std::printf("device\t%s\t%d\n", p.name, p.multiProcessorCount);
#define MEASURE(id, name, T, form, ref, code, xl, xh, yl, yh) measure<id>(#id, name, #T, form, xl, xh, yl, yh, p.multiProcessorCount);
  FORMS(MEASURE)
  odd<div0, div1>("div", "float", "full");
  odd<div0, div2>("div", "float", "approx");
  odd<div0, div3>("div", "float", "approx.ftz");
  odd<rcp0, rcp1>("rcp", "float", "approx");
  odd<rcp0, rcp2>("rcp", "float", "approx.ftz");
  odd<sqrt0, sqrt1>("sqrt", "float", "approx");
  odd<sqrt0, sqrt2>("sqrt", "float", "approx.ftz");
  odd<rsqrt0, rsqrt1>("rsqrt", "float", "approx");
  odd<rsqrt0, rsqrt2>("rsqrt", "float", "approx.ftz");
  odd<sin0, sin1>("sin", "float", "approx");
  odd<cos0, cos1>("cos", "float", "approx");
  odd<exp0, exp1>("exp", "float", "approx");
  odd<log0, log1>("log", "float", "approx");
  odd<pow0, pow1>("pow", "float", "approx");
  odd<ddiv0, ddiv1>("div", "double", "f64");
  odd<ddiv0, ddiv2>("div", "double", "f64+1");
  odd<drcp0, drcp1>("rcp", "double", "f64");
  odd<drcp0, drcp2>("rcp", "double", "f64+1");
  odd<dsqrt0, dsqrt1>("sqrt", "double", "f64");
  odd<dsqrt0, dsqrt2>("sqrt", "double", "f64+1");
  odd<drsqrt0, drsqrt1>("rsqrt", "double", "f64");
  odd<drsqrt0, drsqrt2>("rsqrt", "double", "f64+1");
  return 0;
}
