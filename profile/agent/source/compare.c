// Comparison on the device, with three small kernels that the driver compiles from embedded PTX, once per context. What
// lies on the host is compared by the CPU.
#define _GNU_SOURCE
#include "agent.h"
#include "embed.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>

EMBED(gnvcc_compare_ptx, "compare.ptx");

struct tools {
  struct tools *next;
  CUcontext context;
  CUmodule module;
  CUfunction compare, clear, delay;
  CUdeviceptr found; // results, one per chunk
  uint64_t room;     // of them
};
static struct tools *all;   // used by the thread that holds talk
static struct tools *active; // of the session's context

bool compare_open(CUcontext context, CUresult *error) {
  for (active = all; active && active->context != context;) active = active->next;
  if (active) return true;
  struct tools *t = calloc(1, sizeof *t);
  if (!t) {
    *error = CUDA_ERROR_OUT_OF_MEMORY;
    return false;
  }
  t->context = context;
  if ((*error = cu.ModuleLoadData(&t->module, gnvcc_compare_ptx)) != CUDA_SUCCESS ||
      (*error = cu.ModuleGetFunction(&t->compare, t->module, "gnvcc_compare")) != CUDA_SUCCESS ||
      (*error = cu.ModuleGetFunction(&t->clear, t->module, "gnvcc_clear")) != CUDA_SUCCESS ||
      (*error = cu.ModuleGetFunction(&t->delay, t->module, "gnvcc_delay")) != CUDA_SUCCESS) {
    free(t);
    return false;
  }
  t->next = all;
  all = active = t;
  return true;
}

// The context is about to be destroyed, and everything in it.
void compare_drop(CUcontext context) {
  for (struct tools **p = &all; *p; p = &(*p)->next)
    if ((*p)->context == context) {
      struct tools *t = *p;
      *p = t->next;
      free(t);
      return;
    }
}

bool compare_delay(CUstream stream, uint64_t ns) {
  void *params[] = {&ns};
  return cu.LaunchKernel(active->delay, 1, 1, 1, 1, 1, 1, 0, stream, params, NULL) == CUDA_SUCCESS;
}

// A kernel that does nothing.
bool compare_nothing(CUstream stream) {
  unsigned none = 0;
  CUdeviceptr nowhere = 0;
  void *params[] = {&nowhere, &none};
  return cu.LaunchKernel(active->clear, 1, 1, 1, 1, 1, 1, 0, stream, params, NULL) == CUDA_SUCCESS;
}

#define TRY(call, doing) \
  do { \
    CUresult r_ = (call); \
    if (r_ != CUDA_SUCCESS) return store_fail(s, r_, doing); \
  } while (0)

static bool on_device(struct store *s, uint64_t a, uint64_t b, uint64_t size, uint64_t chunk) {
  CUdeviceptr to = active->found + chunk * sizeof(struct found);
  void *params[] = {&a, &b, &size, &to};
  TRY(cu.LaunchKernel(active->compare, (unsigned)((size + CHUNK - 1) / CHUNK), 1, 1, 256, 1, 1, 0, s->stream, params, NULL), "comparing memory");
  return true;
}

static double far(double a, double b) {
  if (a == b) return 0;
  double r = fabs(a - b) / fmax(fabs(a), fabs(b));
  return r <= 2 ? r : INFINITY;
}

static void on_host(const uint8_t *a, const uint8_t *b, uint64_t n, struct found *f) {
  if (memcmp(a, b, n) == 0) return;
  for (uint64_t i = 0; i < n; i += 8) {
    uint32_t x[2] = {0}, y[2] = {0};
    size_t k = n - i < 8 ? n - i : 8;
    memcpy(x, a + i, k);
    memcpy(y, b + i, k);
    if (x[0] == y[0] && x[1] == y[1]) continue;
    f->pairs++;
    for (int w = 0; w < 2; w++) {
      if (x[w] == y[w]) continue;
      if (f->words++ == 0) f->first = (uint32_t)i + 4 * (uint32_t)w;
      float u, v;
      memcpy(&u, &x[w], 4);
      memcpy(&v, &y[w], 4);
      float r = (float)far(u, v);
      uint32_t bits;
      memcpy(&bits, &r, 4);
      if (bits > f->relative32) f->relative32 = bits;
      f->sum32 += r;
    }
    double u, v;
    memcpy(&u, x, 8);
    memcpy(&v, y, 8);
    double r = far(u, v);
    uint64_t bits;
    memcpy(&bits, &r, 8);
    if (bits > f->relative64) f->relative64 = bits;
    f->sum64 += r;
  }
}

// Compares n chunks of a region from chunk c on with what is kept of them, at kept (device) or kept_host.
static bool some(struct store *s, const struct region *r, uint64_t c, uint64_t n, uint64_t kept, const uint8_t *kept_host, struct found *found) {
  uint64_t at = c * CHUNK, size = (c + n) * CHUNK < r->size ? n * CHUNK : r->size - at;
  if (r->host) {
    for (uint64_t i = 0; i < n; i++)
      on_host((const uint8_t *)r->base + at + i * CHUNK, kept_host + i * CHUNK, size - i * CHUNK < CHUNK ? size - i * CHUNK : CHUNK, &found[r->first + c + i]);
    return true;
  }
  if (!kept_host) return on_device(s, r->base + at, kept, size, r->first + c);
  for (uint64_t done = 0; done < size; done += STAGING) { // STAGING is whole chunks
    uint64_t part = size - done < STAGING ? size - done : STAGING;
    TRY(cu.MemcpyHtoD(s->staging, kept_host + done, part), "comparing memory with a copy on the host");
    if (!on_device(s, r->base + at + done, s->staging, part, r->first + c + done / CHUNK)) return false;
    TRY(cu.StreamSynchronize(s->stream), "comparing memory");
  }
  return true;
}

// Clears the results of n chunks.
static bool clear(struct store *s, uint64_t chunks) {
  if (active->room < chunks) {
    if (active->found) cu.MemFree(active->found);
    active->found = 0;
    active->room = 0;
    TRY(cu.MemAlloc(&active->found, chunks * sizeof(struct found)), "allocating memory for a comparison");
    active->room = chunks;
  }
  unsigned n = (unsigned)chunks;
  void *params[] = {&active->found, &n};
  if (n > 0) TRY(cu.LaunchKernel(active->clear, (n + 255) / 256, 1, 1, 256, 1, 1, 0, s->stream, params, NULL), "comparing memory");
  return true;
}

bool compare_one(struct store *s, const struct region *r, uint64_t with, bool *same) {
  *same = true;
  if (r->saved) {
    struct found *f = malloc(r->chunks * sizeof *f);
    bool ok = f && clear(s, r->chunks) && on_device(s, with, r->saved, r->size, 0) && cu.StreamSynchronize(s->stream) == CUDA_SUCCESS &&
              cu.MemcpyDtoH(f, active->found, r->chunks * sizeof *f) == CUDA_SUCCESS;
    for (uint64_t i = 0; ok && i < r->chunks; i++) *same &= f[i].words == 0;
    free(f);
    return ok || store_fail(s, CUDA_ERROR_UNKNOWN, "comparing a variable");
  }
  uint8_t *is = malloc(r->size);
  bool ok = is && cu.StreamSynchronize(s->stream) == CUDA_SUCCESS && cu.MemcpyDtoH(is, with, r->size) == CUDA_SUCCESS;
  *same = ok && memcmp(is, r->saved_host, r->size) == 0;
  free(is);
  return ok || store_fail(s, CUDA_ERROR_UNKNOWN, "comparing a variable");
}

bool compare_all(struct store *s, bool golden, struct found *found) {
  uint64_t n = s->chunks;
  if (!clear(s, n) || !store_take(s)) return false;
  // What lies on the host is entered after the device's results have come.
  for (int pass = 0; pass < 2; pass++) {
    for (size_t i = 0; i < s->n; i++) {
      const struct region *r = &s->r[i];
      if (r->host != (pass == 1)) continue;
      for (uint64_t c = 0; c < r->chunks;) { // the slots of chunks that follow each other do, too
        bool g = golden && s->slot[r->first + c];
        uint64_t e = c + 1;
        while (e < r->chunks && (golden && s->slot[r->first + e]) == g) e++;
        uint64_t slot = g ? (s->slot[r->first + c] - 1) * CHUNK : c * CHUNK;
        uint64_t kept = g ? s->golden + slot : r->saved + slot;
        const uint8_t *kept_host = g ? (s->golden_host ? s->golden_host + slot : NULL) : r->saved_host ? r->saved_host + slot : NULL;
        if (!some(s, r, c, e - c, kept, kept_host, found)) return false;
        c = e;
      }
    }
    if (pass == 0 && n > 0) {
      TRY(cu.StreamSynchronize(s->stream), "comparing memory");
      TRY(cu.MemcpyDtoH(found, active->found, s->chunks * sizeof *found), "reading a comparison's result");
    }
  }
  return true;
}
