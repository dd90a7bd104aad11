// Textures, surfaces and their arrays. A kernel knows an object by its handle, which stands among the launch's arguments, or in memory. The driver
// gives handles as they come (in a new process, small numbers): so objects are made until the old handle comes. Where it does not, the new one is put
// in its place among the arguments; whether that was right the launch's results tell, as of all else.
#include "replay.h"
#include "vary.h"
#include <stdlib.h>
#include <string.h>

#define MOST_TRIED 4096   // objects that are made for one handle
#define MOST_IN_ALL 65536 // and for all

struct array *array_of(const struct capture *c, uint64_t number) {
  for (size_t i = 0; i < c->arrays; i++)
    if (c->array[i].number == number) return &c->array[i];
  return NULL;
}

static void copy(const struct array *a, uint8_t *memory, bool out) {
  CUDA_MEMCPY3D m = {.WidthInBytes = a->row, .Height = a->is.Height ? a->is.Height : 1, .Depth = a->is.Depth ? a->is.Depth : 1};
  m.srcMemoryType = out ? CU_MEMORYTYPE_ARRAY : CU_MEMORYTYPE_HOST;
  m.dstMemoryType = out ? CU_MEMORYTYPE_HOST : CU_MEMORYTYPE_ARRAY;
  if (out) m.srcArray = a->made, m.dstHost = memory, m.dstPitch = m.WidthInBytes, m.dstHeight = m.Height;
  else m.dstArray = a->made, m.srcHost = memory, m.srcPitch = m.WidthInBytes, m.srcHeight = m.Height;
  need(cu.Memcpy3D(&m), "copying an array");
}

void array_read(const struct array *a, uint8_t *into) { copy(a, into, true); }

// What is read of an array as floating point, by a variation: any bytes where the texture unit makes a fraction of them.
static void renumber(const struct array *a, uint8_t *p, unsigned variation) {
  switch (a->is.Format) {
  case CU_AD_FORMAT_FLOAT: vary_floats(p, a->size / 4, variation, a->number); break;
  case CU_AD_FORMAT_HALF: vary_halves(p, a->size / 2, variation, a->number); break;
  case CU_AD_FORMAT_UNSIGNED_INT8: case CU_AD_FORMAT_SIGNED_INT8: case CU_AD_FORMAT_UNSIGNED_INT16: case CU_AD_FORMAT_SIGNED_INT16:
    vary_bytes(p, a->size, variation, a->number);
    break;
  default: break;
  }
}

void textures_fill(const struct capture *c, unsigned variation) {
  for (size_t i = 0; i < c->arrays; i++) {
    uint8_t *other = NULL;
    if (variation && c->texels) {
      if (!(other = malloc(c->array[i].size))) stop(1, "out of memory");
      memcpy(other, c->array[i].content, c->array[i].size);
      renumber(&c->array[i], other, variation);
    }
    copy(&c->array[i], other ? other : c->array[i].content, false);
    free(other);
  }
}

static uint64_t make(const struct object *o) {
  CUtexObject made = 0;
  if (o->surface) need(cu.SurfObjectCreate(&made, &o->of), "making a surface object");
  else need(cu.TexObjectCreate(&made, &o->of, &o->how, o->viewed ? &o->view : NULL), "making a texture object");
  return made;
}

static void unmake(const struct object *o, uint64_t handle) {
  need(o->surface ? cu.SurfObjectDestroy(handle) : cu.TexObjectDestroy(handle), "giving a texture or surface object back");
}

// Puts another handle in an object's place among the arguments, as they were. False: it is not there.
static bool put_handle(struct capture *c, const uint8_t *were, uint64_t old, uint64_t new) {
  bool found = false;
  for (uint32_t i = 0; i < c->parameters; i++)
    for (uint32_t at = 0; at + 8 <= c->size[i]; at += 8) {
      if (memcmp(were + c->offset[i] + at, &old, 8) != 0) continue;
      memcpy(c->arguments + c->offset[i] + at, &new, 8);
      found = true;
    }
  return found;
}

static int by_handle(const void *a, const void *b) {
  uint64_t x = ((const struct object *)a)->handle, y = ((const struct object *)b)->handle;
  return (x > y) - (x < y);
}

// Makes objects until one has its old handle. What was made on the way is kept until then, or the driver would give the same again. A handle that
// another object needs is kept for that: it is given back, and that object made in its place.
static void make_all(struct capture *c, uint64_t *have) {
  static uint64_t spare[MOST_TRIED];
  int tries = 0;
  for (size_t i = 0; i < c->objects; i++) {
    size_t spares = 0;
    while (!have[i] && spares < MOST_TRIED && tries++ < MOST_IN_ALL) {
      uint64_t made = make(&c->object[i]);
      size_t k = i;
      while (k < c->objects && (c->object[k].handle != made || c->object[k].surface != c->object[i].surface)) k++;
      if (k < c->objects && k != i && !have[k]) {
        unmake(&c->object[i], made);
        uint64_t other = make(&c->object[k]);
        if (other == made) {
          have[k] = other;
          continue;
        }
        unmake(&c->object[k], other);
        made = make(&c->object[i]);
      }
      if (made == c->object[i].handle) have[i] = made;
      else spare[spares++] = made;
    }
    while (spares > 0) unmake(&c->object[i], spare[--spares]);
  }
}

void textures_make(struct capture *c) {
  for (size_t i = 0; i < c->arrays; i++) need(cu.Array3DCreate(&c->array[i].made, &c->array[i].is), "making an array");
  for (size_t i = 0; i < c->objects; i++)
    if (c->object[i].array) c->object[i].of.res.array.hArray = array_of(c, c->object[i].array)->made;
  uint64_t *have = calloc(c->objects + 1, sizeof *have);
  if (!have) stop(1, "out of memory");
  if (c->objects) qsort(c->object, c->objects, sizeof *c->object, by_handle);
  make_all(c, have);
  uint8_t *were = malloc((size_t)c->arguments_size + 1);
  if (!were) stop(1, "out of memory");
  memcpy(were, c->arguments, c->arguments_size);
  for (size_t i = 0; i < c->objects; i++)
    if (!have[i] && !put_handle(c, were, c->object[i].handle, make(&c->object[i])))
      stop(3, "the driver gives a texture or surface object another handle, and the old one (%#llx) is in memory", (unsigned long long)c->object[i].handle);
  free(were);
  free(have);
}
