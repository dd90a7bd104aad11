// Host memory of the program's, which a session reads and writes by the CPU: whether it may.
#define _GNU_SOURCE
#include "agent.h"
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#define RESTS_US 2000            // a thread that writes all the time has done so by then
#define SLOW ((uint64_t)1 << 20) // bytes of write-combined memory from which on reading takes too long: some 25 MB/s

// The part of a region that the mappings up to here open: all below is readable and writable.
static bool opened(const struct region *r, uint64_t from, uint64_t to, const char *rights, uint64_t *done) {
  if (to <= *done || from >= r->base + r->size) return true;
  if (from > *done || rights[0] != 'r' || rights[1] != 'w') return false;
  *done = to;
  return true;
}

// Whether all of a region's pages are there and may be read and written: else the program would get a signal that it never got before.
static bool accessible(const struct region *r) {
  FILE *f = fopen("/proc/self/maps", "re");
  char line[4096];
  uint64_t done = r->base;
  bool ok = f != NULL;
  while (ok && done < r->base + r->size && fgets(line, sizeof line, f)) {
    unsigned long long from, to;
    char rights[8] = "";
    if (sscanf(line, "%llx-%llx %7s", &from, &to, rights) == 3) ok = opened(r, from, to, rights, &done);
  }
  if (f) fclose(f);
  return ok && done >= r->base + r->size;
}

const char *host_closed(const struct region *r, size_t n) {
  uint64_t slow = 0;
  for (size_t i = 0; i < n; i++) {
    unsigned flags = 0;
    if (!r[i].host) continue;
    if (!accessible(&r[i])) return "pages of host memory that CUDA knows are protected by the program, or gone";
    if (r[i].kind == PINNED && cu.MemHostGetFlags && cu.MemHostGetFlags(&flags, (void *)r[i].base) == CUDA_SUCCESS && flags & CU_MEMHOSTALLOC_WRITECOMBINED) slow += r[i].size;
  }
  return slow > SLOW ? "the program has write-combined memory, which is very slow to read" : NULL;
}

bool host_quiet(const struct region *r, size_t n) {
  bool any = false;
  for (size_t i = 0; i < n; i++) any |= r[i].host;
  if (any) usleep(RESTS_US);
  for (size_t i = 0; i < n; i++)
    if (r[i].host && memcmp(r[i].saved_host, (const void *)r[i].base, r[i].size) != 0) return false;
  return true;
}
