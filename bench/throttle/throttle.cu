// What keeps blocks off a multiprocessor, and what that is worth. Prints two tables.
//
//	nvcc -arch=sm_90 -O3 -o throttle throttle.cu && ./throttle
//
// 1. How many blocks are resident, counted by the blocks themselves, under preferences for the size of the shared memory and
//    sizes of dynamic shared memory; beside it, in parentheses, what cudaOccupancyMaxActiveBlocksPerMultiprocessor says.
//    (A thread of each block waits; the other warps have ended, so that warps and registers limit nothing.)
// 2. examples/quantile's kernel, with 2 to 16 KB a warp: bypassing by threshold, and throttling in two ways: within the smallest
//    carveout that does it (sim/throttle.go), and by filling all of the shared memory, as one would where L1 had a size of its own.
//    Speed-ups over the kernel as it is.
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

__global__ void resident(int *now, int *most, long long clocks) {
    unsigned sm;
    asm volatile("mov.u32 %0, %%smid;" : "=r"(sm));
    if (threadIdx.x == 0) {
        atomicMax(&most[sm], atomicAdd(&now[sm], 1) + 1);
        long long begin = clock64();
        while (clock64() - begin < clocks) {}
        atomicSub(&now[sm], 1);
    }
}

enum { asItIs, past, byWarp };

template <int how> __device__ float4 load(const float4 *p, bool cached) {
    if (how == asItIs) return *p;
    float4 v;
    if (how == past)
        asm volatile("ld.global.L1::no_allocate.v4.f32 {%0,%1,%2,%3}, [%4];" : "=f"(v.x), "=f"(v.y), "=f"(v.z), "=f"(v.w) : "l"(p));
    else
        asm volatile("{ .reg .pred p; setp.ne.u32 p, %5, 0; @p ld.global.v4.f32 {%0,%1,%2,%3}, [%4]; "
                     "@!p ld.global.L1::no_allocate.v4.f32 {%0,%1,%2,%3}, [%4]; }"
                     : "=f"(v.x), "=f"(v.y), "=f"(v.z), "=f"(v.w) : "l"(p), "r"((unsigned)cached));
    return v;
}

template <int how> __global__ void median(const float4 *__restrict__ series, float *out, int n, int warps) {
    int warp = (blockIdx.x * blockDim.x + threadIdx.x) / 32, lane = threadIdx.x % 32;
    bool cached = static_cast<int>(threadIdx.x / 32) < warps;
    const float4 *mine = series + static_cast<size_t>(warp) * (n / 4);
    float low = 0, high = 1;
    for (int s = 0; s < 24; s++) {
        float middle = 0.5f * (low + high);
        int below = 0;
        for (int i = lane; i < n / 4; i += 32) {
            float4 v = load<how>(mine + i, cached);
            below += (v.x < middle) + (v.y < middle) + (v.z < middle) + (v.w < middle);
        }
        for (int d = 16; d > 0; d /= 2) below += __shfl_xor_sync(~0u, below, d);
        if (2 * below < n) low = middle;
        else high = middle;
    }
    if (lane == 0) out[warp] = low;
}

__global__ void fill(float *p, size_t n) {
    for (size_t i = blockIdx.x * static_cast<size_t>(blockDim.x) + threadIdx.x; i < n; i += static_cast<size_t>(gridDim.x) * blockDim.x) {
        unsigned x = static_cast<unsigned>(i) * 0x9e3779b9u;
        x = (x ^ (x >> 15)) * 0x846ca68bu;
        p[i] = ((x ^ (x >> 16)) >> 8) * (1.0f / 16777216.0f);
    }
}

static float *series, *out;
const int count = 1 << 14, kb = 1024, reserved = 1024, unit = 128;

template <class Kernel> double timed(Kernel k, int block, int n, int warps, int dynamic) {
    cudaEvent_t start, stop;
    CUDA(cudaEventCreate(&start));
    CUDA(cudaEventCreate(&stop));
    std::vector<float> times;
    for (int i = 0; i < 9; i++) {
        CUDA(cudaEventRecord(start));
        k<<<count / (block / 32), block, dynamic>>>(reinterpret_cast<const float4 *>(series), out, n, warps);
        CUDA(cudaGetLastError());
        CUDA(cudaEventRecord(stop));
        CUDA(cudaEventSynchronize(stop));
        float ms;
        CUDA(cudaEventElapsedTime(&ms, start, stop));
        if (i > 1) times.push_back(ms * 1000);
    }
    std::sort(times.begin(), times.end());
    return times[times.size() / 2];
}

// reserve is sim/throttle.go's, for sm_90.
static bool reserve(int blocks, int *dynamic, int *percent) {
    *percent = 0;
    for (int size : {8 * kb, 16 * kb, 32 * kb, 64 * kb, 100 * kb, 132 * kb, 164 * kb, 196 * kb, 228 * kb}) {
        int each = size / blocks / unit * unit, preferred = 228 * kb * *percent / 100;
        *dynamic = each - reserved;
        if (*dynamic > 0 && each * (blocks + 1) > size && std::max(preferred, preferred / *dynamic * each) <= size) return true;
        *percent = size * 100 / (228 * kb) + 1;
    }
    return false;
}

int main() {
    cudaDeviceProp p;
    CUDA(cudaGetDeviceProperties(&p, 0));
    std::printf("%s: %zu bytes of shared memory on a multiprocessor, %zu of each block's reserved\n\n", p.name, p.sharedMemPerMultiprocessor, p.reservedSharedMemPerBlock);
    int *now, *most;
    CUDA(cudaMalloc(&now, 4096));
    CUDA(cudaMalloc(&most, 4096));
    CUDA(cudaFuncSetAttribute(resident, cudaFuncAttributeMaxDynamicSharedMemorySize, 200 * kb));
    std::printf("resident blocks by preference in percent (-1: none) and dynamic shared memory in bytes\n");
    for (int percent : {-1, 0, 3, 4, 7, 14, 28, 43, 57, 100}) {
        std::printf("%4d:", percent);
        CUDA(cudaFuncSetAttribute(resident, cudaFuncAttributePreferredSharedMemoryCarveout, percent));
        for (int dynamic : {512, 1024, 1664, 3072, 7168, 15360, 30720, 48128, 65536, 102400}) {
            int host[1024], largest = 0, said = 0;
            for (int twice = 0; twice < 2; twice++) {
                CUDA(cudaMemset(now, 0, 4096));
                CUDA(cudaMemset(most, 0, 4096));
                resident<<<p.multiProcessorCount * 40, 128, dynamic>>>(now, most, 40000);
                CUDA(cudaDeviceSynchronize());
            }
            CUDA(cudaMemcpy(host, most, 4096, cudaMemcpyDeviceToHost));
            for (int i = 0; i < p.multiProcessorCount; i++) largest = std::max(largest, host[i]);
            CUDA(cudaOccupancyMaxActiveBlocksPerMultiprocessor(&said, resident, 128, dynamic));
            std::printf("  %d:%d(%d)", dynamic, largest, said);
        }
        std::printf("\n");
    }

    const size_t total = static_cast<size_t>(count) * 16 * kb / 4;
    CUDA(cudaMalloc(&series, total * 4));
    CUDA(cudaMalloc(&out, count * 4));
    fill<<<1024, 256>>>(series, total);
    CUDA(cudaFuncSetAttribute(median<asItIs>, cudaFuncAttributeMaxDynamicSharedMemorySize, 226 * kb));
    auto carveout = [](int percent) { CUDA(cudaFuncSetAttribute(median<asItIs>, cudaFuncAttributePreferredSharedMemoryCarveout, percent)); };
    for (int block : {128, 256})
        for (int each : {2, 4, 8, 16}) {
            int n = each * kb / 4;
            carveout(-1);
            double base = timed(median<asItIs>, block, n, 0, 0);
            std::printf("\n%d threads, %d KB a warp: %.1f us\n  past L1: all %.2f; but for K warps:", block, each, base, base / timed(median<past>, block, n, 0, 0));
            for (int k = 0; k <= block / 32; k++) std::printf(" %d: %.2f", k, base / timed(median<byWarp>, block, n, k, 0));
            std::printf("\n  N blocks by the smallest carveout:");
            for (int blocks = 2048 / block; blocks >= 1; blocks -= blocks > 8 ? 2 : 1) {
                int dynamic, percent;
                if (!reserve(blocks, &dynamic, &percent)) continue;
                carveout(percent);
                std::printf(" %d: %.2f", blocks, base / timed(median<asItIs>, block, n, 0, dynamic));
            }
            std::printf("\n  N blocks by all of the shared memory:");
            carveout(-1);
            for (int blocks = 2048 / block; blocks >= 1; blocks -= blocks > 8 ? 2 : 1)
                std::printf(" %d: %.2f", blocks, base / timed(median<asItIs>, block, n, 0, std::min(226 * kb, 228 * kb / blocks / unit * unit - reserved)));
            std::printf("\n");
        }
}
