// Plain C-like kernels: helpers, macros on one line, shared arrays, printf, assert, while and do, nested loops without braces.
#include <cassert>
#include <cstdio>

enum Mode { kA = 1, kB = 5 };
enum class Color : unsigned char { red, green };
struct Params { int n; float f; const int c; int a[3]; double d; struct Params *next; };
typedef struct { float x, y; } Point;
typedef float real;

#define LOOP(i, n) for (int i = 0; i < n; ++i) { acc += a[i]; } for (int j = 0; j < 4; ++j) acc *= 2;
#define CHECK(x) do { if (!(x)) printf("bad %s %d\n", #x, __LINE__); } while (0)
#define KERNEL(name, op) __global__ void name(float *a, const float *b, int n) { for (int i = threadIdx.x; i < n; i += blockDim.x) a[i] = a[i] op b[i]; }

KERNEL(add, +) KERNEL(mul, *)

static __device__ float helper(const float *a, int n) { float acc = 0; LOOP(i, n) return acc; }
__device__ int counter;
__constant__ float table[16];

extern "C" __global__ void plain(float *out, const float *a, int n, double d, Params s, const __grid_constant__ Params s2)
{
  extern __shared__ float dyn[];
  float x = 0;
  dyn[threadIdx.x] = helper(a, n);
  __syncthreads();
  while (n-- > 0) { x += dyn[n]; }
  do { x *= 0.5f; } while (x > 100.f);
  assert(n < 1000);
  CHECK(x > 0);
  for (int i = 0; i < s.n; i++) for (int j = 0; j < s2.n; j++) if (i != j) for (int k = 0; k < 3; k++) x += table[k] * s.f; else x -= 1;
  out[blockIdx.x * blockDim.x + threadIdx.x] = x * d + s2.f;
}

__global__ void everything(bool b, char c, signed char sc, unsigned char uc, short h, unsigned short uh, int i, unsigned u,
                           long l, unsigned long ul, long long ll, unsigned long long ull, float f, double d, Mode m, Color col,
                           size_t z, real r, Point p, float3 v, dim3 g, float *out)
{
  *out = b + c + sc + uc + h + uh + i + u + l + ul + ll + ull + f + d + m + (int)col + z + r + p.x + p.y + v.x + v.z + g.y;
}

__global__ void tile(float *a, const float *b, int n, const int pitch)
{
  __shared__ float buf[256], other[32];
  { __shared__ float buf[64]; buf[threadIdx.x & 63] = b[n]; __syncthreads(); a[1] = buf[threadIdx.x ^ 1]; }
  for (int i = 0; i < n; i++) {
    buf[threadIdx.x] = b[i * pitch + threadIdx.x];
    other[threadIdx.x & 31] = i;
    __syncthreads();
    a[i * pitch + threadIdx.x] = buf[threadIdx.x ^ 3] + other[(threadIdx.x + 1) & 31];
    __syncthreads();
  }
}

static __global__ void hidden(float *a, Point p) { *a = p.x; }
__global__ void __launch_bounds__(128, 2) bounded(int, int n = 3);
__global__ void bounded(int, int n) { counter = n; }
__global__ void modified(int *out, int n, float f) { int *p = &n; while (n > 0) { --*p; f *= 2; } *out = n + f; }
__global__ void never(int n, int *a) { if (n < 0) goto done; *a = n; done: *a += 1; }

int main()
{
  add<<<1, 1>>>(0, 0, 1);
  hidden<<<1, 1>>>(0, Point{});
  return 0;
}
