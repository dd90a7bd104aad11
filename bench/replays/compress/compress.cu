// A compressor of doubles: each warp packs a chunk of its own. A value is stored as its difference to the one 32 before it, without the
// leading bytes that are zero, one byte at a time: 255 blocks of 256 threads, 100 launches, all alike.
//
// A launch finds in memory, and in the L2 cache, what the one before it left there. A replay that is to take as long has to begin so: the output of
// the first launch is empty memory, which no other launch meets.
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <vector>

constexpr int blocks = 255, threads = 256, warps = blocks * threads / 32;
constexpr int values = 8192;                     // of a warp's chunk
constexpr int room = values / 32 * (32 + 8 * 32); // bytes, of the longest result

__global__ void compress(const uint64_t *__restrict__ in, uint8_t *__restrict__ out, int *__restrict__ sizes) {
    int warp = (blockIdx.x * blockDim.x + threadIdx.x) / 32, lane = threadIdx.x % 32;
    const uint64_t *from = in + static_cast<size_t>(warp) * values;
    uint8_t *to = out + static_cast<size_t>(warp) * room;
    uint64_t before = 0;
    int at = 0;
    for (int i = lane; i < values; i += 32) {
        uint64_t difference = from[i] - before;
        bool negative = static_cast<int64_t>(difference) < 0;
        before = from[i];
        if (negative) difference = 0 - difference;
        int bytes = 8 - __clzll(static_cast<long long>(difference)) / 8, end = bytes;
        for (int d = 1; d < 32; d *= 2) {
            int other = __shfl_up_sync(0xffffffffu, end, d);
            if (lane >= d) end += other;
        }
        to[at + lane] = static_cast<uint8_t>(bytes | negative << 7);
        for (int k = 0; k < bytes; k++) to[at + 32 + end - bytes + k] = static_cast<uint8_t>(difference >> 8 * k);
        at += 32 + __shfl_sync(0xffffffffu, end, 31);
    }
    if (lane == 0) sizes[warp] = at;
}

static bool failed(cudaError_t e) {
    if (e != cudaSuccess) std::printf("%s\n", cudaGetErrorString(e));
    return e != cudaSuccess;
}

// Whether a warp's result holds its values.
static bool holds(const uint64_t *want, const uint8_t *p, int size) {
    std::vector<uint64_t> before(32, 0);
    const uint8_t *end = p + size;
    for (int i = 0; i < values; i += 32) {
        const uint8_t *codes = p;
        p += 32;
        for (int lane = 0; lane < 32; lane++) {
            uint64_t difference = 0;
            for (int k = 0; k < (codes[lane] & 127); k++) difference |= static_cast<uint64_t>(*p++) << 8 * k;
            before[lane] += codes[lane] & 128 ? 0 - difference : difference;
            if (before[lane] != want[i + lane]) return false;
        }
    }
    return p == end;
}

int main() {
    std::vector<uint64_t> in(static_cast<size_t>(warps) * values);
    uint32_t noise = 1;
    double walk = 1000;
    for (auto &word : in) {
        noise = noise * 1664525u + 1013904223u;
        walk += (static_cast<int>(noise >> 16) - 32768) * 0x1p-20;
        std::memcpy(&word, &walk, sizeof walk);
    }
    uint64_t *from;
    uint8_t *to;
    int *sizes;
    size_t bytes = in.size() * sizeof in[0], most = static_cast<size_t>(warps) * room;
    if (failed(cudaMalloc(&from, bytes)) || failed(cudaMalloc(&to, most)) || failed(cudaMalloc(&sizes, warps * sizeof *sizes))) return 1;
    if (failed(cudaMemcpy(from, in.data(), bytes, cudaMemcpyHostToDevice))) return 1;
    for (int i = 0; i < 100; i++) compress<<<blocks, threads>>>(from, to, sizes);
    std::vector<uint8_t> result(most);
    std::vector<int> size(warps);
    if (failed(cudaMemcpy(result.data(), to, most, cudaMemcpyDeviceToHost))) return 1;
    if (failed(cudaMemcpy(size.data(), sizes, warps * sizeof size[0], cudaMemcpyDeviceToHost))) return 1;
    long long all = 0;
    for (int w = 0; w < warps; w++) {
        if (!holds(&in[static_cast<size_t>(w) * values], &result[static_cast<size_t>(w) * room], size[w])) {
            std::printf("chunk %d does not hold its values\n", w);
            return 1;
        }
        all += size[w];
    }
    std::printf("%zu bytes packed into %lld\n", bytes, all);
    return 0;
}
