// What every example needs: a clock of its own, a check of its own, and errors that say what failed.
//
// The clock is CUDA events around one launch at a time; what is printed is the median. It knows nothing of gnvcc, so
// that times before and after tuning come from the same independent hand.
#pragma once
#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <vector>

#include <cuda_runtime.h>

#define CUDA(call)                                                                                       \
    do {                                                                                                 \
        cudaError_t error_ = (call);                                                                     \
        if (error_ != cudaSuccess) {                                                                     \
            std::fprintf(stderr, "%s:%d: %s: %s\n", __FILE__, __LINE__, #call, cudaGetErrorString(error_)); \
            std::exit(1);                                                                                \
        }                                                                                                \
    } while (0)

namespace example {

constexpr int warmups = 3;
constexpr int launches = 20;

// An array that lives on both sides. Elements are filled and checked on the host.
template <typename T>
struct Array {
    std::vector<T> host;
    T *device = nullptr;

    explicit Array(size_t n) : host(n) { CUDA(cudaMalloc(&device, n * sizeof(T))); }
    Array(const Array &) = delete;
    ~Array() { cudaFree(device); }
    size_t size() const { return host.size(); }
    T &operator[](size_t i) { return host[i]; }
    void up() { CUDA(cudaMemcpy(device, host.data(), size() * sizeof(T), cudaMemcpyHostToDevice)); }
    void down() { CUDA(cudaMemcpy(host.data(), device, size() * sizeof(T), cudaMemcpyDeviceToHost)); }
};

// A number in [0, 1) that depends on i alone: the same data in every run and on every machine.
inline float noise(uint32_t i) {
    i = (i ^ (i >> 16)) * 0x7feb352du;
    i = (i ^ (i >> 15)) * 0x846ca68bu;
    return static_cast<float>((i ^ (i >> 16)) >> 8) * (1.0f / 16777216.0f);
}

// One example: its name, the time of its kernels, and whether its results are right so far.
class Example {
  public:
    explicit Example(const char *name) : name_(name) {
        int devices = 0;
        cudaError_t error = cudaGetDeviceCount(&devices);
        if (error != cudaSuccess || devices == 0) {
            std::fprintf(stderr, "example %s: no CUDA device: %s\n", name, cudaGetErrorString(error));
            std::exit(1);
        }
        CUDA(cudaEventCreate(&start_));
        CUDA(cudaEventCreate(&stop_));
    }

    // time calls launch, which starts one kernel, and prints the median over the launches after the warm-up.
    template <typename Launch>
    float time(const char *kernel, Launch launch) {
        std::vector<float> times;
        for (int i = 0; i < warmups + launches; i++) {
            CUDA(cudaEventRecord(start_));
            launch();
            CUDA(cudaGetLastError());
            CUDA(cudaEventRecord(stop_));
            CUDA(cudaEventSynchronize(stop_));
            float ms = 0;
            CUDA(cudaEventElapsedTime(&ms, start_, stop_));
            if (i >= warmups) times.push_back(ms * 1000);
        }
        std::sort(times.begin(), times.end());
        float median = (times[launches / 2 - 1] + times[launches / 2]) / 2;
        std::printf("example %s: kernel %s  %.2f us (median of %d)\n", name_, kernel, median, launches);
        total_ += median;
        return median;
    }

    // check compares a result with its reference, relative to the larger of |want| and scale (a typical size).
    void check(const char *what, size_t i, double got, double want, double tolerance, double scale = 1) {
        double bound = tolerance * std::max(std::fabs(want), scale);
        if (std::fabs(got - want) <= bound) return; // NaN fails
        if (wrong_++ < 5) std::fprintf(stderr, "example %s: %s[%zu] is %.9g, should be %.9g\n", name_, what, i, got, want);
    }

    // finish prints the total and the verdict; its result is main's.
    int finish() {
        std::printf("example %s: total %.2f us, %s\n", name_, total_, wrong_ ? "WRONG" : "correct");
        return wrong_ ? 1 : 0;
    }

  private:
    const char *name_;
    cudaEvent_t start_{}, stop_{};
    double total_ = 0;
    size_t wrong_ = 0;
};

} // namespace example
