// The sums of hash.cu, for memory that lies on the host.
#ifndef GNVCC_HASH_H
#define GNVCC_HASH_H
#include <stdint.h>
#include <string.h>

#define HASH_CHUNK ((uint64_t)1 << 20) // bytes

static inline uint64_t hash_mix(uint64_t v) {
  v ^= v >> 32;
  v *= 0xd6e8feb86659fd93ull;
  v ^= v >> 29;
  v *= 0x9fb21c651e98df25ull;
  return v ^ v >> 32;
}

// Of at most one chunk, n bytes at p.
static inline void hash_host(const uint8_t *p, uint64_t n, uint64_t out[2]) {
  out[0] = out[1] = 0;
  for (uint64_t i = 0; i < (n + 7) / 8; i++) {
    uint64_t v = 0;
    memcpy(&v, p + 8 * i, n - 8 * i < 8 ? n - 8 * i : 8);
    out[0] += hash_mix(v + (i + 1) * 0x9e3779b97f4a7c15ull);
    out[1] += hash_mix(v ^ (i + 1) * 0xc2b2ae3d27d4eb4full);
  }
}

#endif
