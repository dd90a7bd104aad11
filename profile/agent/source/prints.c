// What kernels print in a replay, compared with what the original printed. Threads print in any order, so that lines are: as many of each.
#define _GNU_SOURCE
#include "prints.h"
#include "agent.h"
#include "hash.h"

#define MOST ((off_t)16 << 20) // bytes that may wait to be dropped

static bool kept;

void prints_open(void) {
  struct stat st;
  const char *inode = getenv(PRINTS);
  kept = inode && fstat(1, &st) == 0 && strtoull(inode, NULL, 10) == (unsigned long long)st.st_ino;
}

// The driver writes what stands in the device's buffer when the context is waited for.
static bool written(void) { return cu.CtxSynchronize() == CUDA_SUCCESS && fflush(stdout) == 0; }

static bool drop(void) { return ftruncate(1, 0) == 0 && lseek(1, 0, SEEK_SET) == 0; }

bool prints_clear(void) { return !kept || (written() && drop()); }

void prints_trim(void) {
  if (kept && lseek(1, 0, SEEK_END) > MOST) drop();
}

bool prints_sum(uint64_t sum[2]) {
  sum[0] = sum[1] = 0;
  if (!kept) return true;
  off_t n = written() ? lseek(1, 0, SEEK_END) : -1;
  uint8_t *text = n >= 0 ? malloc((size_t)n + 1) : NULL;
  bool ok = text && pread(1, text, (size_t)n, 0) == n;
  for (uint8_t *p = text, *end = text + n; ok && p < end;) {
    uint8_t *newline = memchr(p, '\n', (size_t)(end - p)), *next = newline ? newline + 1 : end;
    uint64_t line[2], size = (uint64_t)(next - p);
    hash_host(p, size, line);
    sum[0] += hash_mix(line[0] + size);
    sum[1] += hash_mix(line[1] ^ size);
    p = next;
  }
  free(text);
  return ok;
}
