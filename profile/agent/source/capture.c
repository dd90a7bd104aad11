// A capture: one launch of the application's, written to a file with all that it takes to do it again in another process.
// Memory is only read. What lies behind the launch's arguments, and behind what lies there, is written before the launch;
// after it, hashes of what it left.
//
// The application must not notice, save for the time that it takes: host memory is read by the kernel of the operating system,
// which answers an error where a load of ours would fault; the device's is copied by the driver, most of it within the device (out.c writes it
// while the program runs on). Whatever takes long, or is more than was asked for, is given up, and the file removed.
//
// The file is a list of records: u32 type, u32 zero, u64 length, body. profile/capture/raw.go tells of the bodies.
#define _GNU_SOURCE
#include "agent.h"
#include "embed.h"
#include "hash.h"
#include "known.h"
#include "out.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/uio.h>
#include <unistd.h>

EMBED(gnvcc_hash_ptx, "hash.ptx");

enum place { ON_DEVICE, ON_HOST };

#define PATIENCE 0.25              // seconds that other threads get to leave their calls
#define BESIDE 2e-4                // seconds that it takes to ask streams that are idle, at the most
#define EARLIER 2.0                // seconds that earlier work gets to end: a program may have queued that much
#define HOST_RESTS_US 2000         // a thread that writes all the time has done so by then
#define MOST_NUMBERED 4000         // arrays; the replayer takes less than 4096
#define LONGEST_LAUNCH 1.0         // seconds for the launch itself, while other threads are held
#define ROOM ((size_t)64 << 20)    // bytes of the device's memory that are free for the launch, or nothing of ours stays there
#define COUNTED ((uint64_t)256 << 20) // bytes; less is copied in less than a millisecond
#define LARGEST_VARIABLE ((uint64_t)16 << 20) // bytes

struct item { // an allocation, a variable of the kernel's module, or (FOUND) memory of the driver's own
  uint64_t base, size;
  enum kind kind;
  char *name; // a copy: the verdict's is gone when the launch returns
  bool constant, reached; // constant: kernels can't write it
  struct array array;     // of an ARRAY, whose base is that of a copy in memory while there is one
};

struct capture {
  const struct launch *l;
  const struct kernel *k;
  CUcontext context;
  struct out *out; // the file
  struct bounds may;
  uint64_t managed; // bytes of managed memory
  double loading;       // of the tools, seconds
  double begin, before; // since when the program is held up; how long before the launch
  bool beside;          // other streams had work when the launch's own had none: waiting for them, and the launch by itself, hold it up, too
  struct item *items; // allocations sorted by address, then variables, then what was found
  size_t allocs, n;    // n may grow with the arguments
  size_t *queue, queued, done;
  bool textures;          // the kernel has such accesses
  struct object *objects; // all that there are, if so; those that it reaches are marked
  size_t objects_n, objects_reached;
  bool *object_reached;
  uint8_t *piece;         // where what is read next comes to
  uint64_t *sums;         // of the chunks of the item that is being written, two each; NULL: not known
  uint32_t *ever;         // of the same chunks, as hash.cu has it
  CUdeviceptr made;       // where they leave what they give
  uint64_t made_room;     // for so many chunks
  CUdeviceptr list;       // of the items, on the device, and which of them are reached
  CUstream stream;
};
static struct { // the kernels of hash.cu: the driver compiles them for a tenth of a second and more, so they stay loaded
  CUcontext context;
  CUmodule module;
  CUfunction hash, look;
} tools;
static struct capture *pending; // of the thread that holds talk, between the launch's two ends
static __thread bool mine;
static __thread bool rested; // the device, for the capture of this launch, whatever came of it

static bool give_up(struct capture *c, const char *why) { return out_give_up(c->out, why); }

// A capture may hold the program up no longer, also behind the launch.
static bool late(struct capture *c) {
  return now() - c->begin > c->may.seconds && !give_up(c, "reading the memory that the launch reaches takes longer than a capture may hold the program up");
}

static bool record(struct capture *c, enum record type, struct buffer *b, const void *more, size_t n) {
  out_write(c->out, type, b, more, n);
  return !c->out->why;
}

// Takes care that there is room for what is read next.
static bool piece(struct capture *c, bool pinned) {
  if (!c->piece) c->piece = out_piece(c->begin + c->may.seconds, pinned);
  return c->piece || (!late(c) && give_up(c, "out of memory"));
}

// ---- What is reached.

static bool read_host(void *to, uint64_t from, uint64_t n) {
  struct iovec here = {to, n}, there = {(void *)(uintptr_t)from, n};
  return process_vm_readv(getpid(), &here, 1, &there, 1, 0) == (ssize_t)n;
}

static bool on_host(enum kind kind) { return kind == PINNED || kind == REGISTERED; }

// Threads of the program may write to it while kernels run. Managed memory is where it was used last; the driver copies it from there, and where
// the launch is done again it is the device's.
static bool of_both(enum kind kind) { return on_host(kind) || kind == MANAGED; }

static struct item *item_of(struct capture *c, uint64_t p) {
  size_t lo = 0, hi = c->allocs;
  while (lo < hi) {
    size_t mid = (lo + hi) / 2;
    if (c->items[mid].base + c->items[mid].size <= p) lo = mid + 1;
    else hi = mid;
  }
  if (lo < c->allocs && p >= c->items[lo].base) return &c->items[lo];
  for (size_t i = c->allocs; i < c->n; i++)
    if (c->items[i].kind != ARRAY && p >= c->items[i].base && p < c->items[i].base + c->items[i].size) return &c->items[i];
  return NULL;
}

static void reach_one(struct capture *c, struct item *x) {
  if (x->reached) return;
  x->reached = true;
  c->queue[c->queued++] = (size_t)(x - c->items);
}

// What is mapped piece by piece, one behind the other, is one array to a kernel.
static void reach(struct capture *c, struct item *x) {
  reach_one(c, x);
  if (x->name || x->kind != MAPPED) return;
  struct item *first = c->items, *last = c->items + c->allocs - 1;
  for (struct item *y = x; y > first && y[-1].kind == MAPPED && y[-1].base + y[-1].size == y->base; y--) reach_one(c, y - 1);
  for (struct item *y = x; y < last && y[1].kind == MAPPED && y->base + y->size == y[1].base; y++) reach_one(c, y + 1);
}

// What a texture or surface object stands for. Words of memory are often as small as handles are: where nothing is known of what such an object
// is over, it may be gone.
static bool reach_object(struct capture *c, size_t i, bool argument) {
  const struct object *o = &c->objects[i];
  if (c->object_reached[i]) return true;
  c->object_reached[i] = true;
  if (o->of.resType == CU_RESOURCE_TYPE_LINEAR || o->of.resType == CU_RESOURCE_TYPE_PITCH2D) { // both begin with the address
    struct item *x = item_of(c, o->of.res.linear.devPtr);
    if (!x && !argument) return !(c->object_reached[i] = false);
    if (!x || x->name) return give_up(c, "a texture is over memory that is not known, or over a variable");
    c->objects_reached++;
    reach(c, x);
    return true;
  }
  if (o->of.resType != CU_RESOURCE_TYPE_ARRAY) return give_up(c, "a texture is over a mipmapped array");
  struct item *x = c->items + c->allocs, *end = c->items + c->n;
  while (x < end && (x->kind != ARRAY || x->array.handle != o->of.res.array.hArray)) x++;
  if (x == end) {
    if (c->n - c->allocs > MOST_NUMBERED) return give_up(c, "the launch reaches more than 4,000 arrays and variables");
    *x = (struct item){.kind = ARRAY, .constant = true};
    if (!array_find(o->of.res.array.hArray, o->context, &x->array))
      return give_up(c, "a texture or surface is over an array that can't be copied (of another interface, sparse, a level of another one, or gone)");
    x->size = x->array.size;
    for (size_t k = 0; k < c->objects_n; k++)
      if (c->objects[k].surface && c->objects[k].of.resType == CU_RESOURCE_TYPE_ARRAY && c->objects[k].of.res.array.hArray == x->array.handle) x->constant = false;
    c->n++;
  }
  c->objects_reached++;
  reach_one(c, x);
  return true;
}

// A word that may be an object's handle: a texture's and a surface's may be the same.
static bool scan_handle(struct capture *c, uint64_t v, bool argument) {
  size_t lo = 0, hi = c->objects_n;
  if (hi == 0 || v < c->objects[0].handle || v > c->objects[hi - 1].handle) return true; // nearly all
  while (lo < hi) {
    size_t mid = (lo + hi) / 2;
    if (c->objects[mid].handle < v) lo = mid + 1;
    else hi = mid;
  }
  for (; lo < c->objects_n && c->objects[lo].handle == v; lo++)
    if (!reach_object(c, lo, argument)) return false;
  return true;
}

#define SCANNED ((size_t)4096) // bytes of which it is seen at once that they hold no address

static bool reach_by_word(struct capture *c, struct item *x) {
  if (x->name) return give_up(c, "memory holds the address of a variable, which is another one in another process");
  reach(c, x);
  return true;
}

// Where all lies that an address may be of.
static void bounds_of(const struct capture *c, uint64_t *low, uint64_t *span) {
  uint64_t high = *low = c->items[0].base;
  for (size_t i = 0; i < c->n; i++) {
    if (c->items[i].base < *low) *low = c->items[i].base;
    if (c->items[i].base + c->items[i].size > high) high = c->items[i].base + c->items[i].size;
  }
  *span = high - *low;
}

// Looks for addresses in words. False: one points to a variable, whose address can't be had again.
static bool scan(struct capture *c, const uint8_t *p, size_t n) {
  uint64_t low, span;
  bounds_of(c, &low, &span);
  for (size_t begin = 0, end; begin < n; begin = end) {
    end = n - begin < SCANNED ? n : begin + SCANNED;
    uint64_t some = c->objects_n;
    for (size_t at = begin; at + 8 <= end; at += 8) {
      uint64_t v;
      memcpy(&v, p + at, 8);
      some += v - low < span;
    }
    for (size_t at = begin; some && at + 8 <= end; at += 8) {
      uint64_t v;
      memcpy(&v, p + at, 8);
      if (!scan_handle(c, v, false)) return false;
      struct item *x = v - low < span ? item_of(c, v) : NULL;
      if (x && !reach_by_word(c, x)) return false;
    }
  }
  return true;
}

static bool list_items(struct capture *c, const struct variable *v, uint32_t nv) {
  size_t n = 0;
  struct alloc *a = allocs_copy(&n);
  if (c->textures && !(c->objects = objects_copy(c->l->context, &c->objects_n))) return give_up(c, "out of memory");
  c->object_reached = calloc(c->objects_n + 1, sizeof *c->object_reached);
  size_t most = n + nv + c->k->bytes / 8 + c->objects_n + 2; // each word of the arguments may lead to one more
  c->items = calloc(most, sizeof *c->items);
  c->queue = calloc(most, sizeof *c->queue);
  if (!a || !c->items || !c->queue || !c->object_reached) {
    free(a);
    return give_up(c, "out of memory");
  }
  for (size_t i = 0; i < n; i++)
    if (a[i].kind == MAPPED || a[i].kind == SHARED || of_both(a[i].kind) || a[i].context == c->l->context)
      c->items[c->allocs++] = (struct item){.base = a[i].base, .size = a[i].size, .kind = a[i].kind};
  free(a);
  c->n = c->allocs;
  CUmodule m = NULL;
  if (nv > 0 && cu.FuncGetModule(&m, c->k->function) != CUDA_SUCCESS) return give_up(c, "the kernel's module can't be told");
  for (uint32_t i = 0; i < nv; i++) {
    CUdeviceptr p = 0;
    size_t size = 0;
    CUresult r = cu.ModuleGetGlobal(&p, &size, m, v[i].name);
    if (r == CUDA_ERROR_NOT_FOUND) continue; // not given out: the replay tells whether it mattered
    if (r != CUDA_SUCCESS) return give_up(c, "the driver does not report where the module's variables are");
    // The hash reads words. On an H200 (driver 580) a variable in device memory stands at a multiple of 256; those in constant memory stand close
    // together, and are not hashed: kernels can't write them.
    if (p % 8 && !v[i].constant) return give_up(c, "a variable is not aligned to 8 bytes");
    c->items[c->n] = (struct item){.base = p, .size = size, .kind = VARIABLE, .name = strdup(v[i].name), .constant = v[i].constant};
    if (!c->items[c->n].name) return give_up(c, "out of memory");
    reach(c, &c->items[c->n++]);
  }
  return true;
}

// Memory of the driver's own that an argument points to: another module's variable. The driver tells where it begins and how long it is (measured
// on an H200, driver 580: exactly the variable), and in another process it is memory at its old address like any other. One that overlaps with what
// is known is not what it is taken for: of memory that is shared with others only the begin is known.
static bool add_found(struct capture *c, uint64_t p) {
  uint64_t base = 0, size = 0;
  unsigned managed = 1;
  int device = -1;
  CUdevice own = 0;
  CUcontext context = NULL;
  if (cu.PointerGetAttribute(&managed, CU_POINTER_ATTRIBUTE_IS_MANAGED, p) != CUDA_SUCCESS || managed) return give_up(c, "an argument points to managed memory");
  if (cu.CtxGetDevice(&own) != CUDA_SUCCESS || cu.PointerGetAttribute(&device, CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL, p) != CUDA_SUCCESS || device != own ||
      cu.PointerGetAttribute(&context, CU_POINTER_ATTRIBUTE_CONTEXT, p) != CUDA_SUCCESS || context != c->l->context)
    return give_up(c, "an argument points to memory of another context or device");
  if (cu.PointerGetAttribute(&base, CU_POINTER_ATTRIBUTE_RANGE_START_ADDR, p) != CUDA_SUCCESS ||
      cu.PointerGetAttribute(&size, CU_POINTER_ATTRIBUTE_RANGE_SIZE, p) != CUDA_SUCCESS || base > p || p - base >= size || base % 8)
    return give_up(c, "the driver does not report the extent of memory that an argument points to");
  for (size_t i = 0; i < c->n; i++)
    if (c->items[i].kind != ARRAY && base < c->items[i].base + c->items[i].size && c->items[i].base < base + size) return give_up(c, "an argument points to memory that is known only in part");
  c->items[c->n] = (struct item){.base = base, .size = size, .kind = FOUND};
  reach(c, &c->items[c->n++]);
  return true;
}

// The pointers among the arguments. One that the driver knows and we don't is another module's variable, or the like.
static bool from_arguments(struct capture *c, const uint8_t *args) {
  for (uint32_t i = 0; i < c->k->count; i++)
    for (uint32_t at = 0; at + 8 <= c->k->size[i]; at += 8) {
      uint64_t p;
      unsigned type = 0;
      memcpy(&p, args + c->k->offset[i] + at, 8);
      if (!scan_handle(c, p, true)) return false;
      if (p < 1 << 16) continue;
      struct item *x = item_of(c, p);
      if (x && x->name) return give_up(c, "an argument is the address of a variable, which is another one in another process");
      if (x) reach(c, x);
      else if (cu.PointerGetAttribute(&type, CU_POINTER_ATTRIBUTE_MEMORY_TYPE, p) != CUDA_SUCCESS || type == 0) continue;
      else if (type != CU_MEMORYTYPE_DEVICE) return give_up(c, "an argument points to memory of the driver's that is not on the device");
      else if (!add_found(c, p)) return false;
    }
  return true;
}

// ---- Before the launch.

static bool get_attribute(struct capture *c, CUfunction_attribute which, int *v) {
  CUdevice device = 0;
  if (cu.CtxGetDevice(&device) != CUDA_SUCCESS) return give_up(c, "the driver does not report the current device");
  if (c->k->f != c->k->function && cu.KernelGetAttribute && cu.KernelGetAttribute(v, which, (CUkernel)c->k->f, device) == CUDA_SUCCESS) return true;
  return cu.FuncGetAttribute(v, which, c->k->function) == CUDA_SUCCESS || give_up(c, "the driver does not report the kernel's attributes");
}

static bool write_kernel(struct capture *c, const uint8_t *args) {
  const struct launch *l = c->l;
  int most = 0, carveout = -1;
  if (!get_attribute(c, CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES, &most) ||
      !get_attribute(c, CU_FUNC_ATTRIBUTE_PREFERRED_SHARED_MEMORY_CARVEOUT, &carveout))
    return false;
  size_t stack = 0;
  CUfunc_cache cache = CU_FUNC_CACHE_PREFER_NONE;
  if (cu.CtxGetLimit && cu.CtxGetLimit(&stack, CU_LIMIT_STACK_SIZE) != CUDA_SUCCESS) return give_up(c, "the driver does not report the stack's size");
  if (cu.CtxGetCacheConfig && cu.CtxGetCacheConfig(&cache) != CUDA_SUCCESS) return give_up(c, "the driver does not report the cache configuration");
  struct buffer b = {0};
  put_str(&b, c->k->name);
  for (int i = 0; i < 3; i++) put_u32(&b, l->grid[i]);
  for (int i = 0; i < 3; i++) put_u32(&b, l->block[i]);
  put_u32(&b, l->dynamic);
  put_u32(&b, (uint32_t)most);
  put_u32(&b, (uint32_t)carveout);
  put_u32(&b, (uint32_t)cache);
  put_u32(&b, kernel_cache_of(c->k));
  put_u64(&b, stack);
  put_u32(&b, c->k->count);
  for (uint32_t i = 0; i < c->k->count; i++) {
    put_u32(&b, c->k->offset[i]);
    put_u32(&b, c->k->size[i]);
  }
  put_bytes(&b, args, c->k->bytes);
  if (!record(c, REC_KERNEL, &b, NULL, 0)) return false;
  for (unsigned i = 0; l->config && i < l->config->numAttrs; i++) {
    // That of programmatic serialization allows a launch to begin before what is before it has ended, and obliges to
    // nothing. Before a capture all has ended; where it is done again it must not begin before its memory is there.
    if (l->config->attrs[i].id == CU_LAUNCH_ATTRIBUTE_IGNORE || l->config->attrs[i].id == CU_LAUNCH_ATTRIBUTE_PROGRAMMATIC_STREAM_SERIALIZATION) continue;
    put_u32(&b, (uint32_t)l->config->attrs[i].id);
    if (!record(c, REC_ATTRIBUTE, &b, &l->config->attrs[i].value, sizeof l->config->attrs[i].value)) return false;
  }
  return true;
}

static bool copy(struct capture *c, const struct item *x, uint64_t at, uint64_t n) {
  if (on_host(x->kind)) return read_host(c->piece, x->base + at, n) || give_up(c, "host memory that the launch reaches can't be read");
  return cu.MemcpyDtoH(c->piece, x->base + at, n) == CUDA_SUCCESS || give_up(c, "memory that the launch reaches can't be read");
}

// Copies an array into memory, to be read there like any other, until fold.
static bool unfold(struct capture *c, struct item *x) {
  CUdeviceptr p = 0;
  if (x->kind != ARRAY) return true;
  if (cu.MemAlloc(&p, x->size) != CUDA_SUCCESS) return give_up(c, "no room on the device for a copy of an array");
  if (array_copy(&x->array, p, false, c->stream) == CUDA_SUCCESS && cu.StreamSynchronize(c->stream) == CUDA_SUCCESS) {
    x->base = p;
    return true;
  }
  cu.MemFree(p);
  return give_up(c, "an array that the launch reaches can't be read");
}

static void fold(struct item *x) {
  if (x->kind == ARRAY && x->base) cu.MemFree(x->base), x->base = 0;
}

// In the file an array has a number of at most MOST_NUMBERED + 1 in an address' stead: no memory begins there.
static uint64_t number(const struct capture *c, const struct item *x) { return (uint64_t)(x - c->items) - c->allocs + 1; }

// ---- Hashes.

static void tools_close(struct capture *c, bool unload) {
  if (c->made) cu.MemFree(c->made);
  if (c->list) cu.MemFree(c->list);
  c->list = c->made = c->made_room = 0;
  if (!unload) return;
  if (tools.module && tools.context == c->context) cu.ModuleUnload(tools.module);
  tools.module = NULL, tools.hash = NULL;
}

void capture_context_gone(CUcontext context) {
  if (tools.context == context) tools.module = NULL, tools.hash = NULL;
}

static bool tools_open(struct capture *c) {
  if (tools.hash && tools.context == c->context) return true;
  tools.context = c->context;
  tools.hash = NULL;
  return cu.ModuleLoadData(&tools.module, gnvcc_hash_ptx) == CUDA_SUCCESS && cu.ModuleGetFunction(&tools.look, tools.module, "gnvcc_look") == CUDA_SUCCESS &&
         cu.ModuleGetFunction(&tools.hash, tools.module, "gnvcc_hash") == CUDA_SUCCESS;
}

// Has the device hash an item, as the stream's next work. False: it could not.
static bool hash_item(struct capture *c, const struct item *x, uint64_t chunks, uint64_t *list) {
  if (!tools_open(c)) return false;
  if (chunks > c->made_room) {
    if (c->made) cu.MemFree(c->made);
    c->made_room = chunks < 4096 ? 4096 : chunks;
    if (cu.MemAlloc(&c->made, 20 * c->made_room) != CUDA_SUCCESS) {
      c->made = c->made_room = 0;
      return false;
    }
  }
  uint64_t base = x->base, size = x->size;
  void *params[] = {&base, &size, &c->made};
  return cu.LaunchKernel(tools.hash, (unsigned)chunks, 1, 1, 256, 1, 1, 0, c->stream, params, NULL) == CUDA_SUCCESS && cu.StreamSynchronize(c->stream) == CUDA_SUCCESS &&
         cu.MemcpyDtoH(list, c->made, 16 * chunks) == CUDA_SUCCESS;
}

// Has it look for addresses in an item that was hashed, and for chunks in which no word is ever one. False: it could not.
static bool look_through(struct capture *c, const struct item *x, uint64_t chunks) {
  uint32_t n = (uint32_t)c->n, sorted = (uint32_t)c->allocs;
  uint64_t base = x->base, size = x->size, low, span, (*list)[2] = calloc(n + 1, sizeof *list), found = c->list + sizeof *list * n, ever = c->made + 16 * c->made_room;
  uint32_t *reached = calloc(n + 1, sizeof *reached);
  bounds_of(c, &low, &span);
  bool ok = list && reached;
  for (uint32_t i = 0; ok && i < n; i++) list[i][0] = c->items[i].base, list[i][1] = c->items[i].base + c->items[i].size;
  if (ok && !c->list) ok = cu.MemAlloc(&c->list, (sizeof *list + sizeof *reached) * n) == CUDA_SUCCESS && cu.MemcpyHtoD(c->list, list, sizeof *list * n) == CUDA_SUCCESS;
  found = c->list + sizeof *list * n;
  void *params[] = {&base, &size, &c->list, &sorted, &n, &low, &span, &ever, &found};
  ok = ok && cu.MemcpyHtoD(found, reached, sizeof *reached * n) == CUDA_SUCCESS && // none
       cu.LaunchKernel(tools.look, (unsigned)chunks, 1, 1, 256, 1, 1, 0, c->stream, params, NULL) == CUDA_SUCCESS && cu.StreamSynchronize(c->stream) == CUDA_SUCCESS &&
       cu.MemcpyDtoH(c->ever, ever, sizeof *c->ever * chunks) == CUDA_SUCCESS && cu.MemcpyDtoH(reached, found, sizeof *reached * n) == CUDA_SUCCESS;
  for (uint32_t i = 0; ok && i < n; i++)
    if (reached[i]) reach_by_word(c, &c->items[i]);
  free(list);
  free(reached);
  return ok;
}

static void forget_hashes(struct capture *c) {
  free(c->sums);
  free(c->ever);
  c->sums = NULL, c->ever = NULL;
}

// Has hashes of an item before it is read: what is zero, or written already, is not. Of memory that is mapped piece by piece nobody knows whether it
// may be read at all, and a kernel that does so would end the program, where a copy fails; the same of memory that is no longer there.
static void hash_before(struct capture *c, const struct item *x) {
  uint64_t word, chunks = x->size / HASH_CHUNK;
  if ((x->kind != DEVICE && x->kind != ASYNC) || chunks < 2 || x->size % 8 || c->textures || cu.MemcpyDtoH(&word, x->base, 8) != CUDA_SUCCESS ||
      cu.MemcpyDtoH(&word, x->base + x->size - 8, 8) != CUDA_SUCCESS)
    return;
  c->sums = calloc(chunks + 1, 16);
  c->ever = calloc(chunks + 1, sizeof *c->ever);
  if (c->sums && c->ever && hash_item(c, x, (x->size + HASH_CHUNK - 1) / HASH_CHUNK, c->sums) && look_through(c, x, (x->size + HASH_CHUNK - 1) / HASH_CHUNK)) return;
  forget_hashes(c);
  if (!tools.hash) give_up(c, "what the launch leaves can't be hashed"); // nor will it be when all is read
}

enum { COPIED, LOOKED, ZERO, WRITTEN }; // LOOKED: it is copied, and what it has addresses of is known
static int chunk_is(const struct capture *c, const struct item *x, uint64_t at) {
  static uint64_t zeros[2];
  const uint64_t *sum = c->sums + 2 * (at / HASH_CHUNK);
  if (!c->sums || x->size - at < HASH_CHUNK) return COPIED;
  if (!zeros[0]) {
    uint8_t *none = calloc(1, HASH_CHUNK);
    if (!none) return COPIED;
    hash_host(none, HASH_CHUNK, zeros);
    free(none);
  }
  return memcmp(sum, zeros, sizeof zeros) == 0 ? ZERO : known_has(sum) ? WRITTEN : LOOKED;
}

// Names the chunks that are written already: what is not zero and has no data has its hash alone. The others are so known to the next capture.
static bool write_before(struct capture *c, const struct item *x) {
  struct buffer b = {0};
  bool ok = true;
  for (uint64_t at = 0; ok && at + HASH_CHUNK <= x->size; at += HASH_CHUNK) {
    int is = chunk_is(c, x, at);
    put_u8(&b, is == WRITTEN);
    put_u64(&b, c->sums[2 * (at / HASH_CHUNK)]);
    put_u64(&b, c->sums[2 * (at / HASH_CHUNK) + 1]);
    ok = is != WRITTEN || out_fill(c->out, HASH_CHUNK);
  }
  if (ok) return record(c, REC_BEFORE, &b, NULL, 0);
  buffer_free(&b);
  return false;
}

// Of what is read now, chunks in which no word can be an address, whatever is allocated later, need not be looked through again.
static void note_known(const struct capture *c, uint64_t from, uint64_t n) {
  for (uint64_t at = from; c->sums && at + HASH_CHUNK <= from + n; at += HASH_CHUNK)
    if (!c->ever[at / HASH_CHUNK]) known_add(c->sums + 2 * (at / HASH_CHUNK));
}

// The bytes from a place on whose chunks are alike.
static uint64_t alike(const struct capture *c, const struct item *x, uint64_t at, int is) {
  uint64_t n = 0;
  while (at + n < x->size && chunk_is(c, x, at + n) == is) n += HASH_CHUNK;
  return n < x->size - at ? n : x->size - at;
}

static bool write_content(struct capture *c, struct item *x) {
  uint64_t address = x->kind == ARRAY ? 0 : x->base;
  for (uint64_t at = 0, n; at < x->size; at += n) {
    int is = chunk_is(c, x, at);
    n = alike(c, x, at, is);
    if (late(c) || c->out->why) return false;
    if (is == ZERO || is == WRITTEN) continue;
    if (is == LOOKED && out_aside(c->out, address + at, x->base + at, n, c->stream)) {
      note_known(c, at, n);
      continue;
    }
    if (n > PIECE) n = PIECE;
    if (!piece(c, x->size > PIECE) || !copy(c, x, at, n) || (is == COPIED && !scan(c, c->piece, n))) return false;
    note_known(c, at, n);
    out_data(c->out, address + at, c->piece, n);
    c->piece = NULL;
  }
  return !c->out->why;
}

static bool write_item(struct capture *c, struct item *x) {
  struct buffer b = {0};
  if (x->kind == SHARED) return give_up(c, "the launch reaches memory that is shared with another process or interface");
  // Of managed memory there may be more than the device has, and what is read comes into being (H200: a program that asked for 141 GB and used
  // little of it stood still for more than 40 s). So all of it counts, also where it is zero.
  if (x->kind == MANAGED && (c->managed += x->size) > c->may.memory) return give_up(c, "the launch reaches more memory than a capture may have");
  if (x->name) {
    if (x->size > LARGEST_VARIABLE) return give_up(c, "a variable has more than 16 MiB");
    uint8_t *all = malloc(x->size + 1);
    if (!all) return give_up(c, "out of memory");
    bool ok = cu.MemcpyDtoH(all, x->base, x->size) == CUDA_SUCCESS || give_up(c, "memory that the launch reaches can't be read");
    put_str(&b, x->name);
    put_u8(&b, x->constant);
    ok = ok && record(c, REC_VARIABLE, &b, all, x->size) && scan(c, all, x->size);
    buffer_free(&b);
    free(all);
    return ok;
  }
  unsigned flags = 0;
  if (x->kind == PINNED && cu.MemHostGetFlags && cu.MemHostGetFlags(&flags, (void *)x->base) == CUDA_SUCCESS && flags & CU_MEMHOSTALLOC_WRITECOMBINED && x->size > HASH_CHUNK)
    return give_up(c, "the launch reaches write-combined memory, which is very slow to read");
  put_u64(&b, x->kind == ARRAY ? number(c, x) : x->base);
  put_u64(&b, x->size);
  if (x->kind != ARRAY) put_u32(&b, on_host(x->kind) ? ON_HOST : ON_DEVICE);
  if (!(x->kind == ARRAY ? record(c, REC_ARRAY, &b, &x->array.is, sizeof x->array.is) : record(c, REC_RANGE, &b, NULL, 0)) || !unfold(c, x)) return false;
  hash_before(c, x);
  bool ok = !c->out->why && (!c->sums || write_before(c, x)) && write_content(c, x);
  forget_hashes(c);
  fold(x);
  return ok;
}

static bool some_object(struct capture *c, size_t n) {
  return !c->textures || n > 0 || give_up(c, "the kernel reads textures or surfaces, and no handle of one is among its arguments or in memory that it reaches");
}

static bool write_objects(struct capture *c) {
  if (!some_object(c, c->objects_reached)) return false;
  for (size_t i = 0; i < c->objects_n; i++) {
    const struct object *o = &c->objects[i];
    struct buffer b = {0};
    uint64_t array = 0;
    if (!c->object_reached[i]) continue;
    for (struct item *x = c->items + c->allocs; x < c->items + c->n && o->of.resType == CU_RESOURCE_TYPE_ARRAY; x++)
      if (x->kind == ARRAY && x->array.handle == o->of.res.array.hArray) array = number(c, x);
    put_u64(&b, o->handle);
    put_u32(&b, o->surface);
    put_u32(&b, o->viewed);
    put_u64(&b, array);
    put_bytes(&b, &o->of, sizeof o->of);
    put_bytes(&b, &o->how, sizeof o->how);
    if (!record(c, REC_OBJECT, &b, &o->view, sizeof o->view)) return false;
  }
  return true;
}

static void drop(struct capture *c) {
  if (c->piece) out_data(c->out, 0, c->piece, 0);
  for (size_t i = 0; c->items && i < c->n; i++) free(c->items[i].name);
  free(c->items);
  free(c->queue);
  free(c->objects);
  free(c->object_reached);
  free(c);
}

static bool before(struct capture *c, const struct variable *v, uint32_t nv) {
  c->loading = now();
  tools_open(c); // where it fails, it is tried again when it is needed
  c->loading = now() - c->loading;
  c->begin += c->loading; // once in a process, and no reason to give up
  uint8_t *args = calloc(1, c->k->bytes + 8);
  bool ok = args && launch_gather(c->l, c->k, args) && list_items(c, v, nv) && from_arguments(c, args) && write_kernel(c, args);
  if (!ok && !c->out->why) give_up(c, "the launch's arguments can't be read");
  free(args);
  ok = ok && some_object(c, c->objects_n); // a look at the memory would be for nothing
  while (ok && c->done < c->queued) ok = write_item(c, &c->items[c->queue[c->done++]]);
  ok = ok && write_objects(c);
  size_t left = 0, total = 0;
  if (cu.MemGetInfo(&left, &total) != CUDA_SUCCESS || left < ROOM) tools_close(c, true); // the launch may need what they take, which comes in large pieces
  tools_close(c, false);
  if (ok && atomic_load(&c->out->filled) > COUNTED) cu.StreamSynchronize(c->stream); // copies within the device, which are part of it
  c->before = now() - c->begin;
  c->before += c->loading;
  return ok;
}

// Begins a capture: the caller holds talk, and its own count at the gate is given back. True: memory was read, the gate is closed,
// and capture_after must follow when the launch returns. False: nothing is held, and why.
bool capture_before(const struct launch *l, const struct kernel *k, const char *path, const struct bounds *may, bool textures, const struct variable *v, uint32_t nv, char *why, size_t n) {
  struct capture *c = calloc(1, sizeof *c);
  struct out *o = c && path ? out_open(path, may, l->context) : NULL;
  CUresult error = CUDA_SUCCESS;
  if (!o) {
    free(c);
    snprintf(why, n, "out of memory");
    return false;
  }
  *c = (struct capture){.l = l, .k = k, .context = l->context, .out = o, .may = *may, .textures = textures, .begin = now(), .stream = l->stream};
  bool closed = !o->why && (gate_close(PATIENCE) || give_up(c, "other threads stay in CUDA calls"));
  CUstreamCaptureMode mode = CU_STREAM_CAPTURE_MODE_RELAXED;
  cu.ThreadExchangeStreamCaptureMode(&mode);
  if (!closed) {}
  else if (atomic_load(&captures) > 0) give_up(c, "a stream is being captured into a graph"); // begun since it was looked at
  else if (!streams_idle(l->context, l->stream, EARLIER, may->seconds, &c->begin, &error)) {
    if (error == CUDA_ERROR_NOT_READY) late(c); // for that long other streams had work
    give_up(c, error == CUDA_ERROR_NOT_READY || error == CUDA_SUCCESS ? "the device is busy" : "the program's earlier work has failed");
  } else {
    rested = true;
    c->beside = now() - c->begin > BESIDE;
    if (!c->beside) c->begin = now();
    before(c, v, nv);
  }
  if (o->why) tools_close(c, false), known_settle(false);
  cu.ThreadExchangeStreamCaptureMode(&mode);
  if (o->why) {
    snprintf(why, n, "%s", o->why);
    if (closed) gate_open();
    drop(c);
    out_end(o, false);
    return false;
  }
  c->l = NULL; // the callback's, and gone at the launch's end
  pending = c;
  mine = true;
  return true;
}

// ---- After the launch.

static bool wait_for_launch(struct capture *c) {
  CUresult r;
  for (double begin = now(), t; (r = cu.StreamQuery(c->stream)) == CUDA_ERROR_NOT_READY;) {
    if ((t = now() - begin) > LONGEST_LAUNCH) return give_up(c, "the launch takes more than 1 s, or waits for something");
    if (t > 1e-3) usleep(50);
  }
  return r == CUDA_SUCCESS || give_up(c, "the launch failed");
}

static void hash_chunks(struct capture *c, const struct item *x, uint64_t chunks, uint64_t *list) {
  for (uint64_t k = 0; !c->out->why && k < chunks; k++) {
    uint64_t size = x->size - k * HASH_CHUNK < HASH_CHUNK ? x->size - k * HASH_CHUNK : HASH_CHUNK;
    if (late(c) || !piece(c, false) || !copy(c, x, k * HASH_CHUNK, size)) return;
    hash_host(c->piece, size, list + 2 * k);
  }
}

// The launch is over and no CUDA call is under way: who changes host memory now is a thread of the program's that does so at any
// time. Then neither what was read before nor what was hashed after the launch is what the launch had and left.
static void host_rests(struct capture *c, const struct item *x, uint64_t chunks, const uint64_t *list) {
  uint64_t *again = calloc(chunks + 1, 16);
  if (!again) {
    give_up(c, "out of memory");
    return;
  }
  usleep(HOST_RESTS_US);
  hash_chunks(c, x, chunks, again);
  if (!c->out->why && memcmp(list, again, 16 * chunks) != 0) give_up(c, "CPU threads write to memory that the launch reaches, also while no kernel runs");
  free(again);
}

static bool write_after(struct capture *c) {
  uint64_t most = 0;
  for (size_t i = 0; i < c->queued; i++) {
    uint64_t chunks = (c->items[c->queue[i]].size + HASH_CHUNK - 1) / HASH_CHUNK;
    if (chunks > most) most = chunks;
  }
  uint64_t *list = calloc(most + 1, 16);
  if (!list) give_up(c, "out of memory");
  for (size_t i = 0; !c->out->why && i < c->queued; i++) {
    struct item *x = &c->items[c->queue[i]];
    if (x->constant || !unfold(c, x)) continue; // kernels can't write it
    uint64_t chunks = (x->size + HASH_CHUNK - 1) / HASH_CHUNK;
    if (of_both(x->kind)) { // pages of managed memory stay where they are
      hash_chunks(c, x, chunks, list);
      host_rests(c, x, chunks, list);
    } else if (!late(c) && !hash_item(c, x, chunks, list)) give_up(c, "what the launch left can't be hashed");
    struct buffer b = {0};
    fold(x);
    put_str(&b, x->name);
    put_u64(&b, x->name ? 0 : x->kind == ARRAY ? number(c, x) : x->base);
    if (!c->out->why) record(c, REC_AFTER, &b, list, 16 * chunks);
    buffer_free(&b);
  }
  free(list);
  return !c->out->why;
}

bool capture_pending(void) { return mine; }

bool capture_rested(void) {
  bool was = rested;
  rested = false;
  return was;
}

static bool wanted(const struct capture *c, double took) {
  bool any = c->may.wants == 0 || took == 0; // 0: not known
  for (uint32_t i = 0; i < c->may.wants; i++) any |= took >= c->may.want[i][0] && took <= c->may.want[i][1];
  return any;
}

void capture_after(bool launched) {
  struct capture *c = pending;
  struct out *o = c->out;
  pending = NULL;
  mine = false;
  CUstreamCaptureMode mode = CU_STREAM_CAPTURE_MODE_RELAXED;
  double begin = now(), took = 0;
  inside = OURS;
  cu.ThreadExchangeStreamCaptureMode(&mode);
  if (!launched) give_up(c, "the launch failed");
  else if (wait_for_launch(c)) {
    took = sample_seconds();
    if (!wanted(c, took)) give_up(c, "the launch does not take what was asked for");
    if (!c->beside) begin = now(); // the device does the program's own work, and would do no other
    c->begin = begin - (c->before - c->loading);
    if (!o->why) write_after(c);
  }
  tools_close(c, false);
  known_settle(!o->why);
  cu.ThreadExchangeStreamCaptureMode(&mode);
  gate_open();
  struct buffer b = {0};
  put_str(&b, o->why);
  put_u64(&b, atomic_load(&o->filled));
  put_f64(&b, c->before);
  put_f64(&b, now() - begin);
  put_f64(&b, took);
  bool told = frame_send(FRAME_CAPTURED, &b) || give_up(c, "gnvcc is gone"); // and nobody would remove the file
  buffer_free(&b);
  drop(c);
  out_end(o, told && !o->why);
  inside = OUTSIDE;
}
