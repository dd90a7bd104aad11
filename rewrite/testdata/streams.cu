// Loads through two pointers, for TestStreamsReal.
__global__ void rolled(const float *a, const float *b, float *c, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    float s = 0;
#pragma unroll 1
    for (int k = 0; k < n; k++) s += a[i * n + k] * b[k];
    c[i] = s;
}
__global__ void unrolled(const float *__restrict__ a, const float *__restrict__ b, float *c, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    float s = 0;
    for (int k = 0; k < n; k++) s += a[i * n + k] * b[k * n + i];
    c[i] = s;
}
__global__ void wide(const double *a, const double *b, double *c, long n) {
    long i = blockIdx.x * (long)blockDim.x + threadIdx.x;
    for (long k = i; k < n; k += gridDim.x * (long)blockDim.x) c[k] = a[k] + b[n - k];
}
