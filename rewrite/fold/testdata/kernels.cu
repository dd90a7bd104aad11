// Kernels named ok keep their bits where all scalars are known and all loops unrolled; those named no would not.
#define I (blockIdx.x * blockDim.x + threadIdx.x)
__global__ void ok_plain(float *a, float x, int n) { for (int i = 0; i < n; i++) a[i] = a[i] * x + x / 3.0f + sqrtf(x); }
__global__ void no_pow(float *a, float x, int n) { a[I] += powf(x, 2.3f); }
__global__ void no_sin(float *a, float x, int n) { a[I] += sinf(x); }
__global__ void no_fast(float *a, float x, int n) { a[I] += __expf(x); }
__global__ void no_double(double *a, double x, int n) { a[I] += exp(x * n); }
__global__ void ok_data(float *a, float x, int n) { a[I] = expf(a[I] * x) + powf(a[I], 1.5f); }
__global__ void no_exponent(float *a, float x, int n) { a[I] = powf(a[I], x); }
__global__ void no_integer(float *a, float x, int n) { a[I] = powf(a[I], (float)n); }
__global__ void no_counter(float *a, float x, int n) { for (int i = 0; i < n; i++) a[i] = sinf((float)i); }
__global__ void ok_counter(float *a, const float *__restrict__ b, int n) { float s = 0; for (int i = 0; i < n; i++) s += sinf(b[I] * i); a[I] = s; }
__global__ void no_first(float *a, float x, int n) { float s = 0; for (int i = 0; i < n; i++) s = expf(s) + a[i]; a[0] = s; }
__device__ float deep(float y, int k) { float s = 1; for (int i = 0; i < k; i++) s *= __cosf(y); return s; }
__global__ void no_called(float *a, float x, int n) { a[I] = deep(x, n) + deep(a[I], n); }
__global__ void ok_called(float *a, float *b, int n) { a[I] = deep(b[I], n); }
struct P { int n; float f; };
__global__ void no_field(float *a, P p) { a[I] = logf(p.f); }
__global__ void no_block(float *a) { a[I] = rsqrtf((float)blockDim.x); }
__global__ void ok_thread(float *a) { a[I] = rsqrtf((float)threadIdx.x); }
__global__ void no_local(float *a, int n) { float t[4] = {1, 2, 3, 4}; for (int i = 0; i < 4; i++) t[i] += n; a[I] = logf(t[threadIdx.x & 3]) + logf(t[n & 3]); }
__global__ void no_choice(float *a, int n, float x) { a[I] = expf(n > 3 ? a[I] : x); }
__global__ void no_shared(float *a, float x) { __shared__ float t; t = x; a[I] = expf(t); }
__global__ void ok_shared(float *a, float x) { __shared__ float t[32]; t[threadIdx.x] = x; __syncthreads(); a[I] = expf(t[31 - threadIdx.x]); }
__global__ void no_modulo(float *a, int n) { a[I] = logf((float)(threadIdx.x % n)); }
__global__ void no_difference(float *a, int n) { int s = n ? threadIdx.x : 0; a[I] = logf((float)((int)threadIdx.x - s)); }
__global__ void no_sincos(float *a, float x) { float s, c; sincosf(x, &s, &c); a[I] = s * c; }
__global__ void ok_sincos(float *a, float x) { float s, c; sincosf(a[I], &s, &c); a[I] = s * c * x; }
__constant__ float filled[4];
#ifndef TABLE
__global__ void ok_constant(float *a, int n) { a[I] = logf(filled[n]); }
#else
__constant__ const float table[4] = {1, 2, 3, 4};
__global__ void no_constant(float *a, int n) { a[I] = logf(filled[n]); }
__global__ void no_table(float *a, int n) { a[I] = logf(table[n]); }
#endif
__global__ void no_limit(float *a, float x) { a[I] = expf(fminf(a[I], x)); }
__global__ void ok_limit(float *a, float x) { a[I] = expf(fminf(a[I], 80.0f)) * x; }
__global__ void no_multiple(float *a, int n) { a[I] = expf((float)(signed char)(threadIdx.x * n)); }
__global__ void ok_integers(float *a, int n) { for (int i = 0; i < n; i++) a[i] = a[i] * 0.5f + n; }
__global__ void no_hypot(double *a, double x) { a[I] = hypot(x, 3.0) + norm3d(x, x, x); }
__global__ void no_cbrt(float *a, float x) { a[I] = cbrtf(x); }
__global__ void no_last(float *a, int n) { float k = 0; for (int i = 0; i < 8; i++) if (a[i] > 0) k = i; a[I] = logf(k); }
__global__ void no_equal(float *a, float x, int n) { if (a[I] == x && sinf(a[I]) > 0.1f) a[I + n] = 1; }
__global__ void no_order(float *a, float x, float y) { float v = a[I]; if (v >= x && v <= y && sinf(v) > 0.1f) a[I + 9] = 1; }
__global__ void no_alternative(float *a, int n) { float v = a[I]; if (v == 0.3f || n > 0) a[I + 9] = sinf(v) > 0.1f; }
__global__ void no_word(float *a, const int *b, int n) { int k = b[I]; if (k - n == 2) a[I] = expf((float)k) > 20; }
__global__ void no_between(float *a, const int *b, int n, int m) { int k = b[I]; if (k > n && k < m) a[I] = expf((float)k) > 20; }
__global__ void no_first_thread(float *a, int n) { if (threadIdx.x < n) a[I] = expf((float)threadIdx.x) > 20; }
__global__ void no_again(float *a, const float *b, float x) { float v = b[I], w = b[I + 1]; if (v == x && w == v) a[I] = cosf(w) > 0.1f; }
__global__ void no_bits(float *a, const int *b, int n) { int k = b[I]; if ((k & 255) == n && k >> 8 == 0) a[I] = expf((float)k) > 20; }
__global__ void ok_sign(float *a, const int *b) { int k = b[I]; if (k < 0) a[I] = 2; if (k > -1) a[I + 99] = expf((float)k) > 20; }
__global__ void ok_bits(float *a, const int *b) { int k = b[I]; if ((k & 1) == 0 && (k & 8) == 0) a[I] = expf((float)k) > 20; }
__device__ __noinline__ float asked(float y, float x) { return y == x && cosf(y) > 0.1f; }
__global__ void no_asked(float *a, float x) { a[I] = asked(a[I], x); }
__global__ void ok_zero(float *a, float x) { float v = a[I]; if (v != 0) a[I + 9] = sinf(v) * x; }
__global__ void ok_bound(float *a, float x, int n) { if ((int)I < n && a[I] > x) a[I] = expf(a[I]); }
__global__ void ok_compared(float *a, const float *b, float x) { float v = b[I]; if (v == b[I + 1]) a[I] = logf(v) * x; }
__global__ void no_zeros(float *a, float x, int n) { a[I] = a[I + 1] / fmaxf(-0.5f * n, x); }
__global__ void no_zeros_double(double *a, double x, int n) { a[I] = a[I + 1] / fmin(-0.5 * n, x); }
__global__ void ok_clamp(float *a, float x) { a[I] = fmaxf(a[I], x); }
