// A wavefront: the best alignment of two sequences (Needleman and Wunsch), by three ways of waiting for each other.
//
// A block aligns one pair of sequences. Each warp owns a strip of 32 rows of the table, a lane a row; a row is computed from left to
// right, one column behind the row above it. Inside a warp shuffles carry the values down; from strip to strip they go
// through shared memory, eight columns at a time, and the warp below has to wait for them:
//
//   barriers  all warps of the block meet after every eight columns
//   locks     each eight columns have a lock, which the warp above holds until they are there: plain spin locks
//   named     pairs of warps meet at hardware barriers of their own: who produces and who consumes is fixed
//
// Spinning warps take issue slots and shared memory's time from those that work. How long it is best to wait between two
// attempts depends on the GPU and on how many blocks share an SM: that is gnvcc's to find ("gnvcc tune -- wavefront"). Named barriers are
// the programmer's: no tool can prove from the spin loop alone who will be waiting for whom. After Li, GPU performance
// modeling and optimization (2016), chapter 7. "make sizes" is its Table 7.3: a pair has as many cells as a table of
// 362 x 362, thirty as many as the thesis' largest, 1984 x 1984.
#include "example.h"

constexpr int warps = 8; // 7 pairs of neighbours, with two hardware barriers each, and number 0 for all: 15 of 16
constexpr int rows = 32 * warps;
constexpr int columns = 512;
constexpr int step = 8;             // columns that are handed over together
constexpr int parts = columns / step;
constexpr int behind = 4;           // the last lane is 31 columns behind the first: a part is complete so many parts later
constexpr int gap = 2;

__host__ __device__ inline int best(int northwest, int north, int west, int a, int b) {
    int match = northwest + (a == b ? 3 : -1);
    int skip = (north > west ? north : west) - gap;
    return match > skip ? match : skip;
}

// What the warps of a block share. Row w of edge is what warp w finds above its strip.
struct Shared {
    int edge[warps + 1][columns];
    int taken[warps][parts]; // locks: 1 as long as the part below strip w is not complete
    unsigned char letters[columns];
};

// A lane's row under way.
struct Row {
    int a, letter;       // its own letter; the other sequence's letter at the column that was computed last
    int northwest, west; // values
};

__device__ inline Row begin(Shared &s, const unsigned char *a, const unsigned char *b) {
    for (int j = threadIdx.x; j < columns; j += rows) {
        s.edge[0][j] = -gap * (j + 1);
        s.letters[j] = b[blockIdx.x * columns + j];
    }
    for (int i = threadIdx.x; i < warps * parts; i += rows) s.taken[i / parts][i % parts] = 1;
    __syncthreads();
    int row = threadIdx.x;
    return {a[blockIdx.x * rows + row], 0, -gap * row, -gap * (row + 1)};
}

// advance goes on by eight columns; lane 0 reads those of the strip above, lane 31 writes for the strip below.
__device__ inline void advance(Row &row, Shared &s, int part) {
    int lane = threadIdx.x % 32, warp = threadIdx.x / 32;
    for (int k = 0; k < step; k++) {
        int first = part * step + k, column = first - lane; // lane 0's column, and this lane's
        int north = __shfl_up_sync(~0u, row.west, 1);       // what the lane above computed last is in this column
        int letter = __shfl_up_sync(~0u, row.letter, 1);
        if (lane == 0 && first < columns) north = s.edge[warp][first], letter = s.letters[first];
        row.letter = letter;
        if (column < 0 || column >= columns) continue;
        int here = best(row.northwest, north, row.west, row.a, letter);
        row.northwest = north;
        row.west = here;
        if (lane == 31) s.edge[warp + 1][column] = here;
    }
}

__device__ inline void end(const Row &row, const Shared &s, int *bottom, int *right) {
    __syncthreads();
    for (int j = threadIdx.x; j < columns; j += rows) bottom[blockIdx.x * columns + j] = s.edge[warps][j];
    right[blockIdx.x * rows + threadIdx.x] = row.west;
}

// All warps meet after each part. The warp below is one part more behind than a part takes to be complete.
__global__ void barriers(const unsigned char *a, const unsigned char *b, int *bottom, int *right) {
    __shared__ Shared s;
    Row row = begin(s, a, b);
    int warp = threadIdx.x / 32;
    for (int now = 0; now < parts + behind + (warps - 1) * (behind + 1); now++) {
        int part = now - warp * (behind + 1);
        if (part >= 0 && part < parts + behind) advance(row, s, part);
        __syncthreads();
    }
    end(row, s, bottom, right);
}

// One lock for each part of each strip. The lane that reads takes it, the lane that wrote gives it free: lanes of different warps,
// and one lane of a warp, so that nobody waits for a lane that waits for him. Fences order the values with the lock.
__global__ void locks(const unsigned char *a, const unsigned char *b, int *bottom, int *right) {
    __shared__ Shared s;
    Row row = begin(s, a, b);
    int lane = threadIdx.x % 32, warp = threadIdx.x / 32;
    for (int part = 0; part < parts + behind; part++) {
        if (warp > 0 && lane == 0 && part < parts) {
            while (atomicCAS(&s.taken[warp - 1][part], 0, 1) != 0);
            __threadfence_block();
        }
        __syncwarp();
        advance(row, s, part);
        if (lane == 31 && part >= behind) {
            __threadfence_block();
            atomicExch(&s.taken[warp][part - behind], 0);
        }
    }
    end(row, s, bottom, right);
}

// barrier.sync and barrier.arrive (without .aligned: a warp's lanes may come one by one) count 64 threads: two warps. What was
// written before an arrive is seen behind the sync, without a fence (PTX ISA, memory consistency model: an arrive
// synchronizes with a sync at the same barrier).
__device__ inline void meet(int barrier) { asm volatile("barrier.sync %0, 64;" ::"r"(barrier) : "memory"); }
__device__ inline void arrive(int barrier) { asm volatile("barrier.arrive %0, 64;" ::"r"(barrier) : "memory"); }

// Two hardware barriers for each pair of neighbours. At the first the warp below waits until a part is there; the warp above
// only arrives. Without the second it could arrive twice before the other comes once, and that would open the barrier: so
// it waits there until the part before was taken over.
__global__ void named(const unsigned char *a, const unsigned char *b, int *bottom, int *right) {
    __shared__ Shared s;
    Row row = begin(s, a, b);
    int warp = threadIdx.x / 32;
    int above = 2 * warp - 1, below = 2 * warp + 1; // there (1, 3, ...) and taken over (2, 4, ...)
    for (int part = 0; part < parts + behind; part++) {
        if (warp > 0 && part < parts) {
            meet(above);
            if (part < parts - 1) arrive(above + 1);
        }
        advance(row, s, part);
        if (warp < warps - 1 && part >= behind) {
            if (part > behind) meet(below + 1);
            arrive(below);
        }
    }
    end(row, s, bottom, right);
}

int main(int argc, char **argv) {
    example::Example ex("wavefront");
    const int pairs = argc > 1 ? std::max(std::atoi(argv[1]), 1) : 1056; // blocks; none waits for another
    example::Array<unsigned char> a(pairs * rows), b(pairs * columns);
    for (size_t i = 0; i < a.size(); i++) a[i] = static_cast<unsigned char>(4 * example::noise(static_cast<uint32_t>(i)));
    for (size_t j = 0; j < b.size(); j++) b[j] = static_cast<unsigned char>(4 * example::noise(static_cast<uint32_t>(j) + 777777));
    a.up(), b.up();

    std::vector<int> bottom, right; // of the tables, computed here
    for (int p = 0; p < pairs; p++) {
        std::vector<int> line(columns + 1);
        for (int j = 0; j <= columns; j++) line[j] = -gap * j;
        for (int i = 0; i < rows; i++) {
            int northwest = line[0];
            line[0] = -gap * (i + 1);
            for (int j = 0; j < columns; j++) {
                int north = line[j + 1];
                line[j + 1] = best(northwest, north, line[j], a[p * rows + i], b[p * columns + j]);
                northwest = north;
            }
            right.push_back(line[columns]);
        }
        bottom.insert(bottom.end(), line.begin() + 1, line.end());
    }

    struct {
        const char *name;
        void (*kernel)(const unsigned char *, const unsigned char *, int *, int *);
    } ways[] = {{"barriers", barriers}, {"locks", locks}, {"named", named}};
    for (auto &way : ways) {
        example::Array<int> down(pairs * columns), across(pairs * rows);
        CUDA(cudaMemset(down.device, 0xff, down.size() * sizeof(int)));
        CUDA(cudaMemset(across.device, 0xff, across.size() * sizeof(int)));
        ex.time(way.name, [&] { way.kernel<<<pairs, rows>>>(a.device, b.device, down.device, across.device); });
        down.down(), across.down();
        for (size_t i = 0; i < down.size(); i++) ex.check(way.name, i, down[i], bottom[i], 0);
        for (size_t i = 0; i < across.size(); i++) ex.check(way.name, i, across[i], right[i], 0);
    }
    return ex.finish();
}
