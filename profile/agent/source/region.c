// Saved memory. Everything that the application has allocated is copied aside, on the device where there is room, else
// to the host. What the original changes is known chunk by chunk after its first run, and only that is put back.
#define _GNU_SOURCE
#include "agent.h"
#include "room.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

bool store_fail(struct store *s, CUresult code, const char *why) {
  if (!s->why) {
    s->code = code;
    s->why = why;
  }
  return false;
}

#define TRY(call, doing) \
  do { \
    CUresult r_ = (call); \
    if (r_ != CUDA_SUCCESS) return store_fail(s, r_, doing); \
  } while (0)

static uint64_t align_up(uint64_t n) { return (n + 511) & ~(uint64_t)511; }

bool store_save(struct store *s) {
  uint64_t on_device = 0, on_host = 0;
  s->chunks = s->bytes = 0;
  for (size_t i = 0; i < s->n; i++) {
    struct region *r = &s->r[i];
    r->first = s->chunks;
    r->chunks = (r->size + CHUNK - 1) / CHUNK;
    s->chunks += r->chunks;
    if (!r->host) s->bytes += r->size;
    *(r->host ? &on_host : &on_device) += align_up(r->size);
  }
  s->dirty = calloc(s->chunks + 1, 1);
  s->written = calloc(s->chunks + 1, 1);
  s->slot = calloc(s->chunks + 1, sizeof *s->slot);
  if (!s->dirty || !s->written || !s->slot) return store_fail(s, CUDA_ERROR_OUT_OF_MEMORY, "keeping a list of the memory's chunks");

  // The copy must leave room for what the original wrote, and for the driver: a candidate with much local memory
  // (spills) makes it allocate.
  size_t left = 0, total = 0;
  TRY(cu.MemGetInfo(&left, &total), "asking for free memory");
  uint64_t reserve = total / 8 < (uint64_t)1 << 30 ? total / 8 : (uint64_t)1 << 30;
  if (on_device > 0 && on_device + on_device / 4 + reserve <= left && cu.MemAlloc((CUdeviceptr *)&s->area, on_device) == CUDA_SUCCESS)
    s->area_size = on_device;
  else {
    s->area = 0;
    on_host += on_device;
    if (on_device > 0) TRY(cu.MemAlloc((CUdeviceptr *)&s->staging, STAGING), "allocating 64 MiB on the device, with no room there for a copy of the program's memory");
  }
  if (on_host > room_memory() / 2) return store_fail(s, CUDA_ERROR_OUT_OF_MEMORY, "no room for a copy of the program's memory, neither on the device nor on the host");

  if (!store_take(s)) return false;
  TRY(cu.StreamSynchronize(s->stream), "copying an array");
  uint64_t at = 0;
  for (size_t i = 0; i < s->n; i++) {
    struct region *r = &s->r[i];
    if (!r->host && s->area) {
      r->saved = s->area + at;
      at += align_up(r->size);
      TRY(cu.MemcpyDtoDAsync(r->saved, r->base, r->size, s->stream), "copying the application's memory");
      continue;
    }
    r->saved_host = malloc(r->size);
    if (!r->saved_host) return store_fail(s, CUDA_ERROR_OUT_OF_MEMORY, "allocating host memory for a copy");
    if (r->host) memcpy(r->saved_host, (const void *)r->base, r->size);
    else TRY(cu.MemcpyDtoH(r->saved_host, r->base, r->size), "copying the program's memory to the host");
  }
  TRY(cu.StreamSynchronize(s->stream), "copying the application's memory");
  return true;
}

// Calls f for each run of consecutive chunks of r that have the mark.
static bool runs(struct store *s, const struct region *r, const uint8_t *mark, bool (*f)(struct store *, const struct region *, uint64_t at, uint64_t n)) {
  for (uint64_t i = 0; i < r->chunks;) {
    if (!mark[r->first + i]) {
      i++;
      continue;
    }
    uint64_t j = i;
    while (j < r->chunks && mark[r->first + j]) j++;
    uint64_t at = i * CHUNK, end = j * CHUNK < r->size ? j * CHUNK : r->size;
    if (!f(s, r, at, end - at)) return false;
    i = j;
  }
  return true;
}

static bool put_back(struct store *s, const struct region *r, uint64_t at, uint64_t n) {
  if (r->host) memcpy((void *)(r->base + at), r->saved_host + at, n);
  else if (r->saved) TRY(cu.MemcpyDtoDAsync(r->base + at, r->saved + at, n, s->stream), "putting memory back");
  else TRY(cu.MemcpyHtoD(r->base + at, r->saved_host + at, n), "putting memory back from the host");
  return true;
}

bool store_take(struct store *s) {
  for (size_t i = 0; i < s->n; i++)
    if (s->r[i].array.handle) TRY(array_copy(&s->r[i].array, s->r[i].base, false, s->stream), "copying an array");
  return true;
}

bool store_restore(struct store *s) {
  for (size_t i = 0; i < s->n; i++) {
    const struct region *r = &s->r[i];
    if (!runs(s, r, s->dirty, put_back)) return false;
    if (r->array.handle && memchr(s->dirty + r->first, 1, r->chunks)) TRY(array_copy(&r->array, r->base, true, s->stream), "putting an array back");
  }
  return true;
}

bool store_keep(struct store *s) {
  uint64_t n = 0;
  for (uint64_t i = 0; i < s->chunks; i++) s->slot[i] = s->written[i] ? ++n : 0;
  if (s->golden) cu.MemFree(s->golden);
  free(s->golden_host);
  s->golden = 0;
  s->golden_host = NULL;
  if (n == 0) return true;
  size_t left = 0, total = 0;
  bool host = !s->area; // no room on the device before: none now
  for (size_t i = 0; i < s->n; i++) host |= s->r[i].host && memchr(s->written + s->r[i].first, 1, s->r[i].chunks) != NULL;
  TRY(cu.MemGetInfo(&left, &total), "asking for free memory");
  if (!host && n * CHUNK < left / 2 && cu.MemAlloc((CUdeviceptr *)&s->golden, n * CHUNK) != CUDA_SUCCESS) s->golden = 0;
  if (!s->golden) {
    if (!s->staging) TRY(cu.MemAlloc((CUdeviceptr *)&s->staging, STAGING), "allocating 64 MiB on the device");
    if (n * CHUNK > room_memory() / 2 || !(s->golden_host = malloc(n * CHUNK)))
      return store_fail(s, CUDA_ERROR_OUT_OF_MEMORY, "keeping what the original wrote: no room on the device or on the host");
  }
  for (size_t i = 0; i < s->n; i++) {
    const struct region *r = &s->r[i];
    for (uint64_t c = 0; c < r->chunks; c++) {
      uint64_t slot = s->slot[r->first + c], size = r->size - c * CHUNK < CHUNK ? r->size - c * CHUNK : CHUNK;
      if (!slot) continue;
      uint64_t from = r->base + c * CHUNK, to = (slot - 1) * CHUNK;
      if (s->golden) TRY(cu.MemcpyDtoDAsync(s->golden + to, from, size, s->stream), "keeping what the original wrote");
      else if (r->host) memcpy(s->golden_host + to, (const void *)from, size);
      else TRY(cu.MemcpyDtoH(s->golden_host + to, from, size), "keeping what the original wrote");
    }
  }
  TRY(cu.StreamSynchronize(s->stream), "keeping what the original wrote");
  return true;
}

void store_free(struct store *s) {
  for (size_t i = 0; i < s->n; i++) {
    free(s->r[i].saved_host);
    if (s->r[i].array.handle) cu.MemFree(s->r[i].base);
  }
  if (s->area) cu.MemFree(s->area);
  if (s->golden) cu.MemFree(s->golden);
  if (s->staging) cu.MemFree(s->staging);
  free(s->golden_host);
  free(s->r);
  free(s->dirty);
  free(s->written);
  free(s->slot);
}
