// Templates, namespaces, overloads, specialisations, functors, lambdas.
#include <cstdio>
#include <type_traits>

struct Op { int k; __device__ int operator()(int x) const { int s = 0; for (int i = 0; i < k; i++) s += x; return s; } };
template <class T> struct Box { T v; typedef T type; };
namespace a {
namespace b {
struct In { int x; };
enum E { e0, e1 };
template <typename T, int N, bool B>
__global__ void __launch_bounds__(256) nested(const In *q, T *a, unsigned long long x, In y, T scale, E e)
{
  __shared__ T tmp[N * 32];
  if constexpr (B) { for (int i = 0; i < N; i++) tmp[i * 32 + threadIdx.x] = a[i] * scale; }
  else { tmp[threadIdx.x] = y.x; }
  __syncthreads();
  T acc = 0;
#pragma unroll 4
  for (unsigned long long i = 0; i < x; ++i) acc += tmp[i % (N * 32)];
  for (auto i = 0ull; i < x; ++i) { acc += tmp[(i * 7) % (N * 32)]; }
  a[0] = acc + q->x + (e == e1);
}
static __global__ void inner(int *a) { *a = 2; }
}
inline namespace v1 { __global__ void versioned(int *a, int n) { for (int i = 0; i < n; ++i) a[i] = 1; } }
}
namespace { __global__ void anon(int *a, int n) { for (int i = 0; i < n; ++i) a[i] = i; } }
namespace outer { namespace { namespace deep { template <class T> __global__ void anonT(T *a, T n) { for (T i = 0; i < n; ++i) a[(int)i] = i; } } } }
__global__ void over(int *a) { *a = 1; }
__global__ void over(float *a) { *a = 1; }
__global__ void over(int *a, int n) { *a = n; }
__global__ void over(unsigned n, int *a) { *a = n; }
template <typename... Ts> __global__ void pack(int *a, int n, Ts... ts) { for (int i = 0; i < n; i++) a[i] = sizeof...(ts); }
template <typename T> __global__ typename std::enable_if<(sizeof(T) > 3), void>::type enabled(T *a, long b) { *a = b; }
template <typename F> __global__ void apply(F f, int *a, int n) { for (int i = 0; i < n; i++) a[i] = f(i); }
template <typename T> __global__ void spec(T *a, int n) { *a = n; }
template <> __global__ void spec<double>(double *a, int n) { *a = n * 7; }
template __global__ void spec<short>(short *, int);
template __global__ void a::b::nested<char, 7, true>(const a::b::In *, char *, unsigned long long, a::b::In, char, a::b::E);
__global__ auto trailing(int *a, int n) -> void { *a = n; }
extern "C" { __global__ void linked(int *a, int n) { *a = n; } static __global__ void linkedStatic(int *a) { *a = 1; } }
template <class T> __global__ void boxed(T t, Box<T> b, typename Box<T>::type u, T *out) { *out = t + b.v + u; }
template <class T, class U = typename std::conditional<(sizeof(T) > 4), long, int>::type>
__global__ void dependent(T *a, U n, const T *__restrict__ b) { for (U i = 0; i < n; ++i) a[i] = b[i]; }

int main()
{
  a::b::nested<float, 3, true><<<1, 1>>>(nullptr, nullptr, 1, a::b::In{}, 1.f, a::b::e0);
  a::b::nested<double, 2, false><<<1, 1>>>(nullptr, nullptr, 1, a::b::In{}, 1., a::b::e0);
  a::b::inner<<<1, 1>>>(0);
  anon<<<1, 1>>>(0, 1);
  outer::deep::anonT<float><<<1, 1>>>(0, 1.f);
  pack<<<1, 1>>>(0, 1, 1, 2.f, Op{});
  pack<<<1, 1>>>(0, 1);
  enabled<int><<<1, 1>>>(0, 1L);
  apply<<<1, 1>>>(Op{3}, (int *)0, 3);
  apply<<<1, 1>>>([=] __device__(int x) { return x + 1; }, (int *)0, 3);
  spec<float><<<1, 1>>>(0, 1);
  spec<double><<<1, 1>>>(0, 1);
  linkedStatic<<<1, 1>>>(0);
  boxed<float><<<1, 1>>>(1.f, {}, 1.f, 0);
  boxed<unsigned char><<<1, 1>>>(1, {}, 1, 0);
  dependent<float><<<1, 1>>>(0, 1, 0);
  dependent<double><<<1, 1>>>(0, 1, 0);
}
