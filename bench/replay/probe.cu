// Which hints cuMemAddressReserve follows: probe WHEN, where WHEN says when the ranges were occupied by mmap:
// never, before (from before cuInit until after it), context (until the context stands), last (taken after the context, given up right before), low (never, hints of pools).
#include <cuda.h>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <sys/mman.h>
#include <unistd.h>
static char maps[64];
static void around(unsigned long long a, unsigned long long b) {
  FILE *f = fopen("/proc/self/maps", "r");
  char line[512];
  unsigned long long x, y;
  while (f && fgets(line, sizeof line, f))
    if (sscanf(line, "%llx-%llx", &x, &y) == 2 && y > a - (1 << 26) && x < b + (1 << 26)) printf("      %s", line);
  if (f) fclose(f);
}
struct trial { unsigned long long at, size; };
static void *hold(trial t) { return mmap((void *)t.at, t.size, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_FIXED_NOREPLACE, -1, 0); }
int main(int c, char **v) {
  const char *when = c > 1 ? v[1] : "never";
  const unsigned long long M = 1 << 20, G = 1 << 30, H = 0x7e0000000000;
  trial t[64];
  int n = 0;
  unsigned long long sizes[] = {2 * M, 4 * M, 14 * M, 32 * M, 34 * M, 64 * M, 512 * M, 1 * G, 6 * G + 2 * M};
  for (int k = 0; k < 9; k++) { // each far from the others; one well aligned, one to 2 MiB only
    t[n++] = {H + k * 64 * G, sizes[k]};
    t[n++] = {H + k * 64 * G + 32 * G + 10 * M, sizes[k]};
  }
  for (int k = 0; k < 4; k++) t[n++] = {H + 600 * G + k * 512 * M + 2 * M, 100 * M}; // neighbours
  if (!strcmp(when, "low")) {
    n = 0;
    t[n++] = {0x302000000, 2 * M}, t[n++] = {0x302000000, 32 * M}, t[n++] = {0x302000000, 1 * G}, t[n++] = {0x342000000, 64 * G}, t[n++] = {0x1302000000, 0x35e8000000};
    t[n++] = {0x200000000, 32 * M}, t[n++] = {0x10000000000, 64 * M}, t[n++] = {0x20000000000, 2 * M}, t[n++] = {0x20000000000, 512 * M}, t[n++] = {0x30000200000, 1 * G};
    t[n++] = {0x555500000000, 1 * G}, t[n++] = {0x700000000000, 1 * G}, t[n++] = {0x7ffc00000000, 1 * G}, t[n++] = {0x7f0000200000, 8 * G};
  }
  bool before = !strcmp(when, "before") || !strcmp(when, "context");
  for (int i = 0; before && i < n; i++) if (hold(t[i]) != (void *)t[i].at) printf("can't hold %#llx\n", t[i].at);
  if (cuInit(0)) return puts("cuInit"), 1;
  for (int i = 0; !strcmp(when, "before") && i < n; i++) munmap((void *)t[i].at, t[i].size);
  CUcontext ctx;
  if (cuDevicePrimaryCtxRetain(&ctx, 0) || cuCtxSetCurrent(ctx)) return puts("context"), 1;
  for (int i = 0; !strcmp(when, "last") && i < n; i++) if (hold(t[i]) != (void *)t[i].at) printf("can't hold %#llx\n", t[i].at);
  int had = 0;
  for (int i = 0; i < n; i++) {
    if (!strcmp(when, "context") || !strcmp(when, "last")) munmap((void *)t[i].at, t[i].size);
    CUdeviceptr p = 0;
    CUresult e = cuMemAddressReserve(&p, t[i].size, 0, t[i].at, 0);
    printf("%s %#llx %llu MiB: ", when, t[i].at, t[i].size / M);
    if (e) printf("error %d\n", e);
    else if (p != t[i].at) {
      printf("moved to %#llx\n", (unsigned long long)p);
      if (i < 4) around(t[i].at, t[i].at + t[i].size), puts("      --"), around(p, p + t[i].size);
      cuMemAddressFree(p, t[i].size);
    } else {
      had++;
      // map 2 MiB in the middle
      CUmemAllocationProp prop = {};
      prop.type = CU_MEM_ALLOCATION_TYPE_PINNED;
      prop.location.type = CU_MEM_LOCATION_TYPE_DEVICE;
      CUmemAccessDesc a = {};
      a.location = prop.location;
      a.flags = CU_MEM_ACCESS_FLAGS_PROT_READWRITE;
      CUmemGenericAllocationHandle h;
      unsigned long long at = t[i].at + (t[i].size / 2) / (2 * M) * (2 * M);
      int e1 = cuMemCreate(&h, 2 * M, &prop, 0), e2 = cuMemMap(at, 2 * M, 0, h, 0), e3 = cuMemSetAccess(at, 2 * M, &a, 1), e4 = cuMemsetD8(at, 1, 2 * M);
      printf("had, mapped inside: %d %d %d %d\n", e1, e2, e3, e4);
    }
  }
  printf("%s: %d of %d\n", when, had, n);
  if (!strcmp(when, "never")) around(0x200000000, 0x500000000);
  (void)maps;
  fflush(stdout);
  _exit(0);
}
