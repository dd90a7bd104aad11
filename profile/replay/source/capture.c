// Reads a capture's file. It may come from anywhere: every length is checked before it is used.
#define _GNU_SOURCE
#include "replay.h"
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

// profile/capture/raw.go has the same numbers.
enum record { REC_KERNEL = 1, REC_ATTRIBUTE, REC_RANGE, REC_DATA, REC_VARIABLE, REC_AFTER, REC_END, REC_CUBIN, REC_DEVICE, REC_NUMBERS, REC_ARRAY, REC_OBJECT, REC_SCALAR = 14, REC_PART, REC_TEXELS };
static const char magic[16] = "gnvcc capture 1";

struct view {
  const uint8_t *p;
  uint64_t n;
};

static const uint8_t *take(struct view *v, uint64_t n) {
  if (n > v->n) stop(1, "the capture is damaged: a record is shorter than its fields");
  const uint8_t *p = v->p;
  v->p += n;
  v->n -= n;
  return p;
}

static uint32_t take32(struct view *v) {
  uint32_t x;
  memcpy(&x, take(v, 4), 4);
  return x;
}

static uint64_t take64(struct view *v) {
  uint64_t x;
  memcpy(&x, take(v, 8), 8);
  return x;
}

static const char *take_string(struct view *v) {
  uint32_t n = take32(v);
  const uint8_t *p = take(v, n);
  char *s = malloc((size_t)n + 1);
  if (!s) stop(1, "out of memory");
  memcpy(s, p, n);
  s[n] = 0;
  return s;
}

static void *grow(void *list, size_t n, size_t size) {
  if (n & (n + 1)) { // room grows with powers of two, less one
    return list;
  }
  void *p = realloc(list, (2 * n + 2) * size);
  if (!p) stop(1, "out of memory");
  return p;
}

static void read_kernel(struct capture *c, struct view *v) {
  c->kernel = take_string(v);
  for (int i = 0; i < 3; i++) c->grid[i] = take32(v);
  for (int i = 0; i < 3; i++) c->block[i] = take32(v);
  c->dynamic = take32(v);
  c->most = take32(v);
  c->carveout = take32(v);
  c->cache = take32(v);
  c->own_cache = take32(v);
  c->stack = take64(v);
  c->parameters = take32(v);
  if (c->parameters > MOST_PARAMETERS) stop(1, "the capture is damaged: a kernel with %u parameters", c->parameters);
  for (uint32_t i = 0; i < c->parameters; i++) {
    c->offset[i] = take32(v);
    c->size[i] = take32(v);
  }
  uint32_t n = c->arguments_size = take32(v);
  if (!(c->arguments = malloc((size_t)n + 1))) stop(1, "out of memory");
  memcpy(c->arguments, take(v, n), n);
  for (uint32_t i = 0; i < c->parameters; i++)
    if (c->offset[i] > n || c->size[i] > n - c->offset[i]) stop(1, "the capture is damaged: parameter %u lies outside of the arguments", i);
}

static struct range *range_of(struct capture *c, uint64_t p, uint64_t n) {
  for (size_t i = c->ranges; i-- > 0;)
    if (p >= c->range[i].base && n <= c->range[i].size && p - c->range[i].base <= c->range[i].size - n) return &c->range[i];
  return NULL;
}

static void read_range(struct capture *c, struct view *v) {
  struct range r = {.base = take64(v), .size = take64(v)};
  r.on_host = take32(v) != 0;
  if (r.base < 4096 || r.size == 0 || r.size > (uint64_t)1 << 46 || r.base > ((uint64_t)1 << 47) - r.size) stop(1, "the capture is damaged: a range at %#llx", (unsigned long long)r.base);
  c->range = grow(c->range, c->ranges, sizeof *c->range);
  c->range[c->ranges++] = r;
}

static void read_data(struct capture *c, struct view *v) {
  struct data d = {.address = take64(v)};
  d.size = v->n;
  d.p = take(v, v->n);
  if (d.size == 0 || !range_of(c, d.address, d.size)) stop(1, "the capture is damaged: data for no range");
  c->data = grow(c->data, c->datas, sizeof *c->data);
  c->data[c->datas++] = d;
}

// How much of memory a descriptor's array takes up must be what the file says: the driver copies by the descriptor.
static void read_array(struct capture *c, struct view *v) {
  struct array a = {.number = take64(v), .size = take64(v)};
  memcpy(&a.is, take(v, sizeof a.is), sizeof a.is);
  uint64_t rows = (a.is.Height ? a.is.Height : 1), layers = (a.is.Depth ? a.is.Depth : 1), most = (uint64_t)1 << 20;
  if (a.number == 0 || a.number >= 4096 || array_of(c, a.number) || a.is.Width > most || rows > most || layers > most || a.size == 0 || a.size > (uint64_t)1 << 40 ||
      a.size % (rows * layers) != 0 || a.is.NumChannels > 4 || a.size / (rows * layers) > 16 * a.is.Width)
    stop(1, "the capture is damaged: array %llu", (unsigned long long)a.number);
  a.row = a.size / (rows * layers);
  if (!(a.content = calloc(1, a.size))) stop(1, "out of memory");
  c->array = grow(c->array, c->arrays, sizeof *c->array);
  c->array[c->arrays++] = a;
}

static void read_array_data(struct array *a, struct view *v) {
  uint64_t at = take64(v), n = v->n;
  if (at > a->size || n > a->size - at) stop(1, "the capture is damaged: data for no array");
  memcpy(a->content + at, take(v, n), n);
}

static void take_struct(struct view *v, void *into, uint32_t size) {
  if (take32(v) != size) stop(1, "the capture is damaged: a texture's descriptor has another size");
  memcpy(into, take(v, size), size);
}

static void read_object(struct capture *c, struct view *v) {
  struct object o = {.handle = take64(v), .surface = take32(v) != 0};
  o.viewed = take32(v) != 0;
  o.array = take64(v);
  take_struct(v, &o.of, sizeof o.of);
  take_struct(v, &o.how, sizeof o.how);
  memcpy(&o.view, take(v, sizeof o.view), sizeof o.view);
  bool in_array = o.of.resType == CU_RESOURCE_TYPE_ARRAY;
  if (in_array != (o.array != 0) || (in_array && !array_of(c, o.array)) ||
      (!in_array && o.of.resType != CU_RESOURCE_TYPE_LINEAR && o.of.resType != CU_RESOURCE_TYPE_PITCH2D))
    stop(1, "the capture is damaged: a texture over nothing");
  c->object = grow(c->object, c->objects, sizeof *c->object);
  c->object[c->objects++] = o;
}

static enum numbers numbers_of(uint32_t is) { return is <= OCTETS ? (enum numbers)is : FLOATS; }

static void read_part(struct capture *c, struct view *v) {
  struct range p = {.base = take64(v), .size = take64(v)}, *r = p.size ? range_of(c, p.base, p.size) : NULL;
  if (!r || p.base % 8 != 0) stop(1, "the capture is damaged: a part of no range");
  p.on_host = r->on_host;
  p.numbers = numbers_of(take32(v));
  c->part = grow(c->part, c->parts, sizeof *c->part);
  c->part[c->parts++] = p;
}

static void read_variable(struct capture *c, struct view *v) {
  struct variable x = {.name = take_string(v)};
  uint8_t is = *take(v, 1);
  x.constant = is & 1;
  x.numbers = numbers_of(is >> 1);
  x.size = v->n;
  x.p = take(v, v->n);
  c->variable = grow(c->variable, c->variables, sizeof *c->variable);
  c->variable[c->variables++] = x;
}

// Reads hashes; which variable's they are is settled when the list no longer moves.
static void read_after(struct capture *c, struct view *v, const char **name) {
  struct after a = {0};
  *name = take_string(v);
  a.address = take64(v);
  a.chunks = v->n / 16;
  a.sums = take(v, v->n);
  c->after = grow(c->after, c->afters, sizeof *c->after);
  c->after[c->afters++] = a;
}

static void settle_after(struct capture *c, struct after *a, const char *name) {
  if (*name) {
    for (size_t i = 0; i < c->variables; i++)
      if (strcmp(c->variable[i].name, name) == 0) a->variable = &c->variable[i];
    if (!a->variable) stop(1, "the capture is damaged: hashes of no variable");
    a->size = a->variable->size;
  } else if ((a->array = array_of(c, a->address))) {
    a->size = a->array->size;
  } else {
    struct range *r = range_of(c, a->address, 1);
    if (!r || r->base != a->address) stop(1, "the capture is damaged: hashes of no range");
    a->size = r->size;
    a->on_host = r->on_host;
  }
  if (a->chunks != (a->size + ((uint64_t)1 << 20) - 1) >> 20) stop(1, "the capture is damaged: hashes for %llu chunks of %llu bytes", (unsigned long long)a->chunks, (unsigned long long)a->size);
}

void capture_read(struct capture *c, const char *path) {
  struct stat st;
  int fd = open(path, O_RDONLY | O_CLOEXEC);
  if (fd < 0 || fstat(fd, &st) != 0) stop(1, "%s: %s", path, strerror(errno));
  struct view all = {.n = (uint64_t)st.st_size};
  all.p = all.n ? mmap(NULL, all.n, PROT_READ, MAP_PRIVATE | MAP_POPULATE, fd, 0) : MAP_FAILED;
  close(fd);
  if (all.p == MAP_FAILED) stop(1, "%s can't be mapped", path);
  if (memcmp(take(&all, sizeof magic), magic, sizeof magic) != 0) stop(1, "%s is no capture of this version", path);
  const char **names = NULL;
  bool whole = false, array = false; // what data is of
  while (!whole) {
    uint32_t type = take32(&all);
    take32(&all);
    uint64_t n = take64(&all);
    struct view v = {.p = take(&all, n), .n = n};
    switch (type) {
    case REC_KERNEL: read_kernel(c, &v); break;
    case REC_ATTRIBUTE:
      if (c->attributes == 64) stop(1, "the capture is damaged: too many launch attributes");
      c->attribute[c->attributes].id = (CUlaunchAttributeID)take32(&v);
      memcpy(&c->attribute[c->attributes++].value, take(&v, sizeof(CUlaunchAttributeValue)), sizeof(CUlaunchAttributeValue));
      break;
    case REC_RANGE:
      read_range(c, &v);
      array = false;
      break;
    case REC_ARRAY:
      read_array(c, &v);
      array = true;
      break;
    case REC_OBJECT: read_object(c, &v); break;
    case REC_DATA:
      if (array) read_array_data(&c->array[c->arrays - 1], &v);
      else read_data(c, &v);
      break;
    case REC_VARIABLE: read_variable(c, &v); break;
    case REC_AFTER:
      names = grow(names, c->afters, sizeof *names);
      read_after(c, &v, &names[c->afters]);
      break;
    case REC_CUBIN: c->cubin = take(&v, v.n); break;
    case REC_DEVICE:
      c->device = take_string(&v);
      memcpy(c->uuid, take(&v, 16), 16);
      break;
    case REC_NUMBERS: {
      uint64_t base = take64(&v);
      struct range *r = range_of(c, base, 1);
      if (!r) stop(1, "the capture is damaged: numbers for no range");
      r->numbers = numbers_of(take32(&v));
      break;
    }
    case REC_PART: read_part(c, &v); break;
    case REC_TEXELS: c->texels = true; break;
    case REC_SCALAR: {
      uint32_t i = take32(&v), at = take32(&v), is = take32(&v), size = is == DOUBLES ? 8 : 4;
      if (i >= c->parameters || (is != FLOATS && is != DOUBLES) || size > c->size[i] || at > c->size[i] - size)
        stop(1, "the capture is damaged: a number outside of the arguments");
      c->scalar = grow(c->scalar, c->scalars, sizeof *c->scalar);
      c->scalar[c->scalars++] = (struct scalar){c->offset[i] + at, (enum numbers)is};
      break;
    }
    case REC_END: whole = true; break;
    default: stop(1, "the capture has a record of type %u, which is not known here", type);
    }
  }
  if (!c->kernel || !c->cubin || !c->device) stop(1, "the capture is damaged: it has no kernel, cubin or device");
  for (size_t i = 0; i < c->afters; i++) settle_after(c, &c->after[i], names[i]);
}
