#include <torch/library.h>
#include <torch/types.h>

template <typename T>
__global__ void axpyKernel(const T *__restrict__ x, T *__restrict__ y, T a, long n) {
  for (long i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x) y[i] += a * x[i];
}

void axpy(const torch::Tensor &x, torch::Tensor y, double a) {
  AT_DISPATCH_FLOATING_TYPES(x.scalar_type(), "axpy", [&] {
    axpyKernel<scalar_t><<<64, 256>>>(x.data_ptr<scalar_t>(), y.data_ptr<scalar_t>(), static_cast<scalar_t>(a), x.numel());
  });
}

TORCH_LIBRARY(gnvcc_example, m) { m.def("axpy(Tensor x, Tensor(a!) y, float a) -> ()"); }
TORCH_LIBRARY_IMPL(gnvcc_example, CUDA, m) { m.impl("axpy", &axpy); }
