// What gnvcc's lever for spin loops is worth, and costs, for locks as people write them. Each kernel takes locks on shared memory;
// each checks that no update was lost. Times are of one launch, median of 5.
//
//	gnvcc -arch=sm_90 -O3 -o spin spin.cu && ./spin && gnvcc tune -levers spin -- ./spin && gnvcc report -v
//
// while_all, done_all, owner64 and acquire_all: all threads of a block want one lock (one loop with the critical section behind
// it, one with it inside, one of 64 bits, one with acquire and release). while_leader: one lane of each warp wants it. exch_bins:
// 16 locks, by exchange. two_locks: two of 8, in order.
#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <vector>

#include <cuda_runtime.h>

#define CUDA(call)                                                                        \
    do {                                                                                  \
        cudaError_t error_ = (call);                                                      \
        if (error_ != cudaSuccess) {                                                      \
            std::fprintf(stderr, "%s: %s\n", #call, cudaGetErrorString(error_));          \
            std::exit(1);                                                                 \
        }                                                                                 \
    } while (0)

#define BEGIN                      \
    __shared__ int sum;            \
    if (threadIdx.x == 0) sum = 0; \
    __syncthreads();
#define END          \
    __syncthreads(); \
    if (threadIdx.x == 0) out[blockIdx.x] = sum;

__device__ inline void add(int &value) { // the critical section
    __threadfence_block();
    value += 1;
    __threadfence_block();
}

__global__ void while_all(int *out, int n) {
    __shared__ int lock;
    if (threadIdx.x == 0) lock = 0;
    BEGIN
    for (int i = 0; i < n; i++) {
        while (atomicCAS(&lock, 0, 1) != 0);
        add(sum);
        atomicExch(&lock, 0);
    }
    END
}

__global__ void while_leader(int *out, int n) {
    __shared__ int lock;
    if (threadIdx.x == 0) lock = 0;
    BEGIN
    if (threadIdx.x % 32 == 0) {
        for (int i = 0; i < n * 32; i++) {
            while (atomicCAS(&lock, 0, 1) != 0);
            add(sum);
            atomicExch(&lock, 0);
        }
    }
    END
}

__global__ void done_all(int *out, int n) {
    __shared__ int lock;
    if (threadIdx.x == 0) lock = 0;
    BEGIN
    for (int i = 0; i < n; i++) {
        bool done = false;
        while (!done) {
            if (atomicCAS(&lock, 0, 1) == 0) {
                add(sum);
                atomicExch(&lock, 0);
                done = true;
            }
        }
    }
    END
}

__global__ void exch_bins(int *out, int n) {
    __shared__ int locks[16], bins[16];
    if (threadIdx.x < 16) locks[threadIdx.x] = bins[threadIdx.x] = 0;
    BEGIN
    for (int i = 0; i < n; i++) {
        int bin = (threadIdx.x * 7 + i * 5) & 15;
        bool done = false;
        do {
            if (atomicExch(&locks[bin], 1) == 0) {
                add(bins[bin]);
                atomicExch(&locks[bin], 0);
                done = true;
            }
        } while (!done);
    }
    __syncthreads();
    if (threadIdx.x < 16) atomicAdd(&sum, bins[threadIdx.x]);
    END
}

__global__ void owner64(int *out, int n) {
    __shared__ unsigned long long owner;
    if (threadIdx.x == 0) owner = ~0ull;
    BEGIN
    for (int i = 0; i < n; i++) {
        while (atomicCAS(&owner, ~0ull, static_cast<unsigned long long>(threadIdx.x)) != ~0ull);
        add(sum);
        atomicExch(&owner, ~0ull);
    }
    END
}

__global__ void acquire_all(int *out, int n) {
    __shared__ int lock;
    if (threadIdx.x == 0) lock = 0;
    BEGIN
    for (int i = 0; i < n; i++) {
        int old;
        do {
            asm volatile("atom.acquire.cta.cas.b32 %0, [%1], 0, 1;" : "=r"(old) : "l"(&lock) : "memory");
        } while (old != 0);
        sum += 1;
        asm volatile("st.release.cta.b32 [%0], 0;" ::"l"(&lock) : "memory");
    }
    END
}

__global__ void two_locks(int *out, int n) {
    __shared__ int locks[8], data[8];
    if (threadIdx.x < 8) locks[threadIdx.x] = data[threadIdx.x] = 0;
    BEGIN
    for (int i = 0; i < n; i++) {
        int a = (threadIdx.x * 5 + i * 3) & 7, b = (a + 1 + (threadIdx.x + i) % 7) & 7;
        int first = min(a, b), second = max(a, b);
        while (atomicCAS(&locks[first], 0, 1) != 0);
        while (atomicCAS(&locks[second], 0, 1) != 0);
        add(data[first]);
        atomicExch(&locks[second], 0);
        atomicExch(&locks[first], 0);
    }
    __syncthreads();
    if (threadIdx.x < 8) atomicAdd(&sum, data[threadIdx.x]);
    END
}

int main() {
    const int blocks = 1056, threads = 256, n = 20, launches = 7;
    int *out;
    CUDA(cudaMalloc(&out, blocks * sizeof(int)));
    cudaEvent_t begin, end;
    CUDA(cudaEventCreate(&begin));
    CUDA(cudaEventCreate(&end));
    bool right = true;
    struct {
        const char *name;
        void (*kernel)(int *, int);
    } all[] = {{"while_all", while_all}, {"while_leader", while_leader}, {"done_all", done_all}, {"exch_bins", exch_bins},
               {"owner64", owner64}, {"acquire_all", acquire_all}, {"two_locks", two_locks}};
    for (auto &k : all) {
        std::vector<float> times;
        for (int i = 0; i < launches; i++) {
            CUDA(cudaMemset(out, 0xff, blocks * sizeof(int)));
            CUDA(cudaEventRecord(begin));
            k.kernel<<<blocks, threads>>>(out, n);
            CUDA(cudaGetLastError());
            CUDA(cudaEventRecord(end));
            CUDA(cudaEventSynchronize(end));
            float ms = 0;
            CUDA(cudaEventElapsedTime(&ms, begin, end));
            if (i > 1) times.push_back(1000 * ms);
        }
        std::vector<int> sums(blocks);
        CUDA(cudaMemcpy(sums.data(), out, blocks * sizeof(int), cudaMemcpyDeviceToHost));
        bool good = std::all_of(sums.begin(), sums.end(), [&](int s) { return s == threads * n; });
        std::sort(times.begin(), times.end());
        std::printf("%-13s %10.1f us  %s\n", k.name, times[times.size() / 2], good ? "right" : "WRONG");
        right = right && good;
    }
    return right ? 0 : 1;
}
