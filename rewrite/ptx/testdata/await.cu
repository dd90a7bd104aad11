// Kernels whose blocks wait for each other, and kernels that only look like it.

// Waits: a barrier over the grid, made by hand.
__device__ unsigned arrived;
extern "C" __global__ void wait_grid(float *x, unsigned blocks) {
  x[blockIdx.x * blockDim.x + threadIdx.x] += 1;
  __syncthreads();
  if (threadIdx.x == 0) {
    __threadfence();
    atomicAdd(&arrived, 1);
    while (*(volatile unsigned *)&arrived < blocks) {}
  }
  __syncthreads();
  x[blockIdx.x] *= 2;
}

// Waits: the same, polled by an addition of nothing.
extern "C" __global__ void wait_add0(float *x, unsigned blocks) {
  if (threadIdx.x == 0) {
    atomicAdd(&arrived, 1);
    while (atomicAdd(&arrived, 0) < blocks) {}
  }
  __syncthreads();
  x[blockIdx.x] *= 2;
}

// Waits: the block before this one hands over a sum.
extern "C" __global__ void wait_flag(volatile int *flag, volatile float *sum) {
  if (threadIdx.x == 0 && blockIdx.x > 0) {
    while (flag[blockIdx.x - 1] == 0) {}
    sum[blockIdx.x] += sum[blockIdx.x - 1];
    __threadfence();
    flag[blockIdx.x] = 1;
  }
}

// Waits, as far as can be told: a lock in global memory.
extern "C" __global__ void wait_lock(int *lock, volatile float *x) {
  bool done = false;
  while (!done) {
    if (atomicCAS(lock, 0, 1) == 0) {
      x[0] += threadIdx.x;
      __threadfence();
      atomicExch(lock, 0);
      done = true;
    }
  }
}

// Waits: plain loads behind a fence.
extern "C" __global__ void wait_fence(int *flag, float *x) {
  if (threadIdx.x == 0)
    while (flag[0] == 0) __threadfence();
  __syncthreads();
  x[blockIdx.x] = 1;
}

// Waits: in a function that is called.
__device__ __noinline__ int state(volatile int *flag, int i) { return flag[i]; }
extern "C" __global__ void wait_call(int *flag, float *x) {
  while (state(flag, blockIdx.x) == 0) {}
  x[blockIdx.x] = 1;
}

// Does not wait: a retry.
extern "C" __global__ void free_retry(int *most, const float *x, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  int old = *most;
  while (__int_as_float(old) < x[i]) {
    int seen = atomicCAS(most, old, __float_as_int(x[i]));
    if (seen == old) break;
    old = seen;
  }
}

// Does not wait: counting.
extern "C" __global__ void free_count(unsigned *bins, const unsigned char *x, int n) {
  for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x) atomicAdd(&bins[x[i]], 1u);
}

// Does not wait: blocks take work from a queue.
extern "C" __global__ void free_queue(int *next, float *x, int n) {
  for (int i = atomicAdd(next, 1); i < n; i = atomicAdd(next, 1)) x[i] = sqrtf(x[i]);
}

// Does not wait: the last block adds up.
extern "C" __global__ void free_last(float *sums, float *out, unsigned *count) {
  __shared__ bool last;
  if (threadIdx.x == 0) {
    __threadfence();
    last = atomicAdd(count, 1u) == gridDim.x - 1;
  }
  __syncthreads();
  if (last && threadIdx.x == 0) {
    float s = 0;
    for (unsigned i = 0; i < gridDim.x; i++) s += ((volatile float *)sums)[i];
    *out = s;
  }
}

// Does not wait: a search in a table.
extern "C" __global__ void free_search(const int *x, int *out, int n) {
  int i = 0;
  while (i < n && x[i] != (int)threadIdx.x) i++;
  out[threadIdx.x] = i;
}
