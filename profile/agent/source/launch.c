// Launches: how often each configuration (function, grid, block, dynamic shared memory) was launched, which bytes of its
// arguments stayed the same, and the question to gnvcc what to do with one. The usual launch, of a configuration that is
// known and that nobody asks about, costs a hash lookup and a comparison of its arguments with the first ones.
#define _GNU_SOURCE
#include "agent.h"
#include "out.h"
#include "sets.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

#define SHAPES 16384     // buckets
#define MOST_SHAPES 65536 // configurations in one process; what comes after is not looked at
#define SUMMARY_MS 500   // what a crash may cost of the counts

struct shape {
  struct shape *next, *older; // in its bucket; in the list of all
  struct kernel *kernel;
  unsigned grid[3], block[3], dynamic, flags;
  uint32_t id;
  uint64_t count, varied;
  uint64_t rows; // launches directly behind one of the same configuration
  uint64_t past; // of count, those that no host stub made
  bool quiet;                    // never ask again
  struct sets sets;              // of values; one alone where nobody observes
  uint32_t *values;              // room for one launch's
  double watched, beside;        // seconds, of launches in bursts; of them, beside another stream's kernel
  CUstream stream;               // of the first launch
  bool streams;                  // there were launches in others
  uint8_t *first, *same, *here;  // arguments: of the first launch, 1 per byte that never changed, of this launch
  uint8_t *prior;                // those of the launch directly before this one, where that was one of the same
  bool behind;                   // it was
  uint64_t *any;                 // per parameter of 8 bytes: all values or-ed
  bool changed;                  // since the last summary
  bool announced;                // gnvcc knows it: its first question was sent
};

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER; // of everything here
static struct shape *buckets[SHAPES], *newest;
static struct kernel *kernels;
static uint32_t shape_count;
atomic_ulong graph_launches;
static uint32_t devices_sent; // a bit per ordinal

// ---- Kernels.

void kernels_drop(CUcontext context, struct module *m) {
  pthread_mutex_lock(&lock);
  for (struct kernel *k = kernels; k; k = k->next)
    if (k->context == context && (!m || k->module == m)) k->f = NULL; // its handle may be given out again
  pthread_mutex_unlock(&lock);
}

static struct kernel *kernel_find(CUfunction f, CUcontext context) {
  struct kernel *k = kernels;
  while (k && (k->f != f || k->context != context)) k = k->next;
  return k;
}

// Asks the driver about a function. No lock of ours may be held: the driver may load the kernel now, and it may hold a lock of
// its own while it calls us on another thread.
static struct kernel *kernel_new(CUfunction f, CUcontext context) {
  struct kernel *k = calloc(1, sizeof *k);
  if (!k) return NULL;
  k->f = f;
  k->context = context;
  CUmodule handle = NULL;
  const char *name = NULL;
  // Loading a module is forbidden during a capture, unless the thread says that it knows what it does.
  CUstreamCaptureMode mode = CU_STREAM_CAPTURE_MODE_RELAXED;
  inside = OURS;
  cu.ThreadExchangeStreamCaptureMode(&mode);
  module_forget();
  inside = RESOLVING;
  if (!cu.KernelGetFunction || cu.KernelGetFunction(&k->function, (CUkernel)f) != CUDA_SUCCESS) k->function = f;
  if (cu.FuncGetModule(&handle, k->function) != CUDA_SUCCESS) handle = NULL;
  inside = OURS;
  if (cu.FuncGetName) cu.FuncGetName(&name, k->function);
  if (!name && cu.KernelGetName) cu.KernelGetName(&name, (CUkernel)f);
  k->name = strdup(name ? name : "");
  if (handle && k->name) {
    module_bind(context, handle);
    k->module = module_of(context, handle, k->name);
  }
  size_t offset, size, n = 0;
  CUresult end = CUDA_ERROR_NOT_FOUND;
  while (cu.FuncGetParamInfo && (end = cu.FuncGetParamInfo(k->function, n, &offset, &size)) == CUDA_SUCCESS) n++;
  k->listed = end == CUDA_ERROR_INVALID_VALUE; // there is none of this number
  k->offset = calloc(n + 1, sizeof *k->offset);
  k->size = calloc(n + 1, sizeof *k->size);
  for (size_t i = 0; k->offset && k->size && i < n; i++) {
    cu.FuncGetParamInfo(k->function, i, &offset, &size);
    k->offset[i] = (uint32_t)offset;
    k->size[i] = (uint32_t)size;
    if (offset + size > k->bytes) k->bytes = (uint32_t)(offset + size);
    k->count++;
  }
  k->place = calloc(k->bytes / 4 + 2, 1);
  for (uint32_t i = 0; k->place && i < k->count; i++)
    for (uint32_t at = k->offset[i]; at % 8 == 0 && at + 8 <= k->offset[i] + k->size[i]; at += 8) k->place[at / 4] = 1;
  cu.ThreadExchangeStreamCaptureMode(&mode);
  inside = OUTSIDE;
  return k;
}

bool launch_gather(const struct launch *l, const struct kernel *k, uint8_t *into) {
  if (k->count == 0) return true;
  memset(into, 0, k->bytes);
  if (l->params) {
    for (uint32_t i = 0; i < k->count; i++) memcpy(into + k->offset[i], l->params[i], k->size[i]);
    return true;
  }
  const uint8_t *p = NULL;
  size_t n = 0;
  for (void **e = l->extra; e && *e != CU_LAUNCH_PARAM_END; e += 2) {
    if (*e == CU_LAUNCH_PARAM_BUFFER_POINTER) p = e[1];
    if (*e == CU_LAUNCH_PARAM_BUFFER_SIZE) n = *(const size_t *)e[1];
  }
  if (!p) return false; // the driver will refuse it
  memcpy(into, p, n < k->bytes ? n : k->bytes);
  return true;
}

// ---- Kernels that the application asks the driver about: by registers and shared memory it may choose its grids and blocks, and these
// its results. Handles are kept, since a question may come before the first launch, and by another of a kernel's two handles.

static CUfunction *questions;
static size_t question_count, question_room;

static bool questioned(const struct kernel *k) {
  for (size_t i = 0; i < question_count; i++)
    if (questions[i] == k->f || questions[i] == k->function) return true;
  return false;
}

void kernel_asked(CUfunction f) {
  pthread_mutex_lock(&lock);
  size_t i = 0;
  while (i < question_count && questions[i] != f) i++;
  bool new = i == question_count, all = false;
  if (new && question_count == question_room) {
    size_t room = question_room ? 2 * question_room : 64;
    void *p = realloc(questions, room * sizeof *questions);
    if (p) questions = p, question_room = room;
    else all = true; // what can't be kept is asked of every kernel
  }
  if (new && !all) questions[question_count++] = f;
  for (struct kernel *k = new ? kernels : NULL; k; k = k->next) k->asked |= all || k->f == f || k->function == f;
  for (struct shape *s = new ? newest : NULL; s; s = s->older) s->changed |= s->kernel->asked;
  pthread_mutex_unlock(&lock);
}

// There is no way to ask for a kernel's cache configuration.
static struct {
  CUfunction f;
  uint32_t config;
} caches[64];

void kernel_cache(CUfunction f, uint32_t config) {
  pthread_mutex_lock(&lock);
  size_t i = 0;
  while (i < sizeof caches / sizeof *caches - 1 && caches[i].f && caches[i].f != f) i++;
  caches[i].f = f;
  caches[i].config = config;
  pthread_mutex_unlock(&lock);
}

uint32_t kernel_cache_of(const struct kernel *k) {
  uint32_t out = 255;
  pthread_mutex_lock(&lock);
  for (size_t i = 0; i < sizeof caches / sizeof *caches; i++)
    if (caches[i].f && (caches[i].f == k->f || caches[i].f == k->function)) out = caches[i].config;
  pthread_mutex_unlock(&lock);
  return out;
}

// ---- Configurations.

static uint64_t mix(uint64_t h, uint64_t v) { return (h ^ v) * 0x9e3779b97f4a7c15u ^ h >> 29; }

static struct shape *shape_find(const struct launch *l, uint64_t *hash) {
  uint64_t h = mix(mix(mix(mix((uint64_t)l->f, l->grid[0]), (uint64_t)l->grid[1] << 32 | l->grid[2]),
                       (uint64_t)l->block[0] << 40 ^ (uint64_t)l->block[1] << 20 ^ l->block[2]), (uint64_t)l->dynamic << 8 | l->flags);
  *hash = (h ^ h >> 32) % SHAPES;
  for (struct shape *s = buckets[*hash]; s; s = s->next)
    if (s->kernel->f == l->f && s->kernel->context == l->context && !memcmp(s->grid, l->grid, sizeof s->grid) &&
        !memcmp(s->block, l->block, sizeof s->block) && s->dynamic == l->dynamic && s->flags == l->flags)
      return s;
  return NULL;
}

static struct shape *shape_add(const struct launch *l, struct kernel *k, uint64_t hash) {
  struct shape *s = calloc(1, sizeof *s);
  size_t n = k->bytes ? k->bytes : 1;
  if (!s || !(s->first = calloc(4, n)) || !(s->any = calloc(k->count + 1, sizeof *s->any)) || !(s->values = calloc(n / 4 + 2, 4)) ||
      !sets_open(&s->sets, observing ? k->bytes : 0)) {
    if (s) free(s->first), free(s->any), free(s->values);
    free(s);
    return NULL;
  }
  s->same = s->first + n;
  s->here = s->same + n;
  s->prior = s->here + n;
  memset(s->same, 1, n);
  s->kernel = k;
  memcpy(s->grid, l->grid, sizeof s->grid);
  memcpy(s->block, l->block, sizeof s->block);
  s->dynamic = l->dynamic;
  s->flags = l->flags;
  s->id = ++shape_count;
  s->next = buckets[hash];
  buckets[hash] = s;
  s->older = newest;
  newest = s;
  return s;
}

// ---- Sets of values. An address is none: from run to run it is another one, and programs take turns with buffers.

enum place { NARROW, WIDE, ADDRESS = 255 }; // can't be an address; may be one, so many numbers were seen there; holds one
#define MOST_LOOKS 64                       // numbers, after which a place is taken to hold no address

// Arguments as words, addresses as whether there is one.
static void normal(struct shape *s, const uint8_t *args, uint32_t *to) {
  struct kernel *k = s->kernel;
  if (s->sets.words == 0) return;
  to[s->sets.words - 1] = 0;
  memcpy(to, args, k->bytes);
  for (uint32_t w = 0; k->place && w + 1 < s->sets.words; w++) {
    uint64_t v;
    if (k->place[w] == NARROW) continue;
    memcpy(&v, to + w, 8);
    if (k->place[w] != ADDRESS && v >> 16 && v >> 47 == 0 && k->place[w] < MOST_LOOKS) {
      if (s->sets.n > 0 && memcmp(s->sets.args + w, to + w, 8) == 0) continue; // looked up before
      k->place[w]++;
      if (alloc_holds(v)) {
        k->place[w] = ADDRESS;
        if (s->sets.n > 0) { // what went before counted it
          sets_ignore(&s->sets, w);
          sets_ignore(&s->sets, w + 1);
        }
      }
    }
    if (k->place[w] == ADDRESS) {
      to[w] = v != 0;
      to[w + 1] = 0;
    }
  }
}

// The set that the launch at hand belongs to; NULL: no memory. The first launch's stays the first one.
static struct set *shape_set(struct shape *s) {
  if (s->sets.n > 0 && (s->sets.words == 0 || memcmp(s->first, s->here, s->kernel->bytes) == 0)) return &s->sets.set[0];
  normal(s, s->here, s->values);
  return sets_add(&s->sets, s->values);
}

// What tells a set from others, for later: it may move. NULL: no memory.
static uint32_t *values_of(const struct shape *s, const struct set *x) {
  size_t n = s->sets.words * sizeof(uint32_t);
  uint32_t *out = malloc(n + 1);
  if (out) memcpy(out, s->sets.args + (size_t)(x - s->sets.set) * s->sets.words, n);
  return out;
}

static void shape_arguments(struct shape *s, const struct launch *l) {
  const struct kernel *k = s->kernel;
  if (!launch_gather(l, k, s->here)) return;
  bool first = s->count == 1;
  if (first) s->stream = l->stream;
  s->streams |= s->stream != l->stream;
  if (first) memcpy(s->first, s->here, k->bytes);
  else if (memcmp(s->first, s->here, k->bytes) == 0) return;
  else {
    s->varied++;
    for (uint32_t i = 0; i < k->bytes; i++) s->same[i] &= s->first[i] == s->here[i];
  }
  for (uint32_t i = 0; i < k->count; i++)
    if (k->size[i] == 8) {
      uint64_t v;
      memcpy(&v, s->here + k->offset[i], 8);
      s->any[i] |= v;
    }
}

// ---- What is sent to gnvcc.

static void put_aligns(struct buffer *b, const struct shape *s) {
  for (uint32_t i = 0; i < s->kernel->count; i++) put_u8(b, s->any[i] ? (uint8_t)__builtin_ctzll(s->any[i]) : 64);
}

bool put_attributes(struct buffer *b, CUfunction f) {
  bool all = true;
  static const CUfunction_attribute which[] = {
      CU_FUNC_ATTRIBUTE_NUM_REGS, CU_FUNC_ATTRIBUTE_SHARED_SIZE_BYTES, CU_FUNC_ATTRIBUTE_LOCAL_SIZE_BYTES, CU_FUNC_ATTRIBUTE_CONST_SIZE_BYTES,
      CU_FUNC_ATTRIBUTE_MAX_THREADS_PER_BLOCK, CU_FUNC_ATTRIBUTE_BINARY_VERSION, CU_FUNC_ATTRIBUTE_PTX_VERSION,
  };
  for (size_t i = 0; i < sizeof which / sizeof *which; i++) {
    int v = 0;
    all &= cu.FuncGetAttribute(&v, which[i], f) == CUDA_SUCCESS;
    put_u32(b, (uint32_t)v);
  }
  return all;
}

static bool device_send(int ordinal) {
  if (ordinal < 0 || ordinal >= 32 || devices_sent >> ordinal & 1) return true;
  char name[256] = "";
  CUuuid uuid = {{0}};
  size_t memory = 0;
  bool read = cu.DeviceGetName(name, sizeof name, ordinal) == CUDA_SUCCESS && cu.DeviceGetUuid(&uuid, ordinal) == CUDA_SUCCESS &&
              cu.DeviceTotalMem(&memory, ordinal) == CUDA_SUCCESS;
  static const CUdevice_attribute which[] = {
      CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR, CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR, CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT,
      CU_DEVICE_ATTRIBUTE_L2_CACHE_SIZE, CU_DEVICE_ATTRIBUTE_MAX_REGISTERS_PER_MULTIPROCESSOR, CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_MULTIPROCESSOR,
      CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK_OPTIN, CU_DEVICE_ATTRIBUTE_MAX_THREADS_PER_MULTIPROCESSOR, CU_DEVICE_ATTRIBUTE_CLOCK_RATE,
      CU_DEVICE_ATTRIBUTE_MEMORY_CLOCK_RATE,
  };
  struct buffer b = {0};
  put_u32(&b, (uint32_t)ordinal);
  put_str(&b, name);
  put_bytes(&b, &uuid, sizeof uuid);
  put_u64(&b, memory);
  for (size_t i = 0; i < sizeof which / sizeof *which; i++) {
    int v = 0;
    read = read && cu.DeviceGetAttribute(&v, which[i], ordinal) == CUDA_SUCCESS;
    put_u32(&b, (uint32_t)v);
  }
  if (read) devices_sent |= 1u << ordinal;
  else note("the driver does not describe device %d", ordinal);
  bool ok = read && frame_send(FRAME_DEVICE, &b);
  buffer_free(&b);
  return ok;
}

// A pointer to memory that CUDA did not allocate: where the GPU reaches all of the host's memory, a kernel may write
// there, and we would not see it. 0: none; else the parameter's number from 1.
static uint32_t host_pointer(const struct shape *s, CUdevice device) {
  int reaches = 0;
  if (cu.DeviceGetAttribute(&reaches, CU_DEVICE_ATTRIBUTE_PAGEABLE_MEMORY_ACCESS, device) == CUDA_SUCCESS && !reaches) return 0;
  for (uint32_t i = 0; i < s->kernel->count; i++)
    for (uint32_t at = 0; at + 8 <= s->kernel->size[i]; at += 8) {
      uint64_t v;
      memcpy(&v, s->here + s->kernel->offset[i] + at, 8);
      if (v < 1 << 16 || v >> 47) continue;
      unsigned type = 0;
      if (cu.PointerGetAttribute(&type, CU_POINTER_ATTRIBUTE_MEMORY_TYPE, v) == CUDA_SUCCESS && type != 0) continue;
      unsigned char page;
      if (mincore((void *)(v & ~(uint64_t)4095), 1, &page) == 0) return i + 1;
    }
  return 0;
}

// Why this launch can't be repeated in a process of its own, "" if it can.
static void leave_alone(const struct launch *l, const struct shape *s, CUdevice device, char *text, size_t n) {
  *text = 0;
  uint32_t p;
  if (l->flags & L_CAPTURED) snprintf(text, n, "%s%s", l->why ? "a kernel of a graph: " : "the launch is captured into a graph", l->why ? l->why : "");
  else if (l->flags & L_EVENT) snprintf(text, n, "the launch records an event of the program");
  else if (l->flags & L_UNKNOWN) snprintf(text, n, "the launch has attributes that are not known here");
  else if (atomic_load(&captures) > 0) snprintf(text, n, "a stream is being captured into a graph");
  else if (!walking && !(l->flags & L_PROGRAMMATIC) && (p = host_pointer(s, device)))
    snprintf(text, n, "parameter %u points to host memory that CUDA did not allocate", p - 1);
}

struct verdict {
  enum frame what; // GO, SESSION or CAPTURE
  uint64_t again;
  struct variable *v;
  uint32_t nv;
  char *path; // of a capture
  struct bounds may;
  bool textures; // the kernel has such accesses
};

static void verdict_free(struct verdict *d) {
  for (uint32_t i = 0; d->v && i < d->nv; i++) free(d->v[i].name);
  free(d->v);
  free(d->path);
  *d = (struct verdict){.what = FRAME_GO};
}

static bool verdict_receive(struct verdict *d) {
  struct buffer b = {0};
  verdict_free(d);
  int type = frame_receive(&b);
  if (type < 0) return false;
  if (type == FRAME_GO) d->again = get_u64(&b);
  else {
    uint32_t n = get_u32(&b);
    if (!b.bad && n <= b.n && (d->v = calloc(n + 1, sizeof *d->v)))
      for (; d->nv < n; d->nv++) {
        d->v[d->nv].name = get_str(&b);
        d->v[d->nv].constant = get_u8(&b) != 0;
      }
    d->textures = get_u8(&b) != 0;
  }
  if (type == FRAME_CAPTURE) {
    d->path = get_str(&b);
    d->may.memory = get_u64(&b);
    d->may.file = get_u64(&b);
    d->may.seconds = get_f64(&b);
    d->may.patience = get_f64(&b);
    d->may.wants = get_u32(&b);
    b.bad |= d->may.wants > sizeof d->may.want / sizeof *d->may.want;
    for (uint32_t i = 0; !b.bad && i < d->may.wants; i++) d->may.want[i][0] = get_f64(&b), d->may.want[i][1] = get_f64(&b);
  }
  bool ok = !b.bad && (type == FRAME_GO || ((type == FRAME_SESSION || type == FRAME_CAPTURE) && d->v));
  if (ok) d->what = (enum frame)type;
  buffer_free(&b);
  if (!ok) socket_close(); // not our protocol: go on without it
  return ok;
}

static void refuse(const char *why, struct verdict *d) {
  struct buffer b = {0};
  put_str(&b, why);
  bool ok = frame_send(FRAME_REFUSED, &b);
  buffer_free(&b);
  if (!ok || !verdict_receive(d)) verdict_free(d);
}

// Settles when to ask about launches with these values again, and frees them.
static void ask_again(struct shape *s, uint32_t *values, uint64_t again) {
  pthread_mutex_lock(&lock);
  struct set *x = values ? sets_find(&s->sets, values) : NULL;
  if (!again) s->quiet = true;
  else if (x) x->again = x->count + again;
  pthread_mutex_unlock(&lock);
  free(values);
}

// Between the two ends of a launch; with talk held.
static struct {
  struct shape *shape;
  uint32_t *values;
} captured;

void launch_captured(bool success) {
  struct verdict d = {0};
  capture_after(success);
  if (!verdict_receive(&d)) verdict_free(&d);
  ask_again(captured.shape, captured.values, d.again);
  captured.values = NULL;
  verdict_free(&d);
  if (!walking) pthread_mutex_unlock(&talk);
}

// Whether a launch does not come from the kernel's host stub, which alone could choose a second entry.
static bool past_stub(const struct launch *l) {
  return walking || (l->config && l->config->numAttrs > 0) || l->flags & (L_CAPTURED | L_COOPERATIVE | L_CLUSTER);
}

// Asks gnvcc about a launch with these values, and does what it wants with it. The thread has the gate's count on entry and on return.
static void ask(struct shape *s, const struct launch *l, uint32_t *values) {
  struct kernel *k = s->kernel;
  if (!walking) {
    gate_leave(); // or the thread that has a session would wait for us, and we for it
    if (!talk_begin()) {
      free(values);
      gate_enter();
      return;
    }
  }
  inside = OURS;
  if (observing) { // so that it knows what weighs
    samples_collect(l->context);
    summary_send(false);
  }
  CUdevice device = 0;
  bool device_known = cu.CtxGetDevice(&device) == CUDA_SUCCESS;
  struct module *module = k->module && !module_gone(k->module) ? k->module : NULL;
  struct total all = allocs_total();
  char why[160];
  leave_alone(l, s, device, why, sizeof why);
  bool ok = device_send(device) && (!module || module_send(module));
  if (!device_known) snprintf(why, sizeof why, "the driver does not report the current device");
  int most = 0; // dynamic shared memory that the application allowed
  if (k->f == k->function || !cu.KernelGetAttribute ||
      cu.KernelGetAttribute(&most, CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES, (CUkernel)k->f, device) != CUDA_SUCCESS)
    if (cu.FuncGetAttribute(&most, CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES, k->function) != CUDA_SUCCESS)
      snprintf(why, sizeof why, "the driver does not report how much shared memory the kernel may have");
  struct buffer b = {0};
  put_u32(&b, s->id);
  put_u32(&b, (uint32_t)device);
  put_u32(&b, module ? module->id : 0);
  put_str(&b, k->name);
  for (int i = 0; i < 3; i++) put_u32(&b, l->grid[i]);
  for (int i = 0; i < 3; i++) put_u32(&b, l->block[i]);
  put_u32(&b, l->dynamic);
  if (!put_attributes(&b, k->function) && !*why) snprintf(why, sizeof why, "the driver does not report the kernel's attributes");
  put_u32(&b, (uint32_t)most);
  pthread_mutex_lock(&lock);
  s->announced = true; // what is sent after this is read after this
  put_u64(&b, s->count);
  put_u32(&b, k->count);
  for (uint32_t i = 0; i < k->count; i++) {
    put_u32(&b, k->offset[i]);
    put_u32(&b, k->size[i]);
  }
  put_bytes(&b, s->here, k->bytes);
  put_bytes(&b, s->same, k->bytes);
  put_aligns(&b, s);
  put_bytes(&b, values, s->sets.words * sizeof *values);
  unsigned attributes = l->config ? l->config->numAttrs : 0;
  put_u32(&b, attributes);
  for (unsigned i = 0; i < attributes; i++) put_u32(&b, (uint32_t)l->config->attrs[i].id);
  put_str(&b, why);
  put_u64(&b, all.bytes);
  put_bytes(&b, s->prior, s->behind ? k->bytes : 0);
  put_u8(&b, past_stub(l));
  pthread_mutex_unlock(&lock);
  ok = ok && frame_send(FRAME_LAUNCH, &b);
  buffer_free(&b);
  struct verdict d = {0};
  if (!ok || !verdict_receive(&d)) verdict_free(&d);
  char trouble[256] = "";
  if (d.what == FRAME_SESSION && !session(l, k, d.v, d.nv, &d.again, trouble, sizeof trouble)) refuse(trouble, &d);
  else if (d.what == FRAME_CAPTURE) {
    if (capture_before(l, k, d.path, &d.may, d.textures, d.v, d.nv, trouble, sizeof trouble)) {
      captured.shape = s; // talk stays locked and the gate closed until the launch has returned
      captured.values = values;
      verdict_free(&d);
      inside = OUTSIDE;
      gate_keep();
      return;
    }
    refuse(trouble, &d);
  }
  inside = OUTSIDE;
  ask_again(s, values, d.again);
  verdict_free(&d);
  if (walking) return;
  pthread_mutex_unlock(&talk);
  gate_enter();
}

static bool summary_due(void) {
  static atomic_long last; // ms
  struct timespec t;
  clock_gettime(CLOCK_MONOTONIC_COARSE, &t);
  long ms = t.tv_sec * 1000 + t.tv_nsec / 1000000, before = atomic_load_explicit(&last, memory_order_relaxed);
  return ms - before >= SUMMARY_MS && atomic_compare_exchange_strong(&last, &before, ms);
}

// Tells gnvcc what there is, where it is time to: at a launch, of whatever kind, since a program may never end in order.
void summary_offer(CUcontext context) {
  if (!summary_due() || pthread_mutex_trylock(&talk) != 0) return;
  samples_collect(context);
  summary_send(false);
  pthread_mutex_unlock(&talk);
  sample_burst();
}

// The kernel of a function, made known where it is new. With the lock held, which is given up meanwhile.
static struct kernel *kernel_known(CUfunction f, CUcontext context) {
  struct kernel *k = kernel_find(f, context);
  if (k) return k;
  pthread_mutex_unlock(&lock);
  struct kernel *new = kernel_new(f, context);
  pthread_mutex_lock(&lock);
  k = kernel_find(f, context); // another thread may have been faster: then ours is of no use, and stays unused
  if (k || !new) return k;
  new->next = kernels;
  new->asked = questioned(new);
  return kernels = new;
}

struct kernel *kernel_of(CUfunction f, CUcontext context) {
  pthread_mutex_lock(&lock);
  struct kernel *k = kernel_known(f, context);
  pthread_mutex_unlock(&lock);
  return k;
}

// The configuration of a launch, with the lock held; NULL: there are too many, or no memory.
static struct shape *shape_of(const struct launch *l) {
  uint64_t hash;
  struct shape *s = shape_find(l, &hash);
  if (s || shape_count >= MOST_SHAPES) return s;
  struct kernel *k = kernel_known(l->f, l->context);
  s = shape_find(l, &hash);
  return s || !k ? s : shape_add(l, k, hash);
}

bool launch_announced(const struct launch *l) {
  uint64_t hash;
  pthread_mutex_lock(&lock);
  const struct shape *s = shape_find(l, &hash);
  bool announced = s && s->announced;
  pthread_mutex_unlock(&lock);
  return announced;
}

void launch_counted(struct launch *l, uint64_t n) {
  pthread_mutex_lock(&lock);
  struct shape *s = n > 0 ? shape_of(l) : NULL;
  if (s) {
    s->count += n;
    s->past += n;
    s->changed = true;
    shape_arguments(s, l);
    struct set *x = shape_set(s);
    if (x) x->count += n;
  }
  pthread_mutex_unlock(&lock);
}

// gnvcc hears of the kernel once; its launches are the graph's.
static void becomes_node(const struct launch *l) {
  pthread_mutex_lock(&lock);
  struct shape *s = shape_of(l);
  uint32_t *asked = NULL;
  if (s && !s->quiet) {
    s->quiet = true;
    s->count = 1; // so that its arguments are the first ones
    shape_arguments(s, l);
    struct set *x = shape_set(s);
    s->count = 0;
    asked = x ? values_of(s, x) : NULL;
  }
  pthread_mutex_unlock(&lock);
  if (asked) ask(s, l, asked);
}

void on_launch(struct launch *l) {
  if (!l->f) return; // the driver will refuse it; kernels that are gone have none either
  if (atomic_load_explicit(&captures, memory_order_relaxed) > 0) {
    CUstreamCaptureStatus status = CU_STREAM_CAPTURE_STATUS_NONE;
    inside = OURS;
    // An error means that the stream is the default one and another stream's capture forbids its use.
    if (cu.StreamIsCapturing(l->stream, &status) != CUDA_SUCCESS || status != CU_STREAM_CAPTURE_STATUS_NONE) l->flags |= L_CAPTURED | (observing && !l->why ? L_NODE : 0);
    inside = OUTSIDE;
  }
  if (l->flags & L_NODE) {
    becomes_node(l);
    return;
  }
  pthread_mutex_lock(&lock);
  struct shape *s = shape_of(l);
  if (!s) {
    pthread_mutex_unlock(&lock);
    return;
  }
  static struct shape *last; // of the process
  if (observing) launch_follows(s->id, l->stream);
  s->count++;
  s->past += past_stub(l);
  s->rows += s->behind = s == last;
  if (s->behind) memcpy(s->prior, s->here, s->kernel->bytes);
  last = s;
  s->changed = true;
  shape_arguments(s, l);
  bool first = s->count == 1;
  struct set *x = shape_set(s);
  if (x) x->count++;
  bool question = x && !s->quiet && x->again != 0 && x->count >= x->again;
  bool sampled = x && (sample_wanted(x->count) || (question && observing) || walking) && !(l->flags & L_CAPTURED) && atomic_load_explicit(&captures, memory_order_relaxed) == 0;
  double stands = sampled ? (double)(x->count - x->counted) : 0;
  if (sampled) x->counted = x->count;
  if (question) x->again = 0; // another thread that launches the same need not ask
  uint32_t words = s->sets.words, *values = sampled ? values_of(s, x) : NULL, *asked = question ? values_of(s, x) : NULL;
  pthread_mutex_unlock(&lock);
  capture_rested(); // what is left of a launch that was not timed
  if (question && asked) ask(s, l, asked);
  else summary_offer(l->context);
  if (sampled) sample_begin(s, first, values, words, stands, l->context, l->stream);
  free(values);
}

void shape_timed(struct shape *s, bool first, bool alone, const uint32_t *args, double seconds, double stands) {
  pthread_mutex_lock(&lock);
  struct set *x = args ? sets_find(&s->sets, args) : NULL;
  if (x && first) x->first_seconds = seconds;
  else if (x) set_timed(x, seconds, stands);
  if (x && alone) x->alone = seconds;
  s->changed = true;
  pthread_mutex_unlock(&lock);
}

void shape_followed(const struct shape *s, const struct shape *then, double seconds) {
  pthread_mutex_lock(&lock);
  launch_gap(s->id, then->id, seconds);
  pthread_mutex_unlock(&lock);
}

void shape_watched(struct shape *s, double seconds, double beside) {
  pthread_mutex_lock(&lock);
  s->watched += seconds;
  s->beside += beside;
  s->changed = true;
  pthread_mutex_unlock(&lock);
}

// The part of what its launches were timed at that is their own. Where streams run beside each other, the time between the events has what
// a kernel waits for others' blocks: 41 ms of a kernel of 0.18 ms behind another one in each of 64 streams. What a launch took that had the
// device to itself says what is its own.
static double own_part(const struct shape *s) {
  double alone = 0, all = 0;
  for (uint32_t i = 0; i < s->sets.n; i++) {
    const struct set *x = &s->sets.set[i];
    if (x->alone > 0 && x->timed > 0) alone += x->alone, all += x->seconds / x->stands;
  }
  bool beside = s->watched > 0 ? s->beside > s->watched / 2 : s->streams;
  return beside && alone > 0 && alone < all / 2 ? alone / all : 1;
}

// The mask says where addresses are: there one bit counts.
static void put_sets(struct buffer *b, const struct sets *s, const struct kernel *k, double part) {
  uint32_t *mask = calloc(s->words + 1, sizeof *mask);
  if (mask) memcpy(mask, s->mask, s->words * sizeof *mask);
  for (uint32_t w = 0; mask && k->place && w + 1 < s->words; w++)
    if (k->place[w] == ADDRESS) {
      mask[w] &= 0x01010101;
      mask[w + 1] &= 0x01010101;
    }
  put_bytes(b, mask, mask ? s->words * sizeof *mask : 0);
  free(mask);
  put_u32(b, s->n);
  for (uint32_t i = 0; i < s->n; i++) {
    const struct set *x = &s->set[i];
    put_bytes(b, s->args + (size_t)i * s->words, s->words * sizeof *s->args);
    put_u64(b, x->count);
    put_f64(b, part * (x->timed ? x->seconds / x->stands : x->first_seconds));
    put_u64(b, x->timed ? x->timed : x->first_seconds > 0);
    put_u32(b, x->classes_n);
    for (uint32_t c = 0; c < x->classes_n; c++) {
      put_f64(b, x->classes[c].launches);
      put_f64(b, part * x->classes[c].seconds);
    }
  }
}

void summary_send(bool all) {
  struct buffer b = {0};
  outs_report();
  uint64_t peak = allocs_peak();
  graphs_count();
  pthread_mutex_lock(&lock);
  put_u8(&b, all);
  put_u64(&b, atomic_load(&graph_launches));
  put_unseen(&b);
  put_u64(&b, peak);
  uint32_t n = 0;
  for (struct shape *s = newest; s; s = s->older) n += s->changed && s->announced;
  put_u32(&b, n);
  for (struct shape *s = newest; s; s = s->older) {
    if (!s->changed || !s->announced) continue;
    s->changed = false;
    put_u32(&b, s->id);
    put_u64(&b, s->count);
    put_u64(&b, s->varied);
    put_f64(&b, s->watched);
    put_f64(&b, s->beside);
    put_bytes(&b, s->same, s->kernel->bytes);
    put_aligns(&b, s);
    put_sets(&b, &s->sets, s->kernel, own_part(s));
    put_u8(&b, s->kernel->asked);
    put_u64(&b, s->rows);
    put_u64(&b, s->past);
  }
  put_between(&b, all);
  pthread_mutex_unlock(&lock);
  frame_send(FRAME_SUMMARY, &b);
  buffer_free(&b);
}
