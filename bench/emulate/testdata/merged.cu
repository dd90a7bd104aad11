// Sums of two lines that the compiler makes one, since their operands are the same values. nvcc's
// own build contracts the sum of the one line with its product, and not that of the other: which
// of the two lines a merged instruction stands for matters, and its .loc does not tell.

// In a copy for n the first turn's sum and s are one instruction. nvcc's own contracts s.
__global__ void before(const float *x, const float *p, float *out, float b, int n)
{
	int t = blockIdx.x * blockDim.x + threadIdx.x;
	float s = x[t] * b + p[t];
	float r = 0;
	for (int i = 0; i < n; i++) {
		float m = x[t + 32 * i] * b;
		r += (m + p[t + 32 * i]) * m;
	}
	out[2 * t] = s;
	out[2 * t + 1] = r;
}

// The same, and each sum goes, in nvcc's own too, where the other one goes.
__global__ void either(const float *x, const float *p, float *out, float b, int flag, int n)
{
	int t = blockIdx.x * blockDim.x + threadIdx.x;
	float s = x[t] * b + p[t];
	float r = 0;
	for (int i = 0; i < n; i++) {
		float m = x[t + 32 * i] * b;
		float q = m + p[t + 32 * i];
		r += (flag ? s : q) * m;
	}
	out[t] = r;
}

// nvcc's own build unrolls the loop, and merges; with unroll=1 nothing is merged any more. Each line
// says one thing in it: s is rounded by itself, q contracted.
__global__ void own(const float *x, const float *p, float *out, float b, int flag)
{
	int t = blockIdx.x * blockDim.x + threadIdx.x;
	float m = x[t] * b;
	float s = m + p[t];
	float r = 0;
	for (int i = 0; i < 8; i++) {
		float q = x[t + 32 * i] * b + p[t + 32 * i];
		r += (flag ? s : q) * p[t + i];
	}
	out[t] = r;
	out[t + 4096] = m * s;
}

// No sum has a twin.
__global__ void none(const float *x, const float *p, float *out, float b, int n)
{
	int t = blockIdx.x * blockDim.x + threadIdx.x;
	float r = 0;
	for (int i = 0; i < n; i++) {
		float m = x[t + 32 * i] * b;
		r += (m + p[t + 32 * i]) * m;
	}
	out[t] = r;
}
