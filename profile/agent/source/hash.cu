// A hash of each chunk of memory, made on the device: two sums that depend on every word and its place. Not against malice; two runs
// of a kernel that left other bits have other sums. This text is the source of hash.ptx, as compare.cu is of compare.ptx;
// hash.h has the same sums for what lies on the host.
#include <stdint.h>

constexpr unsigned chunk = 1u << 20; // bytes; hash.h has the same number

__device__ static unsigned long long mix(unsigned long long v) {
  v ^= v >> 32;
  v *= 0xd6e8feb86659fd93ull;
  v ^= v >> 29;
  v *= 0x9fb21c651e98df25ull;
  return v ^ v >> 32;
}

// One block per chunk of 1 MiB. p is aligned to 8 bytes; size is in bytes; out has two words a chunk.
extern "C" __global__ void __launch_bounds__(256) gnvcc_hash(const uint8_t *p, unsigned long long size, unsigned long long *out) {
  __shared__ unsigned long long sums[2];
  unsigned long long base = (unsigned long long)blockIdx.x * chunk, a = 0, b = 0;
  unsigned n = size - base < chunk ? (unsigned)(size - base) : chunk;
  if (threadIdx.x < 2) sums[threadIdx.x] = 0;
  __syncthreads();
  const unsigned long long *w = (const unsigned long long *)(p + base);
  for (unsigned i = threadIdx.x; i < (n + 7) / 8; i += blockDim.x) {
    unsigned long long v = 0;
    if (8 * i + 8 <= n) v = w[i];
    else
      for (unsigned k = 8 * i; k < n; k++) v |= (unsigned long long)p[base + k] << (8 * (k & 7));
    a += mix(v + (i + 1) * 0x9e3779b97f4a7c15ull);
    b += mix(v ^ (i + 1) * 0xc2b2ae3d27d4eb4full);
  }
  atomicAdd(&sums[0], a);
  atomicAdd(&sums[1], b);
  __syncthreads();
  if (threadIdx.x < 2) out[2 * (unsigned long long)blockIdx.x + threadIdx.x] = sums[threadIdx.x];
}

struct item {
  unsigned long long base, end;
};

// Looks for addresses: which of n items, the first ones of them sorted, words point into that are at most span from low on, which holds all of them.
// ever: of each chunk, whether a word of it may be an address at all.
extern "C" __global__ void __launch_bounds__(256) gnvcc_look(const unsigned long long *p, unsigned long long size, const item *items, unsigned sorted, unsigned n,
                                                             unsigned long long low, unsigned long long span, unsigned *ever, unsigned *reached) {
  unsigned long long base = (unsigned long long)blockIdx.x * chunk;
  unsigned words = (size - base < chunk ? (unsigned)(size - base) : chunk) / 8;
  int some = 0;
  for (unsigned i = threadIdx.x; i < words; i += blockDim.x) {
    unsigned long long v = p[base / 8 + i];
    some |= v - (1ull << 16) < (1ull << 48) - (1ull << 16);
    if (v - low >= span) continue;
    unsigned lo = 0, hi = sorted;
    while (lo < hi) {
      unsigned mid = (lo + hi) / 2;
      if (items[mid].end <= v) lo = mid + 1;
      else hi = mid;
    }
    if (lo < sorted && v >= items[lo].base) reached[lo] = 1;
    else
      for (unsigned k = sorted; k < n; k++)
        if (v >= items[k].base && v < items[k].end) reached[k] = 1;
  }
  some = __syncthreads_or(some);
  if (threadIdx.x == 0) ever[blockIdx.x] = some != 0;
}
