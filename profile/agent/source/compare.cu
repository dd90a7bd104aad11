// Compares memory on the device, and holds a stream back. This text is the source of compare.ptx, which the agent
// hands to the driver as it is (so that it runs on any GPU since Volta); `make -C profile/agent/source compare.ptx` makes it anew.
#include <stdint.h>

// What is found in one chunk. The same struct stands in compare.c.
struct Found {
  unsigned words;              // 4-byte words that differ
  unsigned first;              // byte offset of the first one within the chunk
  unsigned long long relative64; // largest |a-b| / max(|a|,|b|) as doubles, its bits
  double sum32, sum64;         // their sums, in no certain order
  unsigned relative32;         // the largest as floats
  unsigned pairs;              // 8-byte pairs of words that differ
};

constexpr unsigned chunk = 1u << 20; // bytes; the same number stands in compare.c

// A NaN or an infinity beside something else is infinitely far away. Results are never negative, so that their bits order as
// integers do.
__device__ static float far32(float a, float b) {
  if (a == b) return 0;
  float d = fabsf(a - b), m = fmaxf(fabsf(a), fabsf(b)), r = d / m;
  return r <= 2.0f ? r : __int_as_float(0x7f800000);
}
__device__ static double far64(double a, double b) {
  if (a == b) return 0;
  double d = fabs(a - b), m = fmax(fabs(a), fabs(b)), r = d / m;
  return r <= 2.0 ? r : __longlong_as_double(0x7ff0000000000000ll);
}

struct Tally {
  unsigned words = 0, first = 0xffffffffu, relative32 = 0, pairs = 0;
  unsigned long long relative64 = 0;
  double sum32 = 0, sum64 = 0;
  __device__ void word(unsigned a, unsigned b, unsigned at) {
    if (a == b) return;
    words++;
    if (at < first) first = at;
    float far = far32(__uint_as_float(a), __uint_as_float(b));
    unsigned r = __float_as_uint(far);
    if (r > relative32) relative32 = r;
    sum32 += far;
  }
  __device__ void twin(unsigned a0, unsigned a1, unsigned b0, unsigned b1) {
    if (a0 == b0 && a1 == b1) return;
    double far = far64(__hiloint2double(a1, a0), __hiloint2double(b1, b0));
    unsigned long long r = __double_as_longlong(far);
    if (r > relative64) relative64 = r;
    sum64 += far;
    pairs++;
  }
};

// One block per chunk of 1 MiB. a and b need no alignment; size is in bytes.
extern "C" __global__ void __launch_bounds__(256) gnvcc_compare(const uint8_t *a, const uint8_t *b, unsigned long long size, Found *found) {
  unsigned long long base = (unsigned long long)blockIdx.x * chunk;
  unsigned n = size - base < chunk ? (unsigned)(size - base) : chunk;
  const uint8_t *p = a + base, *q = b + base;
  Tally t;
  unsigned done = 0;
  if ((((uintptr_t)p | (uintptr_t)q) & 15) == 0) {
    const uint4 *x = (const uint4 *)p, *y = (const uint4 *)q;
#pragma unroll 4
    for (unsigned i = threadIdx.x; i < n / 16; i += blockDim.x) {
      uint4 u = x[i], v = y[i];
      if (((u.x ^ v.x) | (u.y ^ v.y) | (u.z ^ v.z) | (u.w ^ v.w)) == 0) continue;
      t.word(u.x, v.x, 16 * i); t.word(u.y, v.y, 16 * i + 4); t.word(u.z, v.z, 16 * i + 8); t.word(u.w, v.w, 16 * i + 12);
      t.twin(u.x, u.y, v.x, v.y); t.twin(u.z, u.w, v.z, v.w);
    }
    done = n & ~15u;
  }
  // The rest, or all of it where an address is not aligned: byte by byte, a last part of a word filled with zeros.
  for (unsigned i = done + 8 * threadIdx.x; i < n; i += 8 * blockDim.x) {
    unsigned w[4] = {0, 0, 0, 0};
#pragma unroll
    for (unsigned k = 0; k < 8; k++) {
      if (i + k >= n) continue;
      w[k / 4] |= (unsigned)p[i + k] << (8 * (k & 3));
      w[2 + k / 4] |= (unsigned)q[i + k] << (8 * (k & 3));
    }
    t.word(w[0], w[2], i); t.word(w[1], w[3], i + 4);
    t.twin(w[0], w[1], w[2], w[3]);
  }
  if (t.words) {
    Found *f = found + blockIdx.x; // cleared beforehand, first to all ones
    atomicAdd(&f->words, t.words);
    atomicMin(&f->first, t.first);
    atomicMax(&f->relative32, t.relative32);
    atomicMax(&f->relative64, t.relative64);
    atomicAdd(&f->sum32, t.sum32);
    atomicAdd(&f->sum64, t.sum64);
    atomicAdd(&f->pairs, t.pairs);
  }
}

// Clears the results of n chunks.
extern "C" __global__ void gnvcc_clear(Found *found, unsigned n) {
  unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) found[i] = Found{0, 0xffffffffu, 0, 0, 0, 0, 0};
}

// Holds the stream back for some nanoseconds, so that what is queued behind it starts without waiting for the host.
extern "C" __global__ void gnvcc_delay(unsigned long long ns) {
  unsigned long long start, now;
  asm volatile("mov.u64 %0, %%globaltimer;" : "=l"(start));
  do asm volatile("mov.u64 %0, %%globaltimer;" : "=l"(now)); while (now - start < ns);
}
