// Three kernels as PyTorch's users write them: their sizes are arguments, so that one build serves all. train.py
// launches each with the same few sizes, which gnvcc can fix, unroll by, or choose blocks for.
#include <cuda_runtime.h>

// The squared distance of each of n rows to each of k centres, of d numbers each.
__global__ void cdist(const float *__restrict__ rows, const float *__restrict__ centres, float *__restrict__ out,
                      int n, int k, int d) {
    int i = blockIdx.y * blockDim.y + threadIdx.y, j = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n || j >= k) return;
    float sum = 0;
    for (int p = 0; p < d; p++) {
        float difference = rows[i * d + p] - centres[j * d + p];
        sum += difference * difference;
    }
    out[i * k + j] = sum;
}

// Each row of d numbers filtered by its own taps, zero beyond its ends.
__global__ void depthwise(const float *__restrict__ rows, const float *__restrict__ taps, float *__restrict__ out,
                          int n, int d, int count) {
    int at = blockIdx.x * blockDim.x + threadIdx.x, i = at / d, p = at % d;
    if (i >= n) return;
    float sum = 0;
    for (int t = 0; t < count; t++) {
        int from = p + t - count / 2;
        if (from >= 0 && from < d) sum += taps[i * count + t] * rows[i * d + from];
    }
    out[at] = sum;
}

// Each row of d numbers divided by its length; a warp a row.
__global__ void norm(const float *__restrict__ rows, float *__restrict__ out, int n, int d) {
    int i = (blockIdx.x * blockDim.x + threadIdx.x) / 32, lane = threadIdx.x % 32;
    if (i >= n) return;
    float sum = 0;
    for (int p = lane; p < d; p += 32) sum += rows[i * d + p] * rows[i * d + p];
    for (int step = 16; step > 0; step /= 2) sum += __shfl_xor_sync(~0u, sum, step);
    for (int p = lane; p < d; p += 32) out[i * d + p] = rows[i * d + p] * rsqrtf(sum + 1e-12f);
}

void launchCdist(const float *rows, const float *centres, float *out, int n, int k, int d, cudaStream_t stream) {
    cdist<<<dim3((k + 31) / 32, (n + 7) / 8), dim3(32, 8), 0, stream>>>(rows, centres, out, n, k, d);
}
void launchDepthwise(const float *rows, const float *taps, float *out, int n, int d, int count, cudaStream_t stream) {
    depthwise<<<(n * d + 255) / 256, 256, 0, stream>>>(rows, taps, out, n, d, count);
}
void launchNorm(const float *rows, float *out, int n, int d, cudaStream_t stream) {
    norm<<<(n + 7) / 8, 256, 0, stream>>>(rows, out, n, d);
}
