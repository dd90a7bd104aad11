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

// Does not wait, and counts as if it did: blocks take work from a queue.
extern "C" __global__ void wait_queue(int *next, float *x, int n) {
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

// Waits: polled in nested loops by a swap that changes nothing, and whose comparand the outer loop reads.
extern "C" __global__ void wait_cas_nested(unsigned *count, const unsigned *targets, float *x, int rounds) {
  for (int r = 0; r < rounds; r++) {
    unsigned target = targets[r];
    __syncthreads();
    if (threadIdx.x == 0) {
      atomicAdd(count, 1u);
      while (atomicCAS(count, target, target) != target) {}
    }
    __syncthreads();
    x[blockIdx.x] += 1;
  }
}

// Waits: plain loads, beside a barrier.
extern "C" __global__ void wait_plain(unsigned *count, float *x, unsigned blocks) {
  if (threadIdx.x == 0) atomicAdd(count, 1u);
  while (*count < blocks) __syncthreads();
  x[blockIdx.x] *= 2;
}

// Waits: plain loads that asm keeps where they are.
extern "C" __global__ void wait_asm(unsigned *count, float *x, unsigned blocks) {
  if (threadIdx.x == 0) {
    atomicAdd(count, 1u);
    unsigned seen;
    do {
      asm volatile("ld.global.u32 %0, [%1];" : "=r"(seen) : "l"(count) : "memory");
    } while (seen < blocks);
  }
  __syncthreads();
  x[blockIdx.x] *= 2;
}

// Waits: the fence stands in a function that is called.
__device__ __noinline__ void order() { __threadfence(); }
extern "C" __global__ void wait_called_fence(unsigned *count, float *x, unsigned blocks) {
  if (threadIdx.x == 0) {
    atomicAdd(count, 1u);
    while (*count < blocks) order();
  }
  __syncthreads();
  x[blockIdx.x] *= 2;
}

// Waits: an addition of something that may be nothing.
extern "C" __global__ void wait_add_zero(unsigned *count, float *x, unsigned blocks, unsigned zero) {
  if (threadIdx.x == 0) {
    atomicAdd(count, 1u);
    while (atomicAdd(count, zero) < blocks) {}
  }
  __syncthreads();
  x[blockIdx.x] *= 2;
}

// Waits: one thread looks, and tells the block through shared memory.
extern "C" __global__ void wait_told(volatile int *flag, float *x) {
  __shared__ int ready;
  do {
    if (threadIdx.x == 0) ready = flag[blockIdx.x];
    __syncthreads();
  } while (ready == 0);
  x[blockIdx.x] = 1;
}

// Waits: the look decides which way the loop goes, and a counter when it ends.
extern "C" __global__ void wait_continue(volatile int *flag, float *x, int n) {
  int i = 0;
  while (true) {
    if (flag[i] == 0) continue;
    x[i] += 1;
    if (++i == n) break;
  }
}

// Waits: a semaphore, taken and given back.
extern "C" __global__ void wait_semaphore(int *free, volatile float *x) {
  while (atomicAdd(free, -1) <= 0) atomicAdd(free, 1);
  x[0] += 1;
  atomicAdd(free, 1);
}

// Waits: by calling itself.
__device__ __noinline__ int again(volatile int *flag, int depth) {
  return flag[blockIdx.x] != 0 ? depth : again(flag, depth + 1) + 1;
}
extern "C" __global__ void wait_recursion(int *flag, int *x) { x[blockIdx.x] = again(flag, 0); }

// Waits: sleeping between plain loads.
extern "C" __global__ void wait_sleep(unsigned *count, float *x, unsigned blocks) {
#if __CUDA_ARCH__ >= 700
  while (*count < blocks) __nanosleep(100);
#endif
  x[blockIdx.x] *= 2;
}

// Waits, as far as can be told: a call by pointer.
extern "C" __global__ void wait_pointer(void (**f)(float *), float *x) { f[threadIdx.x & 1](x); }

// Does not wait: rows whose length is read in every turn.
extern "C" __global__ void free_rows(const int *first, int *length, float *x, int rows) {
  for (int r = blockIdx.x; r < rows; r += gridDim.x)
    for (int i = threadIdx.x; i < length[r]; i += blockDim.x) {
      x[first[r] + i] += 1;
      __syncthreads();
    }
}

// Does not wait: an early end, beside barriers.
extern "C" __global__ void free_early(const int *x, int *out, int n) {
  int found = -1;
  for (int i = 0; i < n; i++) {
    __syncthreads();
    if (x[i] == (int)threadIdx.x) {
      found = i;
      break;
    }
  }
  out[threadIdx.x] = found;
}

// Does not wait: a breadth-first step.
extern "C" __global__ void free_step(const int *row, const int *column, int *level, int *next, int *count, int n, int now) {
  for (int v = blockIdx.x * blockDim.x + threadIdx.x; v < n; v += blockDim.x * gridDim.x)
    if (level[v] == now)
      for (int e = row[v]; e < row[v + 1]; e++)
        if (atomicCAS(&level[column[e]], -1, now + 1) == -1) next[atomicAdd(count, 1)] = column[e];
}

// Does not wait: a sum in double, as it is made without an instruction for that.
extern "C" __global__ void free_sum(unsigned long long *sum, const double *x, int n) {
  for (int i = threadIdx.x; i < n; i += blockDim.x) {
    unsigned long long old = *sum, assumed;
    do {
      assumed = old;
      old = atomicCAS(sum, assumed, (unsigned long long)__double_as_longlong(x[i] + __longlong_as_double((long long)assumed)));
    } while (assumed != old);
  }
}

// Does not wait: a binary search, and a list.
extern "C" __global__ void free_binary(const int *x, const int *next, int *out, int n) {
  int low = 0, high = n;
  while (low < high) {
    int middle = (low + high) / 2;
    if (x[middle] < (int)threadIdx.x) low = middle + 1;
    else high = middle;
  }
  for (int i = low; i >= 0; i = next[i]) out[threadIdx.x] += i;
}

// Does not wait: a tree of sums in shared memory.
extern "C" __global__ void free_tree(const float *x, float *out) {
  __shared__ float s[256];
  s[threadIdx.x] = x[blockIdx.x * blockDim.x + threadIdx.x];
  __syncthreads();
  for (unsigned k = blockDim.x / 2; k > 0; k >>= 1) {
    if (threadIdx.x < k && s[threadIdx.x + k] > s[threadIdx.x]) s[threadIdx.x] = s[threadIdx.x + k];
    __syncthreads();
  }
  if (threadIdx.x == 0) out[blockIdx.x] = s[0];
}

// Does not wait: by steps that are an argument.
extern "C" __global__ void free_steps(const int *x, int *out, int n, int step) {
  int most = -1;
  for (int i = blockIdx.x; i < n; i += step) {
    if (x[i] <= most) continue;
    __syncthreads();
    most = x[i];
    out[i] = most;
    __syncthreads();
  }
}

// Does not wait: candidates are struck off until none is left, or enough are found.
extern "C" __global__ void free_struck(int *left, float *sums, const float *x, int n, int most) {
  __shared__ float part[256];
  for (int found = 0; found < most; found++) {
    float s = 0;
    for (int i = threadIdx.x; i < n; i += 256)
      if (left[i]) s += x[i];
    part[threadIdx.x] = s;
    __syncthreads();
    float all = 0;
    for (int i = 0; i < 256; i++) all += part[i];
    if (all <= 0) break;
    if (threadIdx.x == 0) left[found] = 0, sums[found] = all;
    __syncthreads();
  }
}

// Waits: the flag is one that other blocks set.
extern "C" __global__ void wait_both(volatile int *stop, int *out, int n) {
  int i = 0;
  bool on = true;
  while (i < n && on) {
    on = *stop == 0;
    if (out[threadIdx.x] != 0) i++;
  }
  out[blockIdx.x] = i;
}
