// Distances of all pairs of rows: a block for each pair, which reads two rows and adds up where they differ. There are many blocks, and
// each has little to do.
//
// What a block does beside its loads, starting, working out addresses, meeting at the end, is most of its time; and one of the two rows
// is the one that its neighbour reads as well. The lever "coarsen" has each block do several pairs at once.
#include "example.h"

constexpr int rows = 192, columns = 4096, threads = 128;

__global__ void pairs(const unsigned char *data, int *distance) {
    __shared__ int part[threads];
    int t = threadIdx.x, sum = 0;
    for (int i = 4 * t; i < columns; i += 4 * threads) {
        uchar4 a = *(const uchar4 *)(data + i + columns * blockIdx.x);
        uchar4 b = *(const uchar4 *)(data + i + columns * blockIdx.y);
        sum += (a.x != b.x) + (a.y != b.y) + (a.z != b.z) + (a.w != b.w);
    }
    part[t] = sum;
    __syncthreads();
    for (int n = threads / 2; n > 0; n /= 2) {
        if (t < n) part[t] += part[t + n];
        __syncthreads();
    }
    if (t == 0) distance[rows * blockIdx.y + blockIdx.x] = part[0];
}

int main() {
    example::Example ex("pairs");
    example::Array<unsigned char> data(rows * columns);
    example::Array<int> distance(rows * rows);
    for (size_t i = 0; i < data.size(); i++) data[i] = static_cast<unsigned char>(example::noise(static_cast<uint32_t>(i)) * 3);
    data.up();
    ex.time("pairs", [&] { pairs<<<dim3(rows, rows), threads>>>(data.device, distance.device); });
    distance.down();
    for (size_t y = 0; y < rows; y++) {
        for (size_t x = 0; x < rows; x++) {
            int want = 0;
            for (size_t i = 0; i < columns; i++) want += data[y * columns + i] != data[x * columns + i];
            ex.check("distance", y * rows + x, distance[y * rows + x], want, 0);
        }
    }
    return ex.finish();
}
