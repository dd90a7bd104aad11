// The cubins that the driver loaded, and which of them a function belongs to.
//
// CUPTI's MODULE_LOADED gives the very bytes that ptxas or nvlink wrote (measured: byte for byte, from compressed fatbins
// too), but no handle. It comes within the call that loads: under lazy loading the first use of a library (cuLibraryGetGlobal,
// cuLibraryGetModule, the first launch), or cuModuleLoad*. So what a thread has just loaded is remembered until
// the call's end tells the handle. With CUDA_MODULE_LOADING=EAGER it comes within the context's creation, with no
// call to tell: then a handle is found by its kernel's name among the modules that have none yet.
#define _GNU_SOURCE
#include "agent.h"
#include <stdlib.h>
#include <string.h>

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct module *modules; // newest first
static uint32_t ids;
static __thread struct module *latest; // what this thread loaded within the call under way

void module_loaded(CUcontext context, uint32_t cupti, const void *cubin, size_t size) {
  latest = NULL; // without memory for this one, no handle is for it
  struct module *m = calloc(1, sizeof *m);
  if (!m) return;
  m->cubin = malloc(size ? size : 1);
  if (!m->cubin) {
    free(m);
    return;
  }
  memcpy(m->cubin, cubin, size);
  m->context = context;
  m->cupti = cupti;
  m->size = size;
  pthread_mutex_lock(&lock);
  m->id = ++ids;
  m->next = modules;
  modules = m;
  pthread_mutex_unlock(&lock);
  latest = m;
}

// A module is never freed: its number may stand in a launch's record. Its cubin is.
static void drop(struct module *m) {
  m->gone = true;
  free(m->cubin);
  m->cubin = NULL;
  if (latest == m) latest = NULL;
}

void module_unloading(CUcontext context, uint32_t cupti) {
  pthread_mutex_lock(&lock);
  struct module *m = modules;
  while (m && (m->gone || m->context != context || m->cupti != cupti)) m = m->next;
  if (m) drop(m);
  pthread_mutex_unlock(&lock);
  if (m) kernels_drop(context, m);
}

void modules_drop(CUcontext context) {
  pthread_mutex_lock(&lock);
  for (struct module *m = modules; m; m = m->next)
    if (m->context == context && !m->gone) drop(m);
  pthread_mutex_unlock(&lock);
}

void module_bind(CUcontext context, CUmodule handle) {
  pthread_mutex_lock(&lock); // another thread may look for a handle just now
  if (latest && latest->context == context && !latest->gone && !latest->handle) latest->handle = handle;
  pthread_mutex_unlock(&lock);
  latest = NULL;
}

bool module_gone(const struct module *m) {
  pthread_mutex_lock(&lock);
  bool gone = m->gone;
  pthread_mutex_unlock(&lock);
  return gone;
}

void module_forget(void) { latest = NULL; }

// A cubin names its kernels' code sections ".text.<name>".
static bool has_kernel(const struct module *m, const char *name, size_t n) {
  if (!m->cubin) return false;
  const uint8_t *p = m->cubin, *end = p + m->size;
  while ((p = memmem(p, (size_t)(end - p), ".text.", 6))) {
    p += 6;
    if ((size_t)(end - p) > n && memcmp(p, name, n) == 0 && p[n] == 0) return true;
  }
  return false;
}

struct module *module_of(CUcontext context, CUmodule handle, const char *kernel) {
  struct module *found = NULL;
  pthread_mutex_lock(&lock);
  for (struct module *m = modules; m && !found; m = m->next)
    if (!m->gone && m->context == context && m->handle == handle) found = m;
  if (!found) { // loaded where no call gave its handle
    size_t n = strlen(kernel);
    int matches = 0;
    for (struct module *m = modules; m; m = m->next)
      if (!m->gone && m->context == context && !m->handle && has_kernel(m, kernel, n)) {
        found = m;
        matches++;
      }
    if (matches == 1) found->handle = handle;
    else found = NULL; // several: a wrong guess would tune one kernel with another's code
  }
  pthread_mutex_unlock(&lock);
  return found;
}

bool module_send(struct module *m) {
  if (m->sent) return true;
  struct buffer b = {0};
  pthread_mutex_lock(&lock);
  put_u32(&b, m->id);
  put_bytes(&b, m->cubin, m->cubin ? m->size : 0);
  m->sent = true;
  if (m->handle) { // the bytes served to find the handle of a module that has none
    free(m->cubin);
    m->cubin = NULL;
  }
  pthread_mutex_unlock(&lock);
  bool ok = frame_send(FRAME_MODULE, &b);
  buffer_free(&b);
  return ok;
}
