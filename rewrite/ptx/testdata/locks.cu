// Locks as people write them, and what looks like one and is none. spin_test.go knows what must be found in each.

#define PROLOGUE                                     \
    __shared__ int lock;                             \
    __shared__ int sum;                              \
    if (threadIdx.x == 0) lock = 0, sum = 0;         \
    __syncthreads();
#define EPILOGUE     \
    __syncthreads(); \
    out[threadIdx.x] = sum;

extern "C" __global__ void while_cas(int *out) {
    PROLOGUE
    if (threadIdx.x % 32 == 0) {
        while (atomicCAS(&lock, 0, 1) != 0);
        __threadfence_block();
        sum += out[threadIdx.x];
        __threadfence_block();
        atomicExch(&lock, 0);
    }
    EPILOGUE
}

extern "C" __global__ void done_flag(int *out) {
    PROLOGUE
    bool done = false;
    do {
        if (atomicCAS(&lock, 0, 1) == 0) {
            __threadfence_block();
            sum += out[threadIdx.x];
            __threadfence_block();
            atomicExch(&lock, 0);
            done = true;
        }
    } while (!done);
    EPILOGUE
}

extern "C" __global__ void break_out(int *out, int n) { // in a loop of its own, with the critical section inside
    PROLOGUE
    for (int i = 0; i < n; i++) {
        for (;;) {
            if (atomicCAS(&lock, 0, 1) == 0) {
                __threadfence_block();
                for (int k = 0; k < i; k++) sum += out[k];
                __threadfence_block();
                atomicExch(&lock, 0);
                break;
            }
        }
    }
    EPILOGUE
}

extern "C" __global__ void exchange(int *out) {
    __shared__ int locks[32];
    PROLOGUE
    if (threadIdx.x < 32) locks[threadIdx.x] = 0;
    __syncthreads();
    int bin = out[threadIdx.x] & 31;
    bool leave = false;
    do {
        if (atomicExch(&locks[bin], 1) == 0) {
            __threadfence_block();
            sum += bin;
            __threadfence_block();
            atomicExch(&locks[bin], 0);
            leave = true;
        }
    } while (!leave);
    EPILOGUE
}

extern "C" __global__ void owner(unsigned long long *out) { // 64 bits, and the owner's number is what is stored
    __shared__ unsigned long long lock, sum;
    if (threadIdx.x == 0) lock = ~0ull, sum = 0;
    __syncthreads();
    while (atomicCAS(&lock, ~0ull, (unsigned long long)threadIdx.x) != ~0ull);
    __threadfence_block();
    sum += out[threadIdx.x];
    __threadfence_block();
    atomicExch(&lock, ~0ull);
    __syncthreads();
    out[threadIdx.x] = sum;
}

extern "C" __global__ void two_locks(int *out, int n) {
    __shared__ int locks[64], data[64];
    if (threadIdx.x < 64) locks[threadIdx.x] = 0, data[threadIdx.x] = 0;
    __syncthreads();
    int a = out[threadIdx.x] & 63, b = out[threadIdx.x + n] & 63;
    int first = min(a, b), second = max(a, b);
    if (first != second) {
        while (atomicCAS(&locks[first], 0, 1) != 0);
        while (atomicCAS(&locks[second], 0, 1) != 0);
        __threadfence_block();
        int t = data[a];
        data[a] = data[b] + 1;
        data[b] = t;
        __threadfence_block();
        atomicExch(&locks[second], 0);
        atomicExch(&locks[first], 0);
    }
    __syncthreads();
    out[threadIdx.x] = data[threadIdx.x & 63];
}

extern "C" __global__ void looks_first(int *out) {
    PROLOGUE
    do {
        while (*(volatile int *)&lock != 0);
    } while (atomicCAS(&lock, 0, 1) != 0);
    __threadfence_block();
    sum += out[threadIdx.x];
    __threadfence_block();
    atomicExch(&lock, 0);
    EPILOGUE
}

#if __CUDA_ARCH__ >= 700
extern "C" __global__ void sleeps(int *out) {
    PROLOGUE
    unsigned ns = 8;
    while (atomicCAS(&lock, 0, 1) != 0) {
        __nanosleep(ns);
        if (ns < 256) ns *= 2;
    }
    __threadfence_block();
    sum += out[threadIdx.x];
    __threadfence_block();
    atomicExch(&lock, 0);
    EPILOGUE
}

// The address is generic, and asm takes it so; the order is acquire and release.
extern "C" __global__ void generic_acquire(int *out) {
    PROLOGUE
    int old;
    do {
        asm volatile("atom.acquire.cta.cas.b32 %0, [%1], 0, 1;" : "=r"(old) : "l"(&lock) : "memory");
    } while (old != 0);
    sum += out[threadIdx.x];
    asm volatile("st.release.cta.b32 [%0], 0;" : : "l"(&lock) : "memory");
    EPILOGUE
}
#endif

// From here on: no spin loop on shared memory.

extern "C" __global__ void none_global(int *out, int *lock) {
    while (atomicCAS(lock, 0, 1) != 0);
    __threadfence();
    out[0] += threadIdx.x;
    __threadfence();
    atomicExch(lock, 0);
}

extern "C" __global__ void none_maximum(float *out) { // the usual loop around a swap: it has read what it expects
    __shared__ int bits;
    if (threadIdx.x == 0) bits = 0;
    __syncthreads();
    int old = bits, expected;
    do {
        expected = old;
        old = atomicCAS(&bits, expected, __float_as_int(fmaxf(out[threadIdx.x], __int_as_float(expected))));
    } while (old != expected);
    __syncthreads();
    out[threadIdx.x] = __int_as_float(bits);
}

extern "C" __global__ void none_probing(int *out) { // goes on to the next slot of a table
    __shared__ int table[256];
    table[threadIdx.x & 255] = -1;
    __syncthreads();
    int key = out[threadIdx.x], slot = key & 255;
    while (true) {
        int old = atomicCAS(&table[slot], -1, key);
        if (old == -1 || old == key) break;
        slot = (slot + 1) & 255;
    }
    __syncthreads();
    out[threadIdx.x] = table[threadIdx.x & 255];
}

extern "C" __global__ void none_bounded(int *out) { // gives up
    PROLOGUE
    for (int tries = 0; tries < 100; tries++) {
        if (atomicCAS(&lock, 0, 1) == 0) {
            __threadfence_block();
            sum += out[threadIdx.x];
            __threadfence_block();
            atomicExch(&lock, 0);
            break;
        }
    }
    EPILOGUE
}

extern "C" __global__ void none_counting(int *out) { // counts its failures where others see it
    __shared__ int failures;
    PROLOGUE
    while (atomicCAS(&lock, 0, 1) != 0) atomicAdd(&failures, 1);
    __threadfence_block();
    sum += out[threadIdx.x];
    __threadfence_block();
    atomicExch(&lock, 0);
    EPILOGUE
}

extern "C" __global__ void none_once(int *out) { // tries once
    PROLOGUE
    if (atomicCAS(&lock, 0, 1) == 0) sum = out[threadIdx.x];
    EPILOGUE
}
