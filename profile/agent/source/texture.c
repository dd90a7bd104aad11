// Texture and surface objects, and the arrays that they stand for, as the driver's calls tell. A kernel knows an object by a handle of 64 bits, and
// an array has no address: what it holds is copied into memory in a row, and back from there.
#define _GNU_SOURCE
#include "agent.h"
#include <stdlib.h>
#include <string.h>

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct array *arrays;
static struct object *objects;

static uint64_t element(const CUDA_ARRAY3D_DESCRIPTOR *d) {
  switch (d->Format) {
  case CU_AD_FORMAT_UNSIGNED_INT8: case CU_AD_FORMAT_SIGNED_INT8: return d->NumChannels;
  case CU_AD_FORMAT_UNSIGNED_INT16: case CU_AD_FORMAT_SIGNED_INT16: case CU_AD_FORMAT_HALF: return 2 * d->NumChannels;
  case CU_AD_FORMAT_UNSIGNED_INT32: case CU_AD_FORMAT_SIGNED_INT32: case CU_AD_FORMAT_FLOAT: return 4 * d->NumChannels;
  default: return 0; // planes, or compressed
  }
}

// One that is sparse, or of which graphics knows, is not listed: it can't be copied as a whole, or is not the program's alone.
void array_added(CUarray handle, const CUDA_ARRAY3D_DESCRIPTOR *d, CUcontext context) {
  const unsigned known = CUDA_ARRAY3D_LAYERED | CUDA_ARRAY3D_SURFACE_LDST | CUDA_ARRAY3D_CUBEMAP | CUDA_ARRAY3D_TEXTURE_GATHER;
  uint64_t row = d->Width * element(d), rows = (d->Height ? d->Height : 1) * (d->Depth ? d->Depth : 1);
  struct array *a = d->Flags & ~known || row == 0 ? NULL : malloc(sizeof *a);
  if (!a) return; // what is not listed is left alone
  *a = (struct array){.handle = handle, .context = context, .is = *d, .row = row, .size = row * rows};
  pthread_mutex_lock(&lock);
  a->next = arrays;
  arrays = a;
  pthread_mutex_unlock(&lock);
}

void object_added(uint64_t handle, bool surface, CUcontext context, const CUDA_RESOURCE_DESC *of, const CUDA_TEXTURE_DESC *how, const CUDA_RESOURCE_VIEW_DESC *view) {
  struct object *o = calloc(1, sizeof *o);
  if (!o) return;
  *o = (struct object){.handle = handle, .surface = surface, .viewed = view != NULL, .context = context, .of = *of};
  if (how) o->how = *how;
  if (view) o->view = *view;
  pthread_mutex_lock(&lock);
  o->next = objects;
  objects = o;
  pthread_mutex_unlock(&lock);
}

// Takes all out of a list that are meant. Both kinds begin with what follows them.
#define DROP(list, meant) \
  do { \
    pthread_mutex_lock(&lock); \
    for (__typeof__(list) *p = &list; *p;) { \
      __typeof__(list) x = *p; \
      if (!(meant)) p = &x->next; \
      else *p = x->next, free(x); \
    } \
    pthread_mutex_unlock(&lock); \
  } while (0)

// Objects that outlive their array are of no use to a kernel, and the next array may be called the same.
void array_removed(CUarray handle) {
  DROP(arrays, x->handle == handle);
  DROP(objects, x->of.resType == CU_RESOURCE_TYPE_ARRAY && x->of.res.array.hArray == handle);
}

void object_removed(uint64_t handle, bool surface) {
  DROP(objects, x->handle == handle && x->surface == surface);
}

void textures_drop(CUcontext context) {
  DROP(arrays, x->context == context);
  DROP(objects, x->context == context);
}

bool array_find(CUarray handle, CUcontext context, struct array *found) {
  pthread_mutex_lock(&lock);
  struct array *a = arrays;
  while (a && (a->handle != handle || a->context != context)) a = a->next;
  if (a) *found = *a;
  pthread_mutex_unlock(&lock);
  return a != NULL;
}

static int by_handle(const void *a, const void *b) {
  uint64_t x = ((const struct object *)a)->handle, y = ((const struct object *)b)->handle;
  return (x > y) - (x < y);
}

struct object *objects_copy(CUcontext context, size_t *n) {
  size_t room = 1;
  *n = 0;
  pthread_mutex_lock(&lock);
  for (struct object *o = objects; o; o = o->next) room++;
  struct object *out = calloc(room, sizeof *out);
  for (struct object *o = objects; out && o; o = o->next)
    if (o->context == context) out[(*n)++] = *o;
  pthread_mutex_unlock(&lock);
  if (out) qsort(out, *n, sizeof *out, by_handle);
  return out;
}

CUresult array_copy(const struct array *a, CUdeviceptr memory, bool back, CUstream stream) {
  CUDA_MEMCPY3D m = {.WidthInBytes = a->row, .Height = a->is.Height ? a->is.Height : 1, .Depth = a->is.Depth ? a->is.Depth : 1};
  m.srcMemoryType = back ? CU_MEMORYTYPE_DEVICE : CU_MEMORYTYPE_ARRAY;
  m.dstMemoryType = back ? CU_MEMORYTYPE_ARRAY : CU_MEMORYTYPE_DEVICE;
  if (back) m.srcDevice = memory, m.srcPitch = m.WidthInBytes, m.srcHeight = m.Height, m.dstArray = a->handle;
  else m.dstDevice = memory, m.dstPitch = m.WidthInBytes, m.dstHeight = m.Height, m.srcArray = a->handle;
  return cu.Memcpy3DAsync ? cu.Memcpy3DAsync(&m, stream) : CUDA_ERROR_NOT_SUPPORTED;
}
