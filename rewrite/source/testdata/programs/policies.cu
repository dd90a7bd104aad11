// Written as CUTLASS writes: a kernel is a template over an operator that has a Params, tiles are policies, loops carry pragmas by
// macro, shared memory is a union in an extern array, functions are device operators, and much is decided by if constexpr.
#include <type_traits>
#define POLICY_DEVICE __forceinline__ __device__
#define POLICY_HOST_DEVICE __forceinline__ __host__ __device__
#define POLICY_PRAGMA_UNROLL _Pragma("unroll")
#define POLICY_GLOBAL __global__ static

namespace policy {
namespace detail { template <int... N> struct Product; template <> struct Product<> { static constexpr int value = 1; }; template <int M, int... N> struct Product<M, N...> { static constexpr int value = M * Product<N...>::value; }; }
template <int M, int N, int K> struct Shape { static constexpr int kM = M, kN = N, kK = K, kMN = detail::Product<M, N>::value; };
enum class Layout : unsigned char { row, column };

template <typename Element_, int N> struct alignas(sizeof(Element_) * N) Array {
  using Element = Element_;
  static constexpr int kElements = N;
  Element storage[N];
  POLICY_HOST_DEVICE Element &operator[](int i) { return storage[i]; }
  POLICY_HOST_DEVICE Element const &operator[](int i) const { return storage[i]; }
  POLICY_DEVICE void clear() { POLICY_PRAGMA_UNROLL for (int i = 0; i < N; ++i) storage[i] = Element(0); }
};

template <typename Shape_, typename Element, Layout kLayout> class Iterator {
public:
  struct Params { int stride; long long increment; POLICY_HOST_DEVICE Params(int s = 0) : stride(s), increment(s * (kLayout == Layout::row ? 1 : Shape_::kK)) {} };
  using Fragment = Array<Element, 4>;
private:
  Element const *pointer_;
  Params const &params_;
public:
  POLICY_DEVICE Iterator(Params const &params, Element const *pointer, int thread) : pointer_(pointer + thread), params_(params) {}
  POLICY_DEVICE void load(Fragment &f) const {
    POLICY_PRAGMA_UNROLL
    for (int i = 0; i < Fragment::kElements; ++i) { if constexpr (kLayout == Layout::row) f[i] = pointer_[i * params_.stride]; else f[i] = pointer_[i]; }
  }
  POLICY_DEVICE Iterator &operator++() { pointer_ += params_.increment; return *this; }
};

template <typename Shape_, typename ElementA, typename ElementC, class Enable = void> struct Mma {
  template <typename A, typename B, typename C> POLICY_DEVICE void operator()(C &c, A const &a, B const &b) const {
    for (int m = 0; m < A::kElements; ++m) for (int n = 0; n < B::kElements; ++n) c[m * B::kElements + n] += ElementC(a[m]) * ElementC(b[n]);
  }
};

template <typename Mma_, typename IteratorA_, typename IteratorB_, typename Epilogue_> struct Gemm {
  using IteratorA = IteratorA_; using IteratorB = IteratorB_;
  struct Params { typename IteratorA::Params a; typename IteratorB::Params b; float const *pa; float const *pb; float *pd; int k; typename Epilogue_::Params epilogue; };
  union SharedStorage { float main[256]; typename Epilogue_::SharedStorage epilogue; };
  POLICY_DEVICE void operator()(Params const &params, SharedStorage &shared) {
    IteratorA a(params.a, params.pa, threadIdx.x); IteratorB b(params.b, params.pb, threadIdx.x);
    Array<float, 16> sum; sum.clear();
    typename IteratorA::Fragment fa; typename IteratorB::Fragment fb;
    for (int k = params.k; k > 0; --k) { a.load(fa); b.load(fb); ++a; ++b; Mma_{}(sum, fa, fb); }
    shared.main[threadIdx.x & 255] = sum[threadIdx.x & 15];
    __syncthreads();
    Epilogue_{}(params.epilogue, shared.main, params.pd);
  }
};

struct Linear {
  struct Params { float alpha, beta; };
  struct SharedStorage { float tile[64]; };
  POLICY_DEVICE void operator()(Params const &p, float const *tile, float *d) const {
    auto scale = [&](float x) -> float { return p.alpha * x + p.beta; };
    d[threadIdx.x] = scale(tile[threadIdx.x & 255]);
  }
};

template <typename Operator> POLICY_GLOBAL void __launch_bounds__(256, 2) Kernel(typename Operator::Params params) {
  extern __shared__ int SharedStorageBase[];
  typename Operator::SharedStorage *shared = reinterpret_cast<typename Operator::SharedStorage *>(SharedStorageBase);
  Operator op;
  op(params, *shared);
}

template <typename T, template <typename, int> class Container, typename = std::enable_if_t<std::is_floating_point_v<T>>>
__global__ void __launch_bounds__(128) reduce(T const *__restrict__ in, T *__restrict__ out, int n, [[maybe_unused]] int unused) {
  Container<T, 2> sum; sum.clear();
  for (int i = threadIdx.x; i < n; i += blockDim.x) { if constexpr (sizeof(T) == 8) sum[i & 1] += in[i]; else { sum[0] += in[i]; } }
  out[threadIdx.x] = sum[0] + sum[1];
}
}

using Gemm = policy::Gemm<policy::Mma<policy::Shape<16, 16, 8>, float, float>, policy::Iterator<policy::Shape<16, 16, 8>, float, policy::Layout::row>,
                          policy::Iterator<policy::Shape<16, 16, 8>, float, policy::Layout::column>, policy::Linear>;
template __global__ void policy::reduce<float, policy::Array>(float const *, float *, int, int);
template __global__ void policy::reduce<double, policy::Array>(double const *, double *, int, int);
int main() { policy::Kernel<Gemm><<<1, 256, sizeof(Gemm::SharedStorage)>>>(Gemm::Params{}); }
