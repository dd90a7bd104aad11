// Spin locks that everybody wants: the threads of a block keep a few records of several words up to date, each under a lock.
//
// No atomic instruction updates a record as a whole. All lanes of a warp compete, so the critical section and the release
// stand inside the loop; and while one thread has the lock, all others try to swap, which keeps shared memory from the one
// that works. gnvcc lets them look before they swap, and sleep in between ("gnvcc tune -- contended", lever spin).
#include "example.h"

constexpr int threads = 256;
constexpr int items = 16; // of a thread
constexpr int records = 4;

struct Record {
    unsigned count, largest, where; // where: the first of the largest
};

__host__ __device__ inline void enter(volatile Record &r, unsigned x, unsigned where) {
    r.count = r.count + 1;
    if (x > r.largest || (x == r.largest && where < r.where)) r.largest = x, r.where = where;
}

__global__ void collect(const unsigned *in, Record *out) {
    __shared__ int taken[records];
    __shared__ Record record[records];
    if (threadIdx.x < records) taken[threadIdx.x] = 0, record[threadIdx.x] = {0, 0, ~0u};
    __syncthreads();
    for (int i = 0; i < items; i++) {
        unsigned where = i * threads + threadIdx.x, x = in[blockIdx.x * items * threads + where];
        unsigned key = x % records;
        bool done = false;
        while (!done) {
            if (atomicCAS(&taken[key], 0, 1) == 0) {
                __threadfence_block();
                enter(record[key], x, where);
                __threadfence_block();
                atomicExch(&taken[key], 0);
                done = true;
            }
        }
    }
    __syncthreads();
    if (threadIdx.x < records) out[blockIdx.x * records + threadIdx.x] = record[threadIdx.x];
}

int main() {
    example::Example ex("contended");
    const int blocks = 528;
    example::Array<unsigned> in(blocks * items * threads);
    example::Array<Record> out(blocks * records);
    for (size_t i = 0; i < in.size(); i++) in[i] = static_cast<unsigned>(10000 * example::noise(static_cast<uint32_t>(i)));
    in.up();
    ex.time("collect", [&] { collect<<<blocks, threads>>>(in.device, out.device); });
    out.down();
    for (int block = 0; block < blocks; block++) {
        Record want[records];
        for (Record &r : want) r = {0, 0, ~0u};
        for (unsigned i = 0; i < items * threads; i++) {
            unsigned x = in[block * items * threads + i];
            enter(want[x % records], x, i);
        }
        for (int k = 0; k < records; k++) {
            const Record &got = out[block * records + k];
            ex.check("count", block * records + k, got.count, want[k].count, 0);
            ex.check("largest", block * records + k, got.largest, want[k].largest, 0);
            ex.check("where", block * records + k, got.where, want[k].where, 0);
        }
    }
    return ex.finish();
}
