#include "mix.h"

__global__ void mix(unsigned *p, int n) {
  unsigned a[WORDS];
  for (int i = 0; i < WORDS; i++) a[i] = p[threadIdx.x * WORDS + i];
  for (int k = 0; k < n; k++)
    for (int i = 0; i < WORDS; i++) a[i] = a[i] * 2654435761u ^ a[(i + 5) % WORDS];
  for (int i = 0; i < WORDS; i++) p[threadIdx.x * WORDS + i] = a[i];
}
