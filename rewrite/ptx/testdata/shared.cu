// Static and dynamic shared memory, local arrays, switch, structures, dynamically indexed arrays.
struct alignas(32) double4_ { double x, y, z, w; };
extern __shared__ float dynamic[];
__global__ void reduce(const float *in, float *out) {
  __shared__ float tile[256];
  __shared__ double4_ wide[3];
  int t = threadIdx.x;
  tile[t] = in[blockIdx.x * 256 + t];
  if (t < 3) wide[t] = double4_{double(t), 1, 2, 3};
  __syncthreads();
  for (int s = 128; s; s >>= 1) { if (t < s) tile[t] += tile[t + s]; __syncthreads(); }
  if (!t) out[blockIdx.x] = tile[0] + wide[1].z;
}
__global__ void dyn(float *out, int n) { dynamic[threadIdx.x] = out[threadIdx.x]; __syncthreads(); out[threadIdx.x] = dynamic[n]; }
__global__ void local_array(int *x, int n) {
  int a[64];
  for (int i = 0; i < 64; i++) a[i] = x[i];
  for (int i = 0; i < n; i++) a[(i * 7) & 63] += a[i & 63];
  x[threadIdx.x] = a[n & 63];
}
__global__ void branches(int *x, float *y) {
  int t = threadIdx.x;
  switch (x[t]) {
  case 0: y[t] = 1; break;
  case 1: y[t] = y[t + 1] * 3; break;
  case 2: y[t] = sinf(y[t]); break;
  case 3: y[t] = y[t - 1]; break;
  case 4: y[t] = sqrtf(y[t]); break;
  case 5: y[t] += 8; break;
  case 6: x[t] = 8; break;
  case 7: y[t] = expf(y[t]); break;
  default: __nanosleep(100);
  }
}
__global__ void loops(float *x, const float *__restrict__ y, int n) {
  float s = 0;
#pragma unroll 1
  for (int i = threadIdx.x; i < n; i += blockDim.x) s += y[i] * y[i + 1];
  x[threadIdx.x] = s;
}
