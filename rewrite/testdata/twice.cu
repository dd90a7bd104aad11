// What a body may hold that is to stand twice: jump tables, calls with their parameters, local arrays, shared memory,
// barriers, labels of inline assembly, early ends.
__device__ __noinline__ float helper(float x, int n) {
    float b[16];
    for (int i = 0; i < 16; i++) b[i] = x * i;
    return b[n & 15] / x;
}
__device__ float third(float x) { return x / 3; }
__device__ float root(float x) { return sqrtf(x); }

extern "C" __global__ void much(float *a, int n) {
    int i = threadIdx.x;
    float x = a[i];
    switch (n) {
    case 0: x = x / 7; break;
    case 1: x = x * 3 + 1 / x; break;
    case 2: x = sqrtf(x); break;
    case 3: x = 1 / sqrtf(x); break;
    case 4: x = x - a[i + 1]; break;
    case 5: x = helper(x, n); break;
    case 6: x = a[n] > 0 ? third(x) : root(x); break;
    case 7: x = x / a[i + 3]; break;
    case 8: x = expf(x); break;
    }
    __shared__ float s[64];
    s[i & 63] = x;
    __syncthreads();
    float mine[32];
    for (int k = 0; k < 32; k++) mine[k] = s[(k + i) & 63];
    asm volatile("{ .reg .pred p; setp.gt.f32 p, %0, 0f00000000; @p bra done; mul.f32 %0, %0, 0f40000000; done: }" : "+f"(x));
    a[i] = x + mine[n & 31];
    a[i + 64] = __shfl_xor_sync(~0u, x, 1) / x;
}

extern "C" __global__ void early(double *a, int n) {
    int i = threadIdx.x;
    if (i >= n) return;
    for (int k = 0; k < n; k++) {
        if (a[k] < 0) continue;
        a[i] = a[i] / (1 + sqrt(a[k]));
        if (a[i] > 1e3) break;
    }
}
