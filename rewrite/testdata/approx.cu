// Every instruction that approx knows, one kernel each; the order of the kernels is the test's.
extern "C" {
__global__ void div32(float *a) { a[threadIdx.x] = a[threadIdx.x] / a[threadIdx.x + 64]; }
__global__ void rcp32(float *a) { a[threadIdx.x] = 1 / a[threadIdx.x]; }
__global__ void sqrt32(float *a) { a[threadIdx.x] = sqrtf(a[threadIdx.x]); }
__global__ void rsqrt32(float *a) { a[threadIdx.x] = 1 / sqrtf(a[threadIdx.x]); }
__global__ void div64(double *a) { a[threadIdx.x] = a[threadIdx.x] / a[threadIdx.x + 64]; }
__global__ void rcp64(double *a) { a[threadIdx.x] = 1 / a[threadIdx.x]; }
__global__ void sqrt64(double *a) { a[threadIdx.x] = sqrt(a[threadIdx.x]); }
__global__ void rsqrt64(double *a) { a[threadIdx.x] = 1 / sqrt(a[threadIdx.x]); }
}
