// A session of a replay: one launch, repeated at gnvcc's command with the original kernel and with candidates, each time from
// the same memory. At its end memory is as before, and the replayer's own launch goes on.
#define _GNU_SOURCE
#include "agent.h"
#include <math.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define LEAST_NS 100 // no kernel takes less

struct candidate {
  CUmodule module;
  CUfunction f;
  CUdeviceptr *variables; // its own copies of the original's, 0 where it has none
  uint32_t reserve; // dynamic shared memory on top of the launch's, bytes
  unsigned grid[3], block[3]; // as it is launched
  bool live, warm;
};

struct session {
  const struct launch *l;
  const struct kernel *k;
  const struct variable *v;
  uint32_t nv;
  CUdeviceptr *variables; // the original's
  size_t *variable_sizes;
  struct store s;
  struct found *found;
  struct candidate *c; // 0: the original
  uint32_t nc;
  CUevent start, end;
  double own; // ns that these take themselves
  CUdeviceptr flush; // twice the L2 cache
  size_t flush_size;
  struct launch prior; // what ITSELF does before a timed run: this launch, or the one before it in the program
  uint8_t *given;      // its arguments, NULL: this launch's
  uint32_t row;        // launches before a timed one, the two in turns
  bool golden, over, lost; // lost: the context, since a kernel has crashed
  uint64_t printed[2]; // by the original
  uint64_t words, pairs; // that the original changed: what errors are the mean of
};

// ---- What is saved.

static bool add_region(struct session *x, uint64_t base, uint64_t size, enum kind kind, const char *name) {
  struct region *r = realloc(x->s.r, (x->s.n + 1) * sizeof *r);
  if (!r) return false;
  x->s.r = r;
  r[x->s.n++] = (struct region){.base = base, .size = size, .kind = kind, .name = name, .host = kind == PINNED || kind == REGISTERED};
  return true;
}

// The arrays that surfaces may write, each with memory to hold a copy.
static const char *list_arrays(struct session *x) {
  size_t n = 0;
  struct object *o = objects_copy(x->l->context, &n);
  const char *why = o ? NULL : "out of memory";
  for (size_t i = 0; !why && i < n; i++) {
    struct array a;
    CUdeviceptr p = 0;
    bool has = false;
    for (size_t k = 0; k < x->s.n; k++) has |= o[i].surface && x->s.r[k].array.handle == o[i].of.res.array.hArray;
    if (!o[i].surface || has) continue;
    if (!array_find(o[i].of.res.array.hArray, x->l->context, &a)) why = "a surface's array is not known";
    else if (cu.MemAlloc(&p, a.size) != CUDA_SUCCESS) why = "no room on the device for a copy of an array";
    else if (!add_region(x, p, a.size, ARRAY, NULL)) why = "out of memory", cu.MemFree(p);
    else x->s.r[x->s.n - 1].array = a;
  }
  free(o);
  return why;
}

static const char *list_regions(struct session *x) {
  size_t n = 0;
  struct alloc *a = allocs_copy(&n);
  if (!a) return "out of memory";
  const char *why = NULL;
  for (size_t i = 0; !why && i < n; i++)
    if (!add_region(x, a[i].base, a[i].size, a[i].kind, NULL)) why = "out of memory";
  free(a);
  if (why) return why;
  CUmodule m = NULL;
  x->variables = calloc(x->nv + 1, sizeof *x->variables);
  x->variable_sizes = calloc(x->nv + 1, sizeof *x->variable_sizes);
  if (!x->variables || !x->variable_sizes) return "out of memory";
  if (x->nv > 0 && cu.FuncGetModule(&m, x->k->function) != CUDA_SUCCESS) return "the kernel's module isn't known";
  for (uint32_t i = 0; i < x->nv; i++) {
    CUresult r = cu.ModuleGetGlobal(&x->variables[i], &x->variable_sizes[i], m, x->v[i].name);
    if (r == CUDA_ERROR_NOT_FOUND) {
      x->variables[i] = 0; // the driver does not give it out: a candidate's is checked by what comes of it
      continue;
    }
    if (r != CUDA_SUCCESS) return "the driver does not report where the module's variables are";
    // Constants can't be written by kernels.
    if (!x->v[i].constant && !add_region(x, x->variables[i], x->variable_sizes[i], VARIABLE, x->v[i].name)) return "out of memory";
  }
  return list_arrays(x);
}

// ---- Answers.

static void answer(struct session *x, enum frame type, struct buffer *b) {
  if (!frame_send(type, b)) x->over = true;
  if (b) buffer_free(b);
}

// A failure of ours or of the driver's. If the device no longer answers, a kernel has crashed: the context is lost.
static void answer_error(struct session *x, CUresult code, const char *doing) {
  const char *words = NULL;
  CUresult after = cu.CtxSynchronize();
  bool lost = after != CUDA_SUCCESS;
  if (lost) code = after;
  cu.GetErrorString(code, &words);
  struct buffer b = {0};
  put_u32(&b, (uint32_t)code);
  put_str(&b, doing);
  put_str(&b, words ? words : "unknown error");
  if (lost) {
    x->lost = x->over = true;
  }
  answer(x, lost ? FRAME_FAULT : FRAME_ERROR, &b);
}

static void answer_store(struct session *x) {
  const char *why = x->s.why;
  x->s.why = NULL;
  answer_error(x, x->s.code, why ? why : "out of memory");
}

static bool known(struct session *x, uint32_t id) {
  if (id < x->nc && x->c[id].live) return true;
  answer_error(x, CUDA_ERROR_INVALID_HANDLE, "finding a candidate");
  return false;
}

// ---- Runs.

static CUresult launch_as_seen(const struct launch *l, const struct candidate *c) {
  const unsigned *grid = c->grid, *block = c->block;
  if (l->config && cu.LaunchKernelEx) {
    CUlaunchConfig g = *l->config;
    g.gridDimX = grid[0], g.gridDimY = grid[1], g.gridDimZ = grid[2];
    g.blockDimX = block[0], g.blockDimY = block[1], g.blockDimZ = block[2];
    g.hStream = l->stream;
    g.sharedMemBytes += c->reserve;
    return cu.LaunchKernelEx(&g, c->f, l->params, l->extra);
  }
  return cu.LaunchKernel(c->f, grid[0], grid[1], grid[2], block[0], block[1], block[2], l->dynamic + c->reserve, l->stream, l->params, l->extra);
}

// Another grid and other blocks, as gnvcc has worked them out (0: as seen). A launch with attributes is not done otherwise: the program does
// not make it by its host stub, which alone could choose.
static bool reshape(struct candidate *c, const struct launch *l, const uint32_t shape[6]) {
  memcpy(c->grid, l->grid, sizeof c->grid);
  memcpy(c->block, l->block, sizeof c->block);
  int given = 0;
  for (int i = 0; i < 6; i++) given += shape[i] != 0;
  if (!given) return true;
  if (given < 6 || (l->config && l->config->numAttrs > 0)) return false;
  memcpy(c->grid, shape, sizeof c->grid);
  memcpy(c->block, shape + 3, sizeof c->block);
  return true;
}

// Gives a candidate's variables the original's values.
static bool lend_variables(struct session *x, const struct candidate *c) {
  for (uint32_t i = 0; c->variables && i < x->nv; i++) {
    if (!c->variables[i]) continue;
    CUresult r = cu.MemcpyDtoDAsync(c->variables[i], x->variables[i], x->variable_sizes[i], x->s.stream);
    if (r != CUDA_SUCCESS) return store_fail(&x->s, r, "copying the module's variables");
  }
  return true;
}

// Puts what a candidate wrote to its variables into the original's place, for the comparison. A variable that it did not
// change stays out of it: the kernel may have written to the original's, through a pointer.
static bool return_variables(struct session *x, const struct candidate *c) {
  for (uint32_t i = 0; c->variables && i < x->nv; i++) {
    if (!c->variables[i] || x->v[i].constant) continue;
    const struct region *r = x->s.r;
    while (r < x->s.r + x->s.n && (r->kind != VARIABLE || r->base != x->variables[i])) r++;
    bool same;
    if (r == x->s.r + x->s.n) continue;
    if (!compare_one(&x->s, r, c->variables[i], &same)) return false;
    if (same) continue;
    CUresult e = cu.MemcpyDtoDAsync(x->variables[i], c->variables[i], x->variable_sizes[i], x->s.stream);
    if (e != CUDA_SUCCESS) return store_fail(&x->s, e, "copying the module's variables");
  }
  return true;
}

// What a timed run finds in the L2 cache: what the last copies left there, nothing but lines of another array, or what runs of
// its own left, of which it also takes up the results.
enum before { COPIES, OTHERS, ITSELF };

// Puts memory back, and does the launches that go before a timed one. False: it has answered already.
static bool prepare(struct session *x, const struct candidate *c, enum before before) {
  if (!store_restore(&x->s) || !lend_variables(x, c)) {
    answer_store(x);
    return false;
  }
  for (uint32_t i = before == ITSELF ? x->row : 0; i > 0; i--)
    if (launch_as_seen(i % 2 ? &x->prior : x->l, c) != CUDA_SUCCESS) {
      answer_error(x, CUDA_ERROR_UNKNOWN, "launching once before");
      return false;
    }
  return true;
}

// Waits for an event. False: it has answered already.
static bool wait_for(struct session *x, CUevent event, uint32_t limit_ms) {
  CUresult r;
  double begin = now(), end = begin + limit_ms * 1e-3;
  while ((r = cu.EventQuery(event)) == CUDA_ERROR_NOT_READY) {
    double t = now();
    if (t > end) {
      answer(x, FRAME_HUNG, NULL);
      // The kernel can't be stopped: gnvcc ends the process.
      struct buffer b = {0};
      while (frame_receive(&b) >= 0) {}
      buffer_free(&b);
      x->over = true;
      return false;
    }
    if (t - begin > 1e-3) usleep(50);
    else sched_yield();
  }
  if (r == CUDA_SUCCESS) return true;
  answer_error(x, r, "launching");
  return false;
}

// One run, from the memory before the launch (ITSELF: of the first of its row, which are not timed). False: it has answered already.
static bool run_once(struct session *x, uint32_t id, enum before before, uint32_t limit_ms, double *ns) {
  struct candidate *c = &x->c[id];
  prints_trim();
  if (!prepare(x, c, before)) return false;
  if (before == OTHERS && cu.MemsetD8Async(x->flush, 0, x->flush_size, x->s.stream) != CUDA_SUCCESS) {
    answer_error(x, CUDA_ERROR_UNKNOWN, "emptying the L2 cache");
    return false;
  }
  if (!compare_delay(x->s.stream, DELAY_NS)) { // without it the host's part would be timed
    answer_error(x, CUDA_ERROR_UNKNOWN, "holding the stream back for a timed run");
    return false;
  }
  CUresult r = cu.EventRecord(x->start, x->s.stream);
  if (r == CUDA_SUCCESS) r = launch_as_seen(x->l, c);
  if (r == CUDA_SUCCESS) r = cu.EventRecord(x->end, x->s.stream);
  if (r != CUDA_SUCCESS) {
    answer_error(x, r, "launching");
    return false;
  }
  if (!wait_for(x, x->end, limit_ms)) return false;
  float ms = 0;
  if ((r = cu.EventElapsedTime(&ms, x->start, x->end)) != CUDA_SUCCESS) {
    answer_error(x, r, "reading a run's time");
    return false;
  }
  *ns = (double)ms * 1e6 - x->own;
  if (*ns < LEAST_NS) *ns = LEAST_NS;
  return true;
}

// One run with more dynamic shared memory than the launch asks for, so that fewer blocks are resident: the same function with the same arguments and
// variables. Of the kernel itself the attribute is the program's, which is put back. False: it has answered already.
static bool run_throttled(struct session *x, uint32_t id, enum before before, uint32_t more, uint32_t limit_ms, double *ns) {
  static const CUfunction_attribute which = CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES;
  struct candidate *c = &x->c[id], own = *c;
  int was = 0;
  if (id == 0) c->f = x->k->function; // the attribute is that of the function behind it
  c->reserve += more;
  CUresult r = cu.FuncGetAttribute(&was, which, c->f);
  bool raised = r == CUDA_SUCCESS && was < (int)(x->l->dynamic + c->reserve), ran = false;
  if (raised) r = cu.FuncSetAttribute(c->f, which, (int)(x->l->dynamic + c->reserve));
  if (r != CUDA_SUCCESS) answer_error(x, r, "allowing a kernel more shared memory");
  else ran = run_once(x, id, before, limit_ms, ns);
  if (raised && r == CUDA_SUCCESS && cu.FuncSetAttribute(c->f, which, was) != CUDA_SUCCESS) note("%s may still take more shared memory than the program has allowed it", x->k->name);
  c->f = own.f;
  c->reserve = own.reserve;
  return ran;
}

// One run of which also the output is reported. False: it has answered already.
static bool run_printing(struct session *x, uint32_t id, enum before before, uint32_t more, uint32_t limit_ms, double *ns, uint64_t printed[2]) {
  bool clear = prints_clear();
  if (clear && (more ? !run_throttled(x, id, before, more, limit_ms, ns) : !run_once(x, id, before, limit_ms, ns))) return false;
  x->c[id].warm = clear;
  if (clear && prints_sum(printed)) return true;
  answer_error(x, CUDA_ERROR_UNKNOWN, "reading what the kernel prints");
  return false;
}

// ---- Commands.

// What the application has set on its kernel must hold for a candidate as well. One with a carveout of its own (percent and one more, 0: none)
// gets that, and is allowed its reserve; unless the application has chosen a carveout itself.
static CUresult repeat_attributes(const struct session *x, CUfunction f, uint32_t reserve, uint32_t carveout) {
  static const CUfunction_attribute which[] = {CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES, CU_FUNC_ATTRIBUTE_PREFERRED_SHARED_MEMORY_CARVEOUT};
  CUdevice device = 0;
  CUresult known = cu.CtxGetDevice(&device);
  if (known != CUDA_SUCCESS) return known;
  for (int i = 0; i < 2; i++) {
    int v = 0, own = 0;
    if (x->k->f == x->k->function || !cu.KernelGetAttribute || cu.KernelGetAttribute(&v, which[i], (CUkernel)x->k->f, device) != CUDA_SUCCESS)
      if ((known = cu.FuncGetAttribute(&v, which[i], x->k->function)) != CUDA_SUCCESS) return known;
    if (carveout && i == 0 && v < (int)(x->l->dynamic + reserve)) v = (int)(x->l->dynamic + reserve);
    if (carveout && i == 1) {
      if (v != -1) return CUDA_ERROR_NOT_PERMITTED;
      v = (int)carveout - 1;
    }
    if (cu.FuncGetAttribute(&own, which[i], f) == CUDA_SUCCESS && own == v) continue;
    CUresult r = cu.FuncSetAttribute(f, which[i], v);
    // A candidate with more static shared memory may not get all that was allowed; what this launch needs, it must.
    if (r != CUDA_SUCCESS && i == 0) r = cu.FuncSetAttribute(f, which[0], (int)(x->l->dynamic + reserve));
    if (r != CUDA_SUCCESS) return r;
  }
  return CUDA_SUCCESS;
}

static void do_load(struct session *x, struct buffer *in) {
  char *path = get_str(in), *entry = get_str(in);
  uint32_t reserve = get_u32(in), carveout = get_u32(in), shape[6];
  for (int i = 0; i < 6; i++) shape[i] = get_u32(in);
  struct candidate c = {.live = true, .reserve = reserve}, *list = realloc(x->c, (x->nc + 1) * sizeof *list);
  if (list) x->c = list;
  CUresult r = !list || !path || !entry || in->bad ? CUDA_ERROR_OUT_OF_MEMORY : CUDA_SUCCESS;
  const char *doing = "loading a candidate";
  if (r == CUDA_SUCCESS && !reshape(&c, x->l, shape)) {
    r = CUDA_ERROR_INVALID_VALUE;
    doing = "launching it in another grid (a part of it is missing, or the launch has attributes)";
  }
  if (r == CUDA_SUCCESS) r = cu.ModuleLoad(&c.module, path);
  if (r == CUDA_SUCCESS && (r = cu.ModuleGetFunction(&c.f, c.module, *entry ? entry : x->k->name)) != CUDA_SUCCESS) doing = "finding the kernel in a candidate";
  if (r == CUDA_SUCCESS && (r = repeat_attributes(x, c.f, reserve, carveout)) != CUDA_SUCCESS)
    doing = r == CUDA_ERROR_NOT_PERMITTED ? "setting a carveout (the program has chosen one itself)" : "setting a candidate's shared memory";
  if (r == CUDA_SUCCESS && !(c.variables = calloc(x->nv + 1, sizeof *c.variables))) r = CUDA_ERROR_OUT_OF_MEMORY;
  for (uint32_t i = 0; r == CUDA_SUCCESS && i < x->nv; i++) {
    size_t size = 0;
    if (!x->variables[i] || cu.ModuleGetGlobal(&c.variables[i], &size, c.module, x->v[i].name) != CUDA_SUCCESS) c.variables[i] = 0;
    else if (size != x->variable_sizes[i]) {
      r = CUDA_ERROR_INVALID_IMAGE;
      doing = "comparing a candidate's variables with the original's (their sizes differ)";
    }
  }
  free(path);
  free(entry);
  if (r != CUDA_SUCCESS) {
    if (c.module) cu.ModuleUnload(c.module);
    free(c.variables);
    answer_error(x, r, doing);
    return;
  }
  struct buffer b = {0};
  put_u32(&b, x->nc);
  if (!put_attributes(&b, c.f)) {
    buffer_free(&b);
    cu.ModuleUnload(c.module);
    free(c.variables);
    answer_error(x, CUDA_ERROR_UNKNOWN, "reading a candidate's attributes");
    return;
  }
  x->c[x->nc++] = c;
  answer(x, FRAME_OK, &b);
}

static void unload(struct candidate *c) {
  if (!c->live || !c->module) return;
  cu.ModuleUnload(c->module);
  free(c->variables);
  *c = (struct candidate){0};
}

// Settles what the launch before a timed one is given. Programs take turns with buffers: what that launch writes is what the timed one reads, and
// other than what this one writes; so it is put back before each run as well. False: it has answered already.
static bool precede(struct session *x, const uint8_t *args, size_t n, uint32_t limit_ms) {
  if (n == 0 ? !x->given : x->given && n == x->k->bytes && memcmp(x->given, args, n) == 0) return true;
  if (x->given) free(x->prior.params);
  free(x->given);
  x->given = NULL;
  x->prior = *x->l;
  if (n == 0) return true;
  void **params = calloc(x->k->count + 1, sizeof *params);
  uint8_t *given = malloc(n);
  if (n != x->k->bytes || !params || !given) {
    free(params);
    free(given);
    answer_error(x, CUDA_ERROR_INVALID_VALUE, "taking the arguments of the launch before");
    return false;
  }
  memcpy(given, args, n);
  for (uint32_t i = 0; i < x->k->count; i++) params[i] = given + x->k->offset[i];
  x->given = given;
  x->prior.params = params;
  x->prior.extra = NULL;
  double ns;
  if (!run_once(x, 0, ITSELF, limit_ms, &ns)) return false;
  if (!compare_all(&x->s, false, x->found)) {
    answer_store(x);
    return false;
  }
  for (uint64_t i = 0; i < x->s.chunks; i++)
    if (x->found[i].words) x->s.dirty[i] = 1;
  return true;
}

// Has what empties the L2 cache. False: it has answered already.
static bool flushable(struct session *x) {
  if (x->flush) return true;
  CUresult r = x->flush_size ? cu.MemAlloc(&x->flush, x->flush_size) : CUDA_ERROR_NOT_SUPPORTED;
  if (r == CUDA_SUCCESS) return true;
  x->flush = 0;
  answer_error(x, r, "allocating memory to empty the L2 cache with");
  return false;
}

static void do_run(struct session *x, struct buffer *in) {
  uint32_t id = get_u32(in), n = get_u32(in);
  enum before before = get_u8(in);
  uint32_t limit = get_u32(in);
  size_t given;
  const uint8_t *args = get_bytes(in, &given);
  x->row = get_u32(in);
  if (!known(x, id) || (before == ITSELF && !precede(x, args, given, limit))) return;
  if (before == OTHERS && !flushable(x)) return;
  double ns;
  if (!x->c[id].warm && !run_once(x, id, before, limit, &ns)) return; // the first one loads code and may resize local memory
  x->c[id].warm = true;
  struct buffer b = {0};
  for (uint32_t i = 0; i < n; i++) {
    if (!run_once(x, id, before, limit, &ns)) {
      buffer_free(&b);
      return;
    }
    put_f64(&b, ns);
  }
  answer(x, FRAME_OK, &b);
}

static void do_golden(struct session *x, struct buffer *in) {
  uint32_t limit = get_u32(in), regions = 0, runs = 0;
  uint64_t bytes = 0;
  double ns;
  struct buffer b = {0}, where = {0};
  if (!run_printing(x, 0, COPIES, 0, limit, &ns, x->printed)) return;
  struct store *s = &x->s;
  if (!compare_all(s, false, x->found)) {
    answer_store(x);
    return;
  }
  x->words = x->pairs = 0;
  for (size_t i = 0; i < s->n; i++) {
    const struct region *r = &s->r[i];
    bool any = false;
    for (uint64_t c = 0; c < r->chunks; c++) {
      bool w = x->found[r->first + c].words > 0;
      x->words += x->found[r->first + c].words;
      x->pairs += x->found[r->first + c].pairs;
      s->written[r->first + c] = w;
      if (!w) continue;
      s->dirty[r->first + c] = 1;
      any = true;
      bytes += r->size - c * CHUNK < CHUNK ? r->size - c * CHUNK : CHUNK;
      if (c > 0 && s->written[r->first + c - 1]) continue; // part of the run before
      uint64_t end = c + 1;
      while (end < r->chunks && x->found[r->first + end].words > 0) end++;
      put_u64(&where, r->base + c * CHUNK);
      put_u64(&where, (end * CHUNK < r->size ? end * CHUNK : r->size) - c * CHUNK);
      runs++;
    }
    regions += any;
  }
  if (!store_keep(s)) {
    answer_store(x);
    buffer_free(&where);
    return;
  }
  x->golden = true;
  put_u32(&b, regions);
  put_u64(&b, bytes);
  put_f64(&b, ns);
  put_u32(&b, runs);
  put_raw(&b, &where);
  buffer_free(&where);
  answer(x, FRAME_OK, &b);
}

// Reads up to 8 bytes of what is kept of a region (golden where there is, else as before the launch), and of what is there now.
static bool read_both(struct session *x, const struct region *r, uint64_t at, uint64_t *kept, uint64_t *is) {
  struct store *s = &x->s;
  size_t n = r->size - at < 8 ? r->size - at : 8;
  uint64_t slot = s->slot[r->first + at / CHUNK], in = at % CHUNK;
  CUresult a = CUDA_SUCCESS, b = CUDA_SUCCESS;
  *kept = *is = 0;
  if (r->host) memcpy(is, (const void *)(r->base + at), n);
  else a = cu.MemcpyDtoH(is, r->base + at, n);
  if (slot && s->golden) b = cu.MemcpyDtoH(kept, s->golden + (slot - 1) * CHUNK + in, n);
  else if (slot) memcpy(kept, s->golden_host + (slot - 1) * CHUNK + in, n);
  else if (r->saved) b = cu.MemcpyDtoH(kept, r->saved + at, n);
  else memcpy(kept, r->saved_host + at, n);
  if (a == CUDA_SUCCESS) a = b;
  return a == CUDA_SUCCESS || store_fail(s, a, "reading a word that differs");
}

static void do_check(struct session *x, struct buffer *in) {
  uint32_t id = get_u32(in), limit = get_u32(in);
  enum before before = get_u8(in) ? OTHERS : COPIES;
  uint32_t more = get_u32(in);
  double ns, relative32 = 0, relative64 = 0, sum32 = 0, sum64 = 0;
  uint64_t printed[2];
  if (!known(x, id)) return;
  if (!x->golden) {
    answer_error(x, CUDA_ERROR_NOT_READY, "comparing before the original's results are kept");
    return;
  }
  if (before == OTHERS && !flushable(x)) return;
  if (!run_printing(x, id, before, more, limit, &ns, printed)) return;
  struct store *s = &x->s;
  if (!return_variables(x, &x->c[id]) || !compare_all(s, true, x->found)) {
    answer_store(x);
    return;
  }
  uint64_t words = 0, pairs = 0, offset = 0, want = 0, got = 0;
  const struct region *first = NULL;
  char where[192] = "";
  for (size_t i = 0; i < s->n; i++) {
    const struct region *r = &s->r[i];
    for (uint64_t c = 0; c < r->chunks; c++) {
      const struct found *f = &x->found[r->first + c];
      if (!f->words) continue;
      s->dirty[r->first + c] = 1; // where the original writes nothing, it must be put back now
      if (!first) {
        first = r;
        offset = c * CHUNK + f->first;
        if (!read_both(x, r, offset & ~(uint64_t)7, &want, &got)) {
          answer_store(x);
          return;
        }
        if (r->name) snprintf(where, sizeof where, "variable %s", r->name);
        else snprintf(where, sizeof where, "allocation %zu (%s)", i, kind_name(r->kind));
      }
      words += f->words;
      pairs += f->pairs;
      sum32 += f->sum32;
      sum64 += f->sum64;
      float r32;
      double r64;
      memcpy(&r32, &f->relative32, 4);
      memcpy(&r64, &f->relative64, 8);
      if (r32 > relative32) relative32 = r32;
      if (r64 > relative64) relative64 = r64;
    }
  }
  bool other = memcmp(printed, x->printed, sizeof printed) != 0;
  if (other) { // whatever differences of numbers are allowed
    relative32 = relative64 = sum32 = sum64 = INFINITY;
    if (!words) snprintf(where, sizeof where, "what it printed");
  }
  struct buffer b = {0};
  put_u8(&b, words == 0 && !other);
  put_u64(&b, words);
  put_str(&b, where);
  put_u64(&b, first ? first->base : 0);
  put_u64(&b, first ? first->size : 0);
  put_u64(&b, offset);
  put_u64(&b, want);
  put_u64(&b, got);
  put_f64(&b, relative32);
  put_f64(&b, relative64);
  if (words < x->words) words = x->words;
  if (pairs < x->pairs) pairs = x->pairs;
  put_f64(&b, words || other ? sum32 / (double)words : 0);
  put_f64(&b, pairs || other ? sum64 / (double)pairs : 0);
  put_f64(&b, ns);
  answer(x, FRAME_OK, &b);
}

// A variable of a candidate's own module, as its runs have left it.
static void do_read(struct session *x, struct buffer *in) {
  uint32_t id = get_u32(in);
  char *name = get_str(in);
  uint64_t size = get_u64(in);
  CUdeviceptr p = 0;
  size_t has = 0;
  if (!known(x, id)) {
    free(name);
    return;
  }
  CUresult r = !name || !x->c[id].module ? CUDA_ERROR_INVALID_VALUE : cu.ModuleGetGlobal(&p, &has, x->c[id].module, name);
  if (r == CUDA_SUCCESS && has != size) r = CUDA_ERROR_INVALID_VALUE;
  free(name);
  void *copy = r == CUDA_SUCCESS ? malloc(size ? size : 1) : NULL;
  if (r == CUDA_SUCCESS) r = copy ? cu.MemcpyDtoH(copy, p, size) : CUDA_ERROR_OUT_OF_MEMORY;
  if (r != CUDA_SUCCESS) {
    free(copy);
    answer_error(x, r, "reading a candidate's variable");
    return;
  }
  struct buffer b = {0};
  put_bytes(&b, copy, size);
  free(copy);
  answer(x, FRAME_OK, &b);
}

// Ends a session. Only what the runs are known to have written is put back: the replayer fills memory anew before it launches again.
static void finish(struct session *x) {
  if (!x->lost && x->found) {
    store_restore(&x->s);
    cu.StreamSynchronize(x->s.stream);
  }
  for (uint32_t i = 0; i < x->nc; i++) unload(&x->c[i]);
  if (x->start) cu.EventDestroy(x->start);
  if (x->end) cu.EventDestroy(x->end);
  if (x->flush) cu.MemFree(x->flush);
  store_free(&x->s);
  if (x->given) free(x->prior.params);
  free(x->given);
  free(x->found);
  free(x->c);
  free(x->variables);
  free(x->variable_sizes);
}

bool session(const struct launch *l, const struct kernel *k, const struct variable *v, uint32_t nv, uint64_t *again, char *why, size_t n) {
  struct session x = {.l = l, .k = k, .v = v, .nv = nv, .s.stream = l->stream, .prior = *l};
  double begin = now();
  CUresult error = CUDA_SUCCESS;
  CUdevice device = 0;
  int l2 = 0;
  const char *reason = list_regions(&x);
  if (!reason && (!compare_open(l->context, &error) || (error = cu.EventCreate(&x.start, CU_EVENT_DEFAULT)) != CUDA_SUCCESS ||
                  (error = cu.EventCreate(&x.end, CU_EVENT_DEFAULT)) != CUDA_SUCCESS))
    reason = "the tools for a session can't be loaded";
  if (!reason && !store_save(&x.s)) {
    reason = x.s.why;
    error = x.s.code;
  }
  if (!reason && (!(x.found = calloc(x.s.chunks + 1, sizeof *x.found)) || !(x.c = calloc(1, sizeof *x.c)))) reason = "out of memory";
  if (reason) {
    if (error == CUDA_SUCCESS || error == CUDA_ERROR_OUT_OF_MEMORY) snprintf(why, n, "%s", reason);
    else snprintf(why, n, "%s (CUDA error %d)", reason, (int)error);
    free(x.found);
    x.found = NULL; // nothing was run: nothing is to be put back
    finish(&x);
    return false;
  }
  x.c[0] = (struct candidate){.f = l->f, .live = true};
  reshape(&x.c[0], l, (const uint32_t[6]){0});
  x.nc = 1;
  if (cu.CtxGetDevice(&device) == CUDA_SUCCESS && cu.DeviceGetAttribute(&l2, CU_DEVICE_ATTRIBUTE_L2_CACHE_SIZE, device) == CUDA_SUCCESS)
    x.flush_size = 2 * (size_t)l2; // else cold runs are refused
  struct buffer b = {0}, in = {0};
  put_u64(&b, x.s.area ? 0 : x.s.bytes);
  put_f64(&b, now() - begin);
  x.own = events_own(l->stream, x.start, x.end);
  answer(&x, FRAME_READY, &b);
  *again = 0;
  while (!x.over) {
    switch (frame_receive(&in)) {
    case FRAME_LOAD: do_load(&x, &in); break;
    case FRAME_UNLOAD: {
      uint32_t id = get_u32(&in);
      if (!known(&x, id)) break;
      unload(&x.c[id]); // never the original: it is not ours
      answer(&x, FRAME_OK, NULL);
      break;
    }
    case FRAME_RUN: do_run(&x, &in); break;
    case FRAME_GOLDEN: do_golden(&x, &in); break;
    case FRAME_CHECK: do_check(&x, &in); break;
    case FRAME_READ: do_read(&x, &in); break;
    case FRAME_GO:
      *again = get_u64(&in);
      x.over = true;
      break;
    default: // gnvcc is gone, or speaks another language
      socket_close();
      x.over = true;
    }
  }
  if (!x.over || !atomic_load(&agent_off) || cu.EventQuery(x.end) != CUDA_ERROR_NOT_READY) finish(&x);
  buffer_free(&in);
  return true;
}
