// What people and macros write: attributes in odd places, raw strings, digit separators, old habits.
#include <cstdio>
#include <cuda_fp16.h>

#define LAUNCH(n) __launch_bounds__(n)
#define ARG(t, x) t x,
#define BODY { int i; for(i=0;i<n;i++){a[i]+=s;} }
#if __cplusplus >= 201402L
#define BIG 1'000
#else
#define BIG 1000
#endif

__launch_bounds__(128) __global__ void front(float *a, int n, float s) BODY
__global__ LAUNCH(64) static void middle(float *a, int n, float s) BODY
extern "C" __global__ void
odd_name
( float * a
, int n
, float s
)
{
  for (int i = 0, j = n; i < j; ++i, --j) a[i] = a[j] + s; // two counters
  const char *text = R"x(
# 77 "nowhere.cu"
for (;;) { goto hell; }
)x";
  if (n == BIG) printf("%s {\n", text);
  switch (n) { case 1: for (int i = 0; i < 3; i++) a[i] = 1; break; case '{': a[0] = '"'; default: ; }
}
__global__ void arrays(float a[], float (*m)[4], int n, int (*f)(int), void *const p) { a[n] = m[n][2]; }
__global__ void attributes(__attribute__((unused)) int n, float *__restrict__ a) { a[0] = n; }
__global__ void unnamed(int, float *, int n) { if (n) return; }
__global__ void asmLabel(int *a, int n) { asm volatile("{\n\t.reg .pred p;\n\tLOOP: setp.ne.s32 p, %0, 0;\n\t}" ::"r"(n)); *a = n; }
__global__ void asmPlain(int *a, int n) { int r; asm("add.s32 %0, %1, %1;" : "=r"(r) : "r"(n)); asm volatile("st.shared::cta.u32 [%0], %1;" ::"r"(0), "r"(n)); *a = r; }
__global__ void statics(int *a, int n) { static int calls; calls += n; *a = calls; }
__global__ void constants(int *a, int n) { static constexpr int three = 3; const int powers[4] = {1, 2, 4, 8}; for (int i = 0; i < n; i++) a[i] = powers[i & 3] + three; }
__global__ void localType(int *a, int n) { struct L { int x; } l = {n}; *a = l.x; }
__global__ void lambda(int *a, int n) { auto f = [=](int x) { return x + n; }; *a = f(3); }
__global__ void halves(__half h, __half2 h2, float *a, int n) { for (int i = 0; i < n; i++) a[i] = __half2float(h) + __low2float(h2); }
__global__ void commas(int *a, int n) { for (int i = 0; i < n; i++) if (i & 1) a[i] = 1; else for (int j = 0; j < n; j++) a[j] = 2; }
__global__ void shadowed(int *a, int n) { { int n = 3; for (int i = 0; i < n; i++) a[i] = n; } for (int n = 0; n < 5; n++) a[n] += n; a[n] = n; }
#ifdef __CUDACC__
__global__ void
#else
void
#endif
conditional(int *a, int n) { for (int i = 0; i < n; i++) a[i] = __LINE__; }
class Holder {
  int secret;
 public:
  struct Inner { int v; };
  __device__ int get(int n) const { int s = secret; for (int i = 0; i < n; ++i) s += i * secret; return s; }
  explicit Holder(int x) : secret(x) {}
};
__global__ void object(Holder h, Holder::Inner in, int *a, int n) { *a = h.get(n) + in.v; }

int main() { middle<<<1, 1>>>(0, 1, 1.f); }
