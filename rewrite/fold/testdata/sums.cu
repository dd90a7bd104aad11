// Kernels whose sums a variant would contract in another way (no_: with all scalars and blockDim.x fixed), and others.

__global__ void no_constant(float *o, const float *d, float x, float y) { o[threadIdx.x] = x * y + d[threadIdx.x]; }
__global__ void no_counted(float *o, const float *d, int n) { o[threadIdx.x] = (float)n * 0.1f + d[threadIdx.x]; }
__global__ void no_difference(float *o, const float *d, float x, float y) { o[threadIdx.x] = x * y - d[0] * d[threadIdx.x]; }
__global__ void no_double(double *o, const double *d, double x, double y) { o[threadIdx.x] = d[threadIdx.x] - x * y; }
__global__ void no_one(float *o, const float *a, const float *b, float s) { o[threadIdx.x] += a[threadIdx.x] * b[threadIdx.x] * s; }
__global__ void no_nothing(float *o, const float *a, float z) { o[threadIdx.x] += a[threadIdx.x] * a[0] - z; }
__global__ void no_half(float *o, const float *d, float y) { o[threadIdx.x] += d[threadIdx.x] / y; }
__global__ void no_branch(float *o, const float *d, int n) {
    float t = d[threadIdx.x] * d[0];
    if (n & 1) t = -d[threadIdx.x];
    o[threadIdx.x] += t;
}
__global__ void no_meeting(float *o, const float *d, int n) {
    float t = d[threadIdx.x] * d[0];
    if (n > 3) {
        o[threadIdx.x + 1024] = t;
        __syncthreads();
    }
    o[threadIdx.x] += t;
}
__global__ void no_power(float *o, const float *d, int n) {
    float p = d[threadIdx.x];
    for (int k = 0; k < n; k++) p *= d[k];
    o[threadIdx.x] += p;
}
__global__ void no_loop(float *o, const float *d, int n) {
    float s = d[threadIdx.x];
    for (int k = 0; k < n; k++) s = s * d[k] + (float)k * 0.3f;
    o[threadIdx.x] = s;
}
__global__ void no_equal(float *o, const float *a, const float *b, float s) {
    float v = o[threadIdx.x];
    if (v == s) o[threadIdx.x + 64] = a[threadIdx.x] * b[threadIdx.x] * v + o[0];
}
__global__ void no_either(float *o, const float *a, const float *b, int n) {
    float v = a[threadIdx.x], w = b[threadIdx.x];
    if (v == 1.7f && w == 3.3f || n > 2) o[threadIdx.x] += v * w;
}

__global__ void saxpy(float *o, const float *d, float a, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) o[i] = a * d[i] + o[i];
}
__global__ void dot(float *o, const float *a, const float *b, int n) {
    float s = 0;
    for (int k = 0; k < n; k++) s += a[k] * b[k];
    o[threadIdx.x] = s;
}
__global__ void wave(float *o, const float *d, int n, float a) {
    float s = 0;
    for (int k = 0; k < n; k++) s += sinf(d[k] * (a + threadIdx.x));
    o[threadIdx.x] = s;
}
__global__ void rounded(float *o, const float *d, float x, float y) { o[threadIdx.x] = __fmul_rn(x, y) + d[threadIdx.x]; }
__global__ void product(float *o, const float *d, float x, float y) { o[threadIdx.x] = x * y * d[threadIdx.x]; }
__global__ void whole(int *o, const int *d, int x, int y) { o[threadIdx.x] = x * y + d[threadIdx.x]; }

// Times 1 the first product is none, and the second one is contracted, which is rounded now.
__global__ void no_other(float *o, const float *d, float p) {
    int t = threadIdx.x;
    o[t] = d[t] * p + d[t + 32] * d[t + 64];
}
__global__ void other(float *o, const float *d, float p, int n) {
    int t = threadIdx.x;
    o[t] = d[t] * d[t + 96] + d[t + 32] * d[t + 64] + (n > 3 ? d[0] : d[1]);
}
// Where the branch is known to be the order's, what is cut from the number is a constant.
__global__ void no_least(float *o, const float *d, const int *e, int n) {
    int k = e[threadIdx.x];
    if (k < 3 || n > 100) o[threadIdx.x] = (float)max(k, 7) * 0.1f + d[threadIdx.x];
}
__global__ void no_most(float *o, const float *d, const int *e, int n) {
    int k = e[threadIdx.x];
    if (k > 5 || n > 100) o[threadIdx.x] = (float)(min(k, -7) + 1) * 0.1f + d[threadIdx.x];
}
__global__ void no_difference(float *o, const float *d, const int *e, int n) {
    int k = e[threadIdx.x];
    if (k < 0 || n > 100) o[threadIdx.x] = (float)(abs(k) + k + 7) * 0.1f + d[threadIdx.x];
}
__global__ void no_sign(float *o, const float *d, const int *e, int n) {
    int k = e[threadIdx.x];
    if (k < -5 || n > 100) o[threadIdx.x] = (float)((k < 0) * 7) * 0.1f + d[threadIdx.x];
}
__global__ void least(float *o, const float *d, const int *e, int n) {
    int k = e[threadIdx.x];
    if (n > 100) o[threadIdx.x] = (float)max(k, 7) * 0.1f + d[threadIdx.x];
}

// With nothing fixed: behind the loop nobody knows more than the kernel, in it the first round is distinguished from the others.
__global__ void unrolled_behind(float *o, const float *a, const float *b, int n) {
    float s = 0, t = 0;
    for (int k = 0; k < n; k++) s += a[k] * b[k], t += b[k];
    s = s / t;
    s = s * s;
    o[threadIdx.x] = 0.25f * s + 0.5f;
}
__global__ void unrolled_no_power(float *o, const float *d, int n) {
    float p = d[threadIdx.x];
    for (int k = 0; k < n; k++) p *= d[k];
    o[threadIdx.x] += p;
}
__global__ void unrolled_no_perhaps(float *o, const float *d, int n) {
    float x = 0.3f, s = 0;
    for (int k = 0; k < n; k++) {
        s += d[k];
        if (k == 5) x = d[k + n];
    }
    o[threadIdx.x] = x * 0.7f + s;
}
__global__ void unrolled_no_inside(float *o, const float *d, int n) {
    float x = 0.3f, s = 0;
    for (int k = 0; k < n; k++) s += 0.7f * x, x = d[k];
    o[threadIdx.x] = s;
}
__global__ void unrolled_no_counter(float *o, const float *d, int n) {
    float s = 0;
    for (int k = 0; k < n; k++)
        if (d[k] > 0) s = (float)k;
    o[threadIdx.x] = s * 0.1f + d[n];
}
__global__ void positive(float *o, const float *a, const float *b, float s) {
    float v = a[threadIdx.x];
    if (v > 0 && v != b[threadIdx.x]) o[threadIdx.x] = v * b[threadIdx.x] + s;
}

// Numbers of the code of which a variant knows which one it is.
__global__ void no_chosen(float *o, const float *a, const float *b, int n) {
    float y = n > 2 ? 1.f : -1.f;
    o[threadIdx.x] = a[threadIdx.x] * b[threadIdx.x] * y + b[0];
}
__global__ void no_weight(float *o, const float *a, const float *b, int n) {
    float y = 1, s = b[threadIdx.x];
    for (int k = 0; k < n; k++) {
        s += a[k] * b[k] * y;
        y = -y;
    }
    o[threadIdx.x] = s;
}
__global__ void no_below(float *o, const float *a, const float *b, int n) {
    float y = n > 2 ? -0.f : 1.f;
    o[threadIdx.x] = (a[threadIdx.x] * b[threadIdx.x] + y) + b[0];
}
__global__ void no_quotient(float *o, const float *a, const float *b, int n) {
    float y = n > 2 ? 0.5f : 3.f;
    o[threadIdx.x] = a[threadIdx.x] / y + b[threadIdx.x];
}
__global__ void no_upper(double *o, double x) { o[0] = __hiloint2double(__double2hiint(x), 0) * 1.3 + 0.7; }
