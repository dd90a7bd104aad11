// The memory that the application has allocated, as the driver's calls tell: base, size, kind. A session saves all of it.
#define _GNU_SOURCE
#include "agent.h"
#include <stdlib.h>

#define BUCKETS 4096
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct alloc *buckets[BUCKETS];
static uint64_t count; // live ones
static uint64_t device_bytes, device_peak; // of what takes the device's memory

// Allocations are aligned to 256 bytes at least, most to 512.
static unsigned hash(uint64_t base) { return (unsigned)((base >> 8 ^ base >> 21) % BUCKETS); }

static bool on_device(enum kind kind) { return kind == DEVICE || kind == ASYNC || kind == MAPPED || kind == MANAGED; }

void alloc_add(uint64_t base, uint64_t size, enum kind kind, CUcontext context) {
  if (!base || !size) return;
  struct alloc *a = malloc(sizeof *a);
  if (!a) { // what is not known can't be saved: never a session again
    atomic_store(&agent_off, true);
    return;
  }
  *a = (struct alloc){.base = base, .size = size, .kind = kind, .context = context};
  pthread_mutex_lock(&lock);
  struct alloc **b = &buckets[hash(base)];
  a->next = *b;
  *b = a;
  count++;
  if (on_device(kind) && (device_bytes += size) > device_peak) device_peak = device_bytes;
  pthread_mutex_unlock(&lock);
}

static void unlink_at(struct alloc **p) {
  struct alloc *a = *p;
  *p = a->next;
  if (on_device(a->kind)) device_bytes -= a->size;
  free(a);
  count--;
}

// Before the call that frees is done nobody may rely on its memory any more, and behind it the address may be given out again. But the
// call may fail, and the memory live on: so it is put aside until the call's end.
static __thread struct alloc *taken; // by the call that this thread is in

static void take_at(struct alloc **p) {
  struct alloc *copy = malloc(sizeof *copy);
  if (!copy) atomic_store(&agent_off, true); // it could not come back
  else {
    *copy = **p;
    copy->next = taken;
    taken = copy;
  }
  unlink_at(p);
}

void alloc_taken(bool freed) {
  while (taken) {
    struct alloc *a = taken;
    taken = a->next;
    if (!freed) alloc_add(a->base, a->size, a->kind, a->context);
    free(a);
  }
}

void alloc_remove(uint64_t base) {
  pthread_mutex_lock(&lock);
  for (struct alloc **p = &buckets[hash(base)]; *p; p = &(*p)->next)
    if ((*p)->base == base) {
      unlink_at(p);
      break;
    }
  pthread_mutex_unlock(&lock);
}

void alloc_take(uint64_t base) {
  pthread_mutex_lock(&lock);
  for (struct alloc **p = &buckets[hash(base)]; *p; p = &(*p)->next)
    if ((*p)->base == base) {
      take_at(p);
      break;
    }
  pthread_mutex_unlock(&lock);
}

// cuMemUnmap takes away all mappings within a range.
void alloc_take_range(uint64_t base, uint64_t size) {
  pthread_mutex_lock(&lock);
  for (int i = 0; i < BUCKETS; i++)
    for (struct alloc **p = &buckets[i]; *p;)
      if ((*p)->kind == MAPPED && (*p)->base >= base && (*p)->base < base + size) take_at(p);
      else p = &(*p)->next;
  pthread_mutex_unlock(&lock);
}

// A context's end frees what was allocated in it; a mapping belongs to none.
void allocs_drop(CUcontext context) {
  pthread_mutex_lock(&lock);
  for (int i = 0; i < BUCKETS; i++)
    for (struct alloc **p = &buckets[i]; *p;)
      if ((*p)->context == context && (*p)->kind != MAPPED) unlink_at(p);
      else p = &(*p)->next;
  pthread_mutex_unlock(&lock);
}

static int by_address(const void *a, const void *b) {
  uint64_t x = ((const struct alloc *)a)->base, y = ((const struct alloc *)b)->base;
  return (x > y) - (x < y);
}

struct alloc *allocs_copy(size_t *n) {
  pthread_mutex_lock(&lock);
  struct alloc *out = malloc((count + 1) * sizeof *out);
  size_t k = 0;
  for (int i = 0; out && i < BUCKETS; i++)
    for (struct alloc *a = buckets[i]; a; a = a->next) out[k++] = *a;
  pthread_mutex_unlock(&lock);
  if (out) qsort(out, k, sizeof *out, by_address);
  *n = k;
  return out;
}

struct total allocs_total(void) {
  struct total t = {0};
  pthread_mutex_lock(&lock);
  for (int i = 0; i < BUCKETS; i++)
    for (struct alloc *a = buckets[i]; a; a = a->next) {
      t.n++;
      t.bytes += a->size;
    }
  pthread_mutex_unlock(&lock);
  return t;
}

uint64_t allocs_peak(void) {
  pthread_mutex_lock(&lock);
  uint64_t peak = device_peak;
  pthread_mutex_unlock(&lock);
  return peak;
}

bool alloc_holds(uint64_t p) {
  bool found = false;
  pthread_mutex_lock(&lock);
  for (int i = 0; i < BUCKETS && !found; i++)
    for (struct alloc *a = buckets[i]; a && !found; a = a->next) found = p >= a->base && p <= a->base + a->size;
  pthread_mutex_unlock(&lock);
  return found;
}

const char *kind_name(enum kind kind) {
  static const char *const names[] = {
      [DEVICE] = "device memory",      [ASYNC] = "stream-ordered device memory", [MAPPED] = "mapped device memory",
      [PINNED] = "pinned host memory", [REGISTERED] = "registered host memory",  [MANAGED] = "managed memory",
      [SHARED] = "shared memory",     [FOUND] = "device memory",                [VARIABLE] = "variable",
      [ARRAY] = "array",
  };
  return names[kind];
}
