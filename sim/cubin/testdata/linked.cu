// Two files of one program (FILE_a or the other), for a device link: the callee needs more registers than the caller.
#ifdef FILE_a
__device__ float far(float x, float *p);
__global__ void caller(float *p) {
	__shared__ float t[128];
	t[threadIdx.x] = p[threadIdx.x];
	__syncthreads();
	p[threadIdx.x] = far(t[127 - threadIdx.x], p);
}
#else
__device__ float far(float x, float *p) {
	float v[64];
#pragma unroll
	for (int i = 0; i < 64; i++) v[i] = p[i * 7];
#pragma unroll
	for (int i = 0; i < 64; i++) p[i * 7] = v[63 - i] * x;
	return v[5];
}
#endif
