// Memory at its old addresses, and what stands in it.
#include "replay.h"
#include "room.h"
#include "vary.h"
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#define SLAB ((uint64_t)2 << 20)    // the granularity of cuMemMap (measured: H100, H200)
#define WINDOW ((uint64_t)32 << 20) // from this size on, cuMemAddressReserve follows a hint (measured)
#define PAGE ((uint64_t)4096)
#define CHUNK ((uint64_t)1 << 20)
#define POISON 0xa5 // between the ranges: what reads there is not what the launch read

CUdevice device_find(const struct capture *c) {
  int n = 0;
  CUdevice d, same = -1;
  need(cu.DeviceGetCount(&n), "counting GPUs");
  if (n == 0) stop(1, "there is no GPU");
  for (int i = 0; i < n; i++) {
    CUuuid uuid;
    char name[256] = "";
    if (cu.DeviceGet(&d, i) != CUDA_SUCCESS || cu.DeviceGetUuid(&uuid, d) != CUDA_SUCCESS || cu.DeviceGetName(name, sizeof name, d) != CUDA_SUCCESS) continue;
    if (memcmp(&uuid, c->uuid, 16) == 0) return d;
    if (same < 0 && strcmp(name, c->device) == 0) same = d;
  }
  if (same < 0) stop(3, "the capture is of another device (%s)", c->device);
  return same;
}

// ---- Addresses.

static int by_from(const void *a, const void *b) {
  uint64_t x = ((const struct span *)a)->from, y = ((const struct span *)b)->from;
  return (x > y) - (x < y);
}

static int by_base(const void *a, const void *b) {
  uint64_t x = ((const struct range *)a)->base, y = ((const struct range *)b)->base;
  return (x > y) - (x < y);
}

// The spans that cover the ranges of a place, rounded, those that touch joined.
static struct span *spans(const struct capture *c, bool on_host, uint64_t unit, size_t *n) {
  struct span *s = calloc(c->ranges + 1, sizeof *s);
  size_t k = 0;
  if (!s) stop(1, "out of memory");
  for (size_t i = 0; i < c->ranges; i++) {
    const struct range *r = &c->range[i];
    if (r->on_host == on_host) s[k++] = (struct span){r->base / unit * unit, (r->base + r->size + unit - 1) / unit * unit};
  }
  qsort(s, k, sizeof *s, by_from);
  *n = 0;
  for (size_t i = 0; i < k; i++)
    if (*n > 0 && s[i].from <= s[*n - 1].to) {
      if (s[i].to > s[*n - 1].to) s[*n - 1].to = s[i].to;
    } else s[(*n)++] = s[i];
  return s;
}

static bool within(const struct span *s, size_t n, uint64_t from, uint64_t to) {
  for (size_t i = 0; i < n; i++)
    if (from < s[i].to && to > s[i].from) return true;
  return false;
}

const char *memory_plan(struct capture *c, bool driver) {
  if (c->ranges) qsort(c->range, c->ranges, sizeof *c->range, by_base);
  for (size_t i = 1; i < c->ranges; i++)
    if (c->range[i].base < c->range[i - 1].base + c->range[i - 1].size) stop(1, "the capture is damaged: ranges overlap at %#llx", (unsigned long long)c->range[i].base);
  c->window = spans(c, false, WINDOW, &c->windows);
  c->slab = spans(c, false, SLAB, &c->slabs);
  c->host = spans(c, true, PAGE, &c->hosts);
  FILE *f = fopen("/proc/self/maps", "re");
  static char line[4096], text[200];
  const char *busy = NULL;
  while (f && !busy && fgets(line, sizeof line, f)) {
    unsigned long long from, to;
    if (sscanf(line, "%llx-%llx", &from, &to) != 2) continue;
    // Where the driver runs, it may itself hold what it will give.
    if ((driver || !within(c->window, c->windows, from, to)) && !within(c->host, c->hosts, from, to)) continue;
    snprintf(text, sizeof text, "%#llx to %#llx is taken in this process", from, to);
    busy = text;
  }
  if (f) fclose(f);
  return busy;
}

const char *memory_reserve(struct capture *c) {
  static char text[200];
  for (size_t i = 0; i < c->windows; i++) {
    const struct span *w = &c->window[i];
    CUdeviceptr p = 0;
    CUresult r = cu.MemAddressReserve(&p, w->to - w->from, 0, w->from, 0);
    if (r == CUDA_SUCCESS && p == w->from) continue;
    if (r == CUDA_SUCCESS) cu.MemAddressFree(p, w->to - w->from);
    snprintf(text, sizeof text, "the driver does not give %#llx to %#llx (%d)", (unsigned long long)w->from, (unsigned long long)w->to, (int)r);
    return text;
  }
  return NULL;
}

static void map_slab(const struct span *s, CUdevice device) {
  CUmemAllocationProp prop = {.type = CU_MEM_ALLOCATION_TYPE_PINNED, .location = {.type = CU_MEM_LOCATION_TYPE_DEVICE, .id = device}};
  CUmemAccessDesc access = {.location = prop.location, .flags = CU_MEM_ACCESS_FLAGS_PROT_READWRITE};
  CUmemGenericAllocationHandle h;
  uint64_t size = s->to - s->from;
  need(cu.MemCreate(&h, size, &prop, 0), "allocating the launch's memory");
  need(cu.MemMap(s->from, size, 0, h, 0), "mapping the launch's memory");
  need(cu.MemSetAccess(s->from, size, &access, 1), "opening the launch's memory");
}

static void map_host(const struct capture *c, const struct span *s) {
  uint64_t size = s->to - s->from;
  int fixed = within(c->window, c->windows, s->from, s->to) ? MAP_FIXED : MAP_FIXED_NOREPLACE; // the window is ours
  if (within(c->slab, c->slabs, s->from, s->to)) stop(3, "host memory lies among the device's");
  void *p = mmap((void *)s->from, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | fixed, -1, 0);
  CUdeviceptr d = 0;
  if (p != (void *)s->from) stop(3, "host memory at %#llx is not available", (unsigned long long)s->from);
  CUresult r = cu.MemHostRegister(p, size, CU_MEMHOSTREGISTER_DEVICEMAP | CU_MEMHOSTREGISTER_PORTABLE);
  if (r != CUDA_SUCCESS) stop(3, "host memory at %#llx can't be registered (CUDA error %d)", (unsigned long long)s->from, (int)r);
  if (cu.MemHostGetDevicePointer(&d, p, 0) != CUDA_SUCCESS || d != s->from) stop(3, "host memory at %#llx has another address on the device", (unsigned long long)s->from);
}

void memory_fits(const struct capture *c) {
  size_t left = 0, total = 0;
  unsigned long long bytes = 0, host = 0, room = room_memory();
  need(cu.MemGetInfo(&left, &total), "asking for free memory");
  for (size_t i = 0; i < c->slabs; i++) bytes += c->slab[i].to - c->slab[i].from;
  for (size_t i = 0; i < c->arrays; i++) bytes += c->array[i].size;
  for (size_t i = 0; i < c->hosts; i++) host += c->host[i].to - c->host[i].from;
  if (host > room / 2) stop(3, "the launch takes %llu MiB of the host's memory, of which %llu MiB are free, and its copy as much", host >> 20, room >> 20);
  if (bytes > left) stop(3, "the launch takes %llu MiB of the GPU's memory, of which %zu MiB are free", bytes >> 20, left >> 20);
}

void memory_map(struct capture *c, CUdevice device) {
  for (size_t i = 0; i < c->slabs; i++) map_slab(&c->slab[i], device);
  for (size_t i = 0; i < c->hosts; i++) map_host(c, &c->host[i]);
}

// ---- Contents.

static void put(const struct range *r, uint64_t address, const void *p, uint64_t n) {
  if (r->on_host) memcpy((void *)address, p, n);
  else need(cu.MemcpyHtoD(address, p, n), "filling memory");
}

static void set(const struct range *r, uint64_t address, int value, uint64_t n) {
  if (n == 0) return;
  if (r->on_host) memset((void *)address, value, n);
  else need(cu.MemsetD8(address, (unsigned char)value, n), "filling memory");
}

// What lies between the ranges.
static void poison(const struct capture *c) {
  size_t i = 0;
  for (size_t s = 0; s < c->slabs; s++) {
    uint64_t at = c->slab[s].from;
    for (; i < c->ranges && c->range[i].base < c->slab[s].to; i++) {
      const struct range *r = &c->range[i];
      if (r->on_host) continue;
      if (r->base > at) need(cu.MemsetD8(at, POISON, r->base - at), "filling memory");
      at = r->base + r->size;
    }
    if (c->slab[s].to > at) need(cu.MemsetD8(at, POISON, c->slab[s].to - at), "filling memory");
  }
}

static struct range *owner(const struct capture *c, uint64_t p) {
  size_t lo = 0, hi = c->ranges;
  while (lo < hi) {
    size_t mid = (lo + hi) / 2;
    if (c->range[mid].base + c->range[mid].size <= p) lo = mid + 1;
    else hi = mid;
  }
  return &c->range[lo];
}

#define FRESH 32  // chunks of a range that get numbers of their own; those behind have the same again, for speed
#define TURNED 64 // chunks whose own numbers change places, or low bits; those behind stay as they are
#define MAKERS 8  // threads that make numbers, at the most

// Copies what stands at a range's begin to all that follows.
static void repeat(const struct range *r, uint64_t first) {
  for (uint64_t at = first; at < r->size; at += first) {
    uint64_t n = r->size - at < first ? r->size - at : first;
    if (r->on_host) memcpy((void *)(r->base + at), (const void *)r->base, n);
    else need(cu.MemcpyDtoD(r->base + at, r->base, n), "filling memory");
  }
}

// Numbers for some of a range's chunks, made by several threads: each takes the next one. Which numbers a chunk gets depends on where it
// lies alone.
struct making {
  const struct range *r;
  unsigned variation;
  uint64_t n, at[TURNED]; // chunks, and their addresses
  uint8_t *chunk;         // n of them; where numbers only change places, with those that are to
  atomic_uint next;
};

static uint64_t chunk_size(const struct range *r, uint64_t at) { return r->base + r->size - at < CHUNK ? r->base + r->size - at : CHUNK; }

// Gives numbers other values, in place.
static void renumber(enum numbers is, uint8_t *p, uint64_t n, unsigned variation, uint64_t seed) {
  switch (is) {
  case BYTES: vary_bytes(p, n, variation, seed); break;
  case DOUBLES: vary_doubles(p, n / 8, variation, seed); break;
  case HALVES: vary_halves(p, n / 2, variation, seed); break;
  case BFLOAT16S: vary_bfloat16s(p, n / 2, variation, seed); break;
  case NEAR_FLOATS: vary_near(p, n / 4, false, variation, seed); break;
  case NEAR_DOUBLES: vary_near(p, n / 8, true, variation, seed); break;
  case WORDS: vary_integers(p, n / 4, 4, variation, seed); break;
  case OCTETS: vary_integers(p, n, 1, variation, seed); break;
  default: vary_floats(p, n / 4, variation, seed); break;
  }
}

// What was there is needed for other numbers.
static bool from_old(enum numbers is, unsigned variation) { return is == NEAR_FLOATS || is == NEAR_DOUBLES || (vary_turns(variation) && is != BYTES); }

static void *make(void *of) {
  struct making *m = of;
  for (unsigned k; (k = atomic_fetch_add(&m->next, 1)) < m->n;)
    renumber(m->r->numbers, m->chunk + k * CHUNK, chunk_size(m->r, m->at[k]), m->variation, m->at[k]);
  return NULL;
}

static void make_all(struct making *m) {
  pthread_t thread[MAKERS];
  long cores = sysconf(_SC_NPROCESSORS_ONLN);
  int begun = 0, wanted = cores < MAKERS ? (int)cores : MAKERS;
  while (begun + 1 < wanted && begun + 1 < (int)m->n && pthread_create(&thread[begun], NULL, make, m) == 0) begun++;
  make(m); // all of it, if need be
  while (begun > 0) pthread_join(thread[--begun], NULL);
}

// Other numbers in a range, or a part of one, which holds what was captured where that is needed.
static void vary(const struct range *r, unsigned variation) {
  static uint8_t *room;
  bool old = from_old(r->numbers, variation);
  uint64_t most = old ? TURNED : FRESH;
  if (!room && !(room = malloc(TURNED * CHUNK))) stop(1, "out of memory");
  struct making m = {.r = r, .variation = variation, .chunk = room};
  for (uint64_t k = 0; k < most && k * CHUNK < r->size; k++) {
    uint64_t at = r->base + k * CHUNK;
    if (old && r->on_host) memcpy(room + m.n * CHUNK, (const void *)at, chunk_size(r, at));
    else if (old) need(cu.MemcpyDtoH(room + m.n * CHUNK, at, chunk_size(r, at)), "reading memory");
    m.at[m.n++] = at;
  }
  make_all(&m);
  for (uint64_t k = 0; k < m.n; k++) put(r, m.at[k], room + k * CHUNK, chunk_size(r, m.at[k]));
  if (!old && r->size > FRESH * CHUNK) repeat(r, FRESH * CHUNK);
}

static void fill_variable(const struct variable *x, unsigned variation) {
  uint8_t *other = NULL;
  if (variation && x->numbers != NO_NUMBERS) {
    if (!(other = malloc(x->size + 1))) stop(1, "out of memory");
    memcpy(other, x->p, x->size);
    renumber(x->numbers, other, x->size, variation, x->size);
  }
  need(cu.MemcpyHtoD(x->address, other ? other : x->p, x->size), "filling variables");
  free(other);
}

void memory_fill(struct capture *c, unsigned variation) {
  poison(c);
  for (size_t i = 0; i < c->ranges; i++) { // ranges of numbers get others altogether
    struct range *r = &c->range[i];
    r->anew = variation && r->numbers != NO_NUMBERS && !from_old(r->numbers, variation);
    if (!r->anew) set(r, r->base, 0, r->size);
  }
  for (size_t i = 0; i < c->datas; i++) {
    const struct range *r = owner(c, c->data[i].address);
    if (!r->anew) put(r, c->data[i].address, c->data[i].p, c->data[i].size);
  }
  for (size_t i = 0; i < c->variables; i++) fill_variable(&c->variable[i], variation);
  for (size_t i = 0; variation && i < c->ranges; i++)
    if (c->range[i].numbers != NO_NUMBERS) vary(&c->range[i], variation);
  for (size_t i = 0; variation && i < c->parts; i++)
    if (c->part[i].numbers != NO_NUMBERS) vary(&c->part[i], variation);
  textures_fill(c, variation);
  need(cu.CtxSynchronize(), "filling memory");
}
