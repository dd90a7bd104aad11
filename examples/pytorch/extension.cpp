// What Python sees of kernels.cu: three functions on contiguous float tensors.
#include <c10/cuda/CUDAException.h>
#include <c10/cuda/CUDAStream.h>
#include <torch/extension.h>

void launchCdist(const float *, const float *, float *, int, int, int, cudaStream_t);
void launchDepthwise(const float *, const float *, float *, int, int, int, cudaStream_t);
void launchNorm(const float *, float *, int, int, cudaStream_t);

static torch::Tensor cdist(torch::Tensor rows, torch::Tensor centres) {
    auto out = torch::empty({rows.size(0), centres.size(0)}, rows.options());
    launchCdist(rows.data_ptr<float>(), centres.data_ptr<float>(), out.data_ptr<float>(), rows.size(0),
                centres.size(0), rows.size(1), c10::cuda::getCurrentCUDAStream());
    C10_CUDA_KERNEL_LAUNCH_CHECK();
    return out;
}
static torch::Tensor depthwise(torch::Tensor rows, torch::Tensor taps) {
    auto out = torch::empty_like(rows);
    launchDepthwise(rows.data_ptr<float>(), taps.data_ptr<float>(), out.data_ptr<float>(), rows.size(0),
                    rows.size(1), taps.size(1), c10::cuda::getCurrentCUDAStream());
    C10_CUDA_KERNEL_LAUNCH_CHECK();
    return out;
}
static torch::Tensor norm(torch::Tensor rows) {
    auto out = torch::empty_like(rows);
    launchNorm(rows.data_ptr<float>(), out.data_ptr<float>(), rows.size(0), rows.size(1),
               c10::cuda::getCurrentCUDAStream());
    C10_CUDA_KERNEL_LAUNCH_CHECK();
    return out;
}
PYBIND11_MODULE(TORCH_EXTENSION_NAME, m) {
    m.def("cdist", &cdist).def("depthwise", &depthwise).def("norm", &norm);
}
