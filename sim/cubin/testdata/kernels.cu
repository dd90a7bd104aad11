// Kernels whose facts sim/cubin's tests know.
#include <cstdio>
__device__ int table[100];
__device__ int start = 5;
__constant__ float weights[16];
__managed__ int managed = 3;
static __device__ int hidden[7];
struct Record { int a; double b; char c; };

__device__ __noinline__ int helper(int x) { return x * table[x & 7] + hidden[x & 3]; }

__global__ void plain(int n, float *p, Record s, char c) {
	int i = blockIdx.x * blockDim.x + threadIdx.x;
	if (i < n) p[i] = p[i] * 2 + s.a + s.b + c + managed;
}

__global__ __launch_bounds__(256, 2) void bounded(float *p) {
	__shared__ float t[512];
	t[threadIdx.x] = p[threadIdx.x];
	__syncthreads();
	p[threadIdx.x] = t[511 - threadIdx.x] * weights[threadIdx.x & 15];
}

__global__ void dynamic(float *p) {
	extern __shared__ float d[];
	d[threadIdx.x] = p[0];
	__syncthreads();
	p[1] = d[5];
	printf("%f\n", p[1]);
	p[2] = helper(start);
	start++;
}

__global__ void stack(float *p, int k) {
	float a[100];
	for (int i = 0; i < 100; i++) a[i] = p[i] * k;
	p[k] = a[(int)p[0]];
	a[k] = 3;
	p[k + 1] = a[k * 2];
}

__global__ void empty() {}
