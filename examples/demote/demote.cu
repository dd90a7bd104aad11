// Walks through a graph that take statistics as they go: many values that are rarely touched, and a wait for memory at
// every step.
//
// Eight lanes walk together: a vertex is one sector of memory, seven weights and the link to the next vertex, so that each
// step waits for the one before. Every sixteen steps each thread adds the mean of what it saw to 32 frequencies of its
// characteristic function. These 64 sums are live all the time and used once in sixteen steps; they are most of the kernel's
// registers, which limit the warps that wait at once. A lower register count alone spills sums to local memory, whose
// lines the walks push out of the cache; in shared memory they stay on the chip.
#include "example.h"

constexpr int steps = 16, frequencies = 32, vertex = 8, link = vertex - 1;

// One batch: the mean of the weights on the way, rotated through all frequencies.
struct Sums {
    float re[frequencies], im[frequencies];
    __host__ __device__ void clear() {
#pragma unroll
        for (int k = 0; k < frequencies; k++) re[k] = im[k] = 0;
    }
    __host__ __device__ void add(float mean) {
        float c = 1 - 0.5f * mean * mean, s = mean - mean * mean * mean * (1.0f / 6), x = 1, y = 0;
#pragma unroll
        for (int k = 0; k < frequencies; k++) {
            float x1 = x * c - y * s;
            y = x * s + y * c, x = x1;
            re[k] += x, im[k] += y;
        }
    }
    __host__ __device__ float energy() const {
        float sum = 0;
#pragma unroll
        for (int k = 0; k < frequencies; k++) sum += re[k] * re[k] + im[k] * im[k];
        return sum;
    }
};

__global__ void walk(const unsigned *__restrict__ graph, float *__restrict__ out, int walks, int vertices, int batches) {
    int i = blockIdx.x * blockDim.x + threadIdx.x, lane = threadIdx.x % vertex;
    if (i / vertex >= walks) return;
    unsigned at = static_cast<unsigned>(i / vertex) * 2654435761u % static_cast<unsigned>(vertices);
    Sums sums;
    sums.clear();
    for (int b = 0; b < batches; b++) {
        unsigned seen = 0;
#pragma unroll 1
        for (int s = 0; s < steps; s++) {
            unsigned word = graph[static_cast<size_t>(at) * vertex + lane];
            at = __shfl_sync(0xffffffffu, word, link, vertex);
            seen += word & 0xffff;
        }
        sums.add(static_cast<float>(seen) * (1.0f / (65536.0f * steps)));
    }
    out[i] = sums.energy();
}

int main() {
    example::Example ex("demote");
    const int walks = 1 << 17, block = 128, vertices = 1 << 23, batches = 6, every = 61;
    example::Array<unsigned> graph(static_cast<size_t>(vertices) * vertex);
    example::Array<float> out(static_cast<size_t>(walks) * vertex);
    unsigned x = 1;
    for (int v = 0; v < vertices; v++)
        for (int w = 0; w < vertex; w++) {
            x = x * 1664525u + 1013904223u;
            graph[static_cast<size_t>(v) * vertex + w] = w == link ? (v * 1664525u + 1013904223u) % vertices : x >> 7; // walks never meet
        }
    graph.up();

    ex.time("walk", [&] { walk<<<walks * vertex / block, block>>>(graph.device, out.device, walks, vertices, batches); });

    out.down();
    for (int walk = 0; walk < walks; walk += every) // some of them: the host is slow at this
        for (int lane = 0; lane < vertex; lane++) {
            unsigned at = static_cast<unsigned>(walk) * 2654435761u % static_cast<unsigned>(vertices);
            Sums sums;
            sums.clear();
            for (int b = 0; b < batches; b++) {
                unsigned seen = 0;
                for (int s = 0; s < steps; s++) {
                    seen += graph[static_cast<size_t>(at) * vertex + lane] & 0xffff;
                    at = graph[static_cast<size_t>(at) * vertex + link];
                }
                sums.add(static_cast<float>(seen) * (1.0f / (65536.0f * steps)));
            }
            size_t i = static_cast<size_t>(walk) * vertex + lane;
            ex.check("out", i, out[i], sums.energy(), 1e-3);
        }
    return ex.finish();
}
