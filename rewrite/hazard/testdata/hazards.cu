// Kernels that hang or go wrong, each in one way, and beside each (with _right) what is right and looks like it. Words behind
// a semicolon mark the lines that hazard_test.go expects to be reported; of two that contradict each other the one that comes first
// in the PTX is the later one here.

#define PROLOGUE                                  \
    __shared__ int lock, other;                   \
    __shared__ int sum;                           \
    if (threadIdx.x == 0) lock = other = sum = 0; \
    __syncthreads();
#define EPILOGUE     \
    __syncthreads(); \
    out[threadIdx.x] = sum;
#define TAKE(p) while (atomicCAS(p, 0, 1) != 0)
#define FREE(p) atomicExch(p, 0)

extern "C" __global__ void own_right(int *out) {
    __shared__ int locks[256];
    PROLOGUE
    if (threadIdx.x % 32 == 0) { // one lane of a warp
        TAKE(&lock);
        __threadfence_block();
        sum += out[threadIdx.x];
        __threadfence_block();
        FREE(&lock);
    }
    bool done = false;
    while (!done) { // the release is inside
        if (atomicCAS(&other, 0, 1) == 0) {
            __threadfence_block();
            sum += out[threadIdx.x];
            __threadfence_block();
            FREE(&other);
            done = true;
        }
    }
    locks[threadIdx.x] = 0;
    __syncthreads();
    TAKE(&locks[threadIdx.x]); // one's own
    __threadfence_block();
    FREE(&locks[threadIdx.x]);
    EPILOGUE
}

extern "C" __global__ void held(int *out) {
    PROLOGUE
    if (threadIdx.x < 40) {
        bool done = false;
        while (!done) {
            if (atomicCAS(&lock, 0, 1) == 0) {
                __threadfence_block();
                sum += out[threadIdx.x];
                __syncthreads(); // held
                FREE(&lock);
                done = true;
            }
        }
    }
    EPILOGUE
}

extern "C" __global__ void held_right(int *out) {
    PROLOGUE
    if (threadIdx.x == 0) { // for the block as a whole
        TAKE(&lock);
        __threadfence_block();
    }
    __syncthreads();
    atomicAdd(&sum, out[threadIdx.x]);
    __syncthreads();
    if (threadIdx.x == 0) {
        __threadfence_block();
        FREE(&lock);
    }
    EPILOGUE
}

extern "C" __global__ void order(int *out) {
    PROLOGUE
    if (threadIdx.x == 0) {
        TAKE(&lock);
        TAKE(&other); // order
        __threadfence_block();
        sum += out[threadIdx.x];
        __threadfence_block();
        FREE(&other);
        FREE(&lock);
    } else if (threadIdx.x == 32) {
        TAKE(&other);
        TAKE(&lock);
        __threadfence_block();
        sum -= out[threadIdx.x];
        __threadfence_block();
        FREE(&lock);
        FREE(&other);
    }
    EPILOGUE
}

extern "C" __global__ void order_right(int *out) {
    __shared__ int locks[64];
    PROLOGUE
    if (threadIdx.x < 64) locks[threadIdx.x] = 0;
    __syncthreads();
    if (threadIdx.x % 32 == 0) {
        int a = out[threadIdx.x] & 63, b = out[threadIdx.x + 1] & 63;
        if (a > b) {
            int t = a;
            a = b, b = t;
        }
        if (a != b) {
            TAKE(&locks[a]);
            TAKE(&locks[b]);
            __threadfence_block();
            sum += a - b;
            __threadfence_block();
            FREE(&locks[b]);
            FREE(&locks[a]);
        }
        TAKE(&lock); // one after the other, not one in the other
        __threadfence_block();
        sum++;
        __threadfence_block();
        FREE(&lock);
        TAKE(&other);
        __threadfence_block();
        sum++;
        __threadfence_block();
        FREE(&other);
    }
    EPILOGUE
}

extern "C" __global__ void fence(int *out) {
    PROLOGUE
    if (threadIdx.x % 32 == 0) {
        TAKE(&lock);
        *(volatile int *)&sum += out[threadIdx.x];
        FREE(&lock); // fence
    }
    EPILOGUE
}

extern "C" __global__ void fence_right(int *out) {
    PROLOGUE
    if (threadIdx.x % 32 == 0) {
        TAKE(&lock);
        __threadfence_block();
        sum += out[threadIdx.x];
        __threadfence_block();
        FREE(&lock);
        TAKE(&other); // nothing is written but by atomics
        int x = atomicAdd(&sum, 1);
        FREE(&other);
        out[threadIdx.x] = x;
    }
    EPILOGUE
}

#if __CUDA_ARCH__ >= 700
extern "C" __global__ void fence_right_release(int *out) {
    PROLOGUE
    if (threadIdx.x % 32 == 0) {
        int old;
        do {
            asm volatile("atom.acquire.cta.cas.b32 %0, [%1], 0, 1;" : "=r"(old) : "l"(&lock) : "memory");
        } while (old != 0);
        sum += out[threadIdx.x];
        asm volatile("st.release.cta.b32 [%0], 0;" : : "l"(&lock) : "memory");
    }
    EPILOGUE
}
#endif

extern "C" __global__ void divided(int *out) {
    PROLOGUE
    if (threadIdx.x % 32 < 7) {
        atomicAdd(&sum, out[threadIdx.x]);
        __syncthreads(); // divided
        atomicAdd(&sum, out[threadIdx.x + 1]);
    }
    EPILOGUE
}

extern "C" __global__ void divided_right(int *out, int n) {
    PROLOGUE
    if (threadIdx.x >= n) return; // those that are gone are not waited for
    __syncthreads();
    if (n > 100) { // the same for all
        atomicAdd(&sum, 1);
        __syncthreads();
    }
    if (threadIdx.x < blockDim.x) { // always
        atomicAdd(&sum, 2);
        __syncthreads();
    }
    for (int s = blockDim.x / 2; s > 0; s >>= 1) {
        if (threadIdx.x < s) atomicAdd(&sum, s);
        __syncthreads();
    }
    for (int i = threadIdx.x; i < n; i += blockDim.x) { // right where n is a multiple
        atomicAdd(&sum, i);
        __syncthreads();
    }
    if (threadIdx.x < 32) { // half of the block each, at barriers of its own
        asm volatile("bar.sync 1, 32;" ::: "memory");
    } else {
        atomicAdd(&sum, 3);
    }
    EPILOGUE
}


template <int offset> __device__ void halve(int *array) { // as CloverLeaf sums
    if (offset > 16) __syncthreads();
    if (threadIdx.x < offset) {
        array[threadIdx.x] += array[threadIdx.x + offset];
        halve<offset / 2>(array); // divided
    }
}
template <> __device__ void halve<0>(int *array) {}

extern "C" __global__ void divided_halves(int *out) {
    __shared__ int one[256], two[256];
    one[threadIdx.x] = two[threadIdx.x] = out[threadIdx.x];
    halve<128>(one);
    halve<128>(two);
    if (threadIdx.x == 0) out[0] = one[0], out[1] = two[0];
}
