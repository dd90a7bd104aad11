// What is in no kernel: calls of the program's that copy, allocate and wait, with the time that the program is in them and, of some, where it
// calls from; and which launches follow each other on a stream with no such call between them.
#define _GNU_SOURCE
#include "agent.h"
#include <execinfo.h>
#include <fnmatch.h>
#include <string.h>

#define SITES 64
#define PAIRS 256       // a power of two
#define OFTEN 16        // so many calls of a kind are looked at, then one of so many, which stands for those since the one before
#define DEEP 24         // frames: the agent's, CUPTI's, the driver's and the runtime's come first
#define CLOSE 5e-6      // seconds between two launches, with two events there

static const struct { const char *name; enum call_kind kind; } kinds[] = {
    {"cuMemcpyDtoH*", CALL_READ}, {"cuMemcpyHtoD*", CALL_WRITE}, {"cuMemcpy*", CALL_COPY}, {"cuMemset*", CALL_SET}, {"cuMemAlloc*", CALL_ALLOC},
    {"cuMemHostAlloc*", CALL_ALLOC}, {"cuMemFree*", CALL_FREE}, {"cu*Synchronize*", CALL_WAIT},
};
static struct { uint64_t count, bytes; double seconds; } all[CALL_KINDS];
static struct { uint64_t count; double seconds; } since[CALL_KINDS]; // the last one that was looked at
static struct site { enum call_kind kind; int frames; void *at[DEEP]; uint64_t count; double seconds; } sites[SITES];
static struct pair { uint32_t first, then; uint64_t count, timed, close; double gap; } pairs[PAIRS];
static struct { CUstream stream; uint32_t shape; unsigned breaks; } last[16];
static uint32_t pairs_used;
static atomic_uint breaks;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER; // of calls; taken last
static __thread struct { enum call_kind kind; double begin; } within;

enum call_kind call_kind(const char *name) {
  for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++)
    if (fnmatch(kinds[i].name, name, 0) == 0) return kinds[i].kind;
  return CALL_NONE;
}

void between_open(void) { // loads what it needs
  void *p[1];
  backtrace(p, 1);
}

unsigned between_breaks(void) { return atomic_load_explicit(&breaks, memory_order_relaxed); }

void call_begin(enum call_kind kind) {
  if (!observing || within.kind || !kind) return;
  atomic_fetch_add_explicit(&breaks, 1, memory_order_relaxed);
  within.kind = kind;
  within.begin = now();
}

static void look(enum call_kind kind) {
  void *at[DEEP];
  int n = backtrace(at, DEEP), i = 0;
  pthread_mutex_lock(&lock);
  while (i < SITES - 1 && sites[i].kind && (sites[i].kind != kind || sites[i].frames != n || memcmp(sites[i].at, at, (size_t)n * sizeof *at) != 0)) i++;
  struct site *s = &sites[i]; // the last one has all others
  if (!s->kind) {
    s->kind = kind;
    s->frames = n;
    memcpy(s->at, at, (size_t)n * sizeof *at);
  }
  s->count += since[kind].count;
  s->seconds += since[kind].seconds;
  since[kind].count = 0;
  since[kind].seconds = 0;
  pthread_mutex_unlock(&lock);
}

void call_end(const void *params) {
  enum call_kind kind = within.kind;
  if (!kind) return;
  double seconds = now() - within.begin;
  within.kind = CALL_NONE;
  pthread_mutex_lock(&lock);
  uint64_t n = ++all[kind].count;
  all[kind].seconds += seconds;
  since[kind].count++;
  since[kind].seconds += seconds;
  if (kind == CALL_READ || kind == CALL_WRITE) all[kind].bytes += ((const cuMemcpyDtoH_v2_params *)params)->ByteCount; // all of these have it third
  pthread_mutex_unlock(&lock);
  if (n <= OFTEN || n % OFTEN == 0) look(kind);
}

static struct pair *pair_of(uint32_t first, uint32_t then) {
  uint32_t i = (first * 0x9e3779b1u ^ then * 0x85ebca6bu) >> 8;
  while (pairs[i % PAIRS].first && (pairs[i % PAIRS].first != first || pairs[i % PAIRS].then != then)) i++;
  struct pair *p = &pairs[i % PAIRS];
  if (!p->first && pairs_used == PAIRS * 3 / 4) return NULL;
  if (!p->first) *p = (struct pair){.first = first, .then = then}, pairs_used++;
  return p;
}

void launch_follows(uint32_t shape, CUstream stream) {
  size_t i = ((uintptr_t)stream >> 4 ^ (uintptr_t)stream >> 12) % (sizeof last / sizeof *last);
  unsigned now_at = between_breaks();
  struct pair *p = last[i].shape && last[i].stream == stream && last[i].breaks == now_at ? pair_of(last[i].shape, shape) : NULL;
  if (p) p->count++;
  last[i].stream = stream;
  last[i].shape = shape;
  last[i].breaks = now_at;
}

void launch_gap(uint32_t first, uint32_t then, double seconds) {
  struct pair *p = pair_of(first, then);
  if (p) p->timed++, p->close += seconds < CLOSE, p->gap += seconds;
}

void put_between(struct buffer *b, bool all_of_it) {
  uint32_t n = 0;
  pthread_mutex_lock(&lock);
  put_u32(b, CALL_KINDS - 1);
  for (int k = 1; k < CALL_KINDS; k++) {
    put_u64(b, all[k].count);
    put_f64(b, all[k].seconds);
    put_u64(b, all[k].bytes);
  }
  while (all_of_it && n < SITES && sites[n].kind) n++;
  put_u32(b, n);
  for (uint32_t i = 0; i < n; i++) {
    put_u8(b, (uint8_t)sites[i].kind);
    put_u64(b, sites[i].count);
    put_f64(b, sites[i].seconds);
    put_u32(b, (uint32_t)sites[i].frames);
    for (int k = 0; k < sites[i].frames; k++) put_u64(b, (uint64_t)(uintptr_t)sites[i].at[k]);
  }
  put_u32(b, pairs_used);
  for (uint32_t i = 0; i < PAIRS; i++) {
    if (!pairs[i].first) continue;
    put_u32(b, pairs[i].first);
    put_u32(b, pairs[i].then);
    put_u64(b, pairs[i].count);
    put_u64(b, pairs[i].timed);
    put_u64(b, pairs[i].close);
    put_f64(b, pairs[i].gap);
  }
  pthread_mutex_unlock(&lock);
}
