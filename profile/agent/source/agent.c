// The way in: the driver loads this library when it starts (CUDA_INJECTION64_PATH) and calls InitializeInjection. From
// then on CUPTI calls us at both ends of the driver's functions in the table below.
#define _GNU_SOURCE
#include "agent.h"
#include "out.h"
#include <errno.h>
#include <fnmatch.h>
#include <sched.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

atomic_bool agent_off;
atomic_int captures;
pthread_mutex_t talk = PTHREAD_MUTEX_INITIALIZER;
__thread enum inside inside;

double now(void) {
  struct timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}

bool talk_begin(void) {
  for (;;) {
    struct timespec t;
    clock_gettime(CLOCK_REALTIME, &t);
    t.tv_sec++;
    if (pthread_mutex_timedlock(&talk, &t) == 0) return true;
    if (atomic_load(&agent_off)) return false;
  }
}

void note(const char *format, ...) {
  char text[512];
  va_list args;
  va_start(args, format);
  vsnprintf(text, sizeof text, format, args);
  va_end(args);
  struct buffer b = {0};
  put_str(&b, text);
  frame_send(FRAME_NOTE, &b);
  buffer_free(&b);
}

// ---- The gate. A session must be alone: other threads' calls that change memory or launch work are counted while they
// last, and wait while the gate is closed; calls that only wait for the device wait at both ends.

static atomic_int inflight, closed; // closed: how often; a capture within a graph's walk closes it once more
static pthread_mutex_t gate_lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t gate_opened = PTHREAD_COND_INITIALIZER;
static __thread int counted; // calls of this thread within calls, of which the outermost is in inflight

static void gate_wait(void) {
  if (!atomic_load(&closed)) return;
  pthread_mutex_lock(&gate_lock);
  while (atomic_load(&closed) && !atomic_load(&agent_off)) {
    struct timespec t;
    clock_gettime(CLOCK_REALTIME, &t);
    t.tv_sec++; // who has closed it may be gone: see on_exit_process
    pthread_cond_timedwait(&gate_opened, &gate_lock, &t);
  }
  pthread_mutex_unlock(&gate_lock);
}

void gate_enter(void) {
  if (counted++ > 0) return;
  for (;;) {
    atomic_fetch_add(&inflight, 1);
    if (!atomic_load(&closed) || atomic_load(&agent_off)) return;
    atomic_fetch_sub(&inflight, 1);
    gate_wait();
  }
}

void gate_keep(void) {
  if (counted++ == 0) atomic_fetch_add(&inflight, 1);
}

void gate_leave(void) {
  if (counted > 0 && --counted == 0) atomic_fetch_sub(&inflight, 1);
}

bool gate_close(double seconds) {
  atomic_fetch_add(&closed, 1);
  for (double end = now() + seconds; atomic_load(&inflight) > 0;) {
    if (now() > end) {
      gate_open();
      return false;
    }
    usleep(100);
  }
  return true;
}

void gate_open(void) {
  pthread_mutex_lock(&gate_lock);
  atomic_fetch_sub(&closed, 1);
  pthread_cond_broadcast(&gate_opened);
  pthread_mutex_unlock(&gate_lock);
}

// ---- Which of the driver's functions are watched, and what is done with them. Names stand without _ptds and _ptsz (the
// variants whose stream 0 is the thread's own); a star in a name stands for anything.

enum action {
  NOTHING, GATE, WAIT, LAUNCH, LAUNCH_EX, COOPERATIVE, GRAPH, GRAPH_CHANGE, ALLOC, ALLOC_ASYNC, ALLOC_PITCH, ALLOC_MANAGED, ALLOC_SHARED,
  HOST_ALLOC, HOST_REGISTER, MAP, UNMAP, FREE, LOAD, LIBRARY, LIBRARY_MANAGED, KERNEL_FUNCTION, CAPTURE_BEGIN, CAPTURE_END,
  ARRAY_NEW, ARRAY_NEW_3D, ARRAY_END, TEXTURE, TEXTURE_END, SURFACE, SURFACE_END, CACHE_CONFIG, ASK, NEED, CONTEXT_END,
};
static const struct {
  const char *name;
  enum action action;
} watched[] = {
    {"cuLaunchKernel", LAUNCH},
    {"cuLaunchKernelEx", LAUNCH_EX},
    {"cuLaunchCooperativeKernel", COOPERATIVE},
    {"cuLaunchCooperativeKernelMultiDevice", GATE},
    {"cuLaunchHostFunc*", GATE},
    {"cuGraphLaunch", GRAPH},
    {"cuGraphInstantiate*", GRAPH_CHANGE},
    {"cuGraphExecUpdate*", GRAPH_CHANGE},
    {"cuGraphExec*SetParams*", GRAPH_CHANGE},
    {"cuGraphExec*SetEvent", GRAPH_CHANGE},
    {"cuGraphNodeSetEnabled", GRAPH_CHANGE},
    {"cuGraphExecDestroy", GRAPH_CHANGE},
    {"cuGraphDestroy*", GRAPH_CHANGE},
    {"cuMemAlloc_v2", ALLOC},
    {"cuMemAllocPitch_v2", ALLOC_PITCH},
    {"cuMemAllocAsync", ALLOC_ASYNC},
    {"cuMemAllocFromPoolAsync", ALLOC_ASYNC},
    {"cuMemAllocManaged", ALLOC_MANAGED},
    {"cuIpcOpenMemHandle", ALLOC_SHARED},
    {"cuIpcOpenMemHandle_v2", ALLOC_SHARED},
    {"cuExternalMemoryGetMappedBuffer", ALLOC_SHARED},
    {"cuGraphicsResourceGetMappedPointer_v2", ALLOC_SHARED},
    {"cuMemPoolImportPointer", ALLOC_SHARED},
    {"cuMemHostAlloc", HOST_ALLOC},
    {"cuMemHostAlloc_v2", HOST_ALLOC},
    {"cuMemAllocHost", HOST_ALLOC},
    {"cuMemAllocHost_v2", HOST_ALLOC},
    {"cuMemHostRegister", HOST_REGISTER},
    {"cuMemHostRegister_v2", HOST_REGISTER},
    {"cuMemMap", MAP},
    {"cuMemUnmap", UNMAP},
    {"cuMemFree_v2", FREE},
    {"cuMemFreeAsync", FREE},
    {"cuMemFreeHost", FREE},
    {"cuMemHostUnregister", FREE},
    {"cuIpcCloseMemHandle", FREE},
    {"cuModuleLoad", LOAD},
    {"cuModuleLoadData", LOAD},
    {"cuModuleLoadDataEx", LOAD},
    {"cuModuleLoadFatBinary", LOAD},
    {"cuLibraryGetModule", LIBRARY},
    {"cuLibraryGetGlobal", LIBRARY},
    {"cuLibraryGetManaged", LIBRARY_MANAGED},
    {"cuKernelGetFunction", KERNEL_FUNCTION},
    {"cuStreamBeginCapture*", CAPTURE_BEGIN},
    {"cuStreamEndCapture", CAPTURE_END},
    {"cuArrayCreate_v2", ARRAY_NEW},
    {"cuArray3DCreate_v2", ARRAY_NEW_3D},
    {"cuArrayDestroy", ARRAY_END},
    {"cuTexObjectCreate", TEXTURE},
    {"cuTexObjectDestroy", TEXTURE_END},
    {"cuSurfObjectCreate", SURFACE},
    {"cuSurfObjectDestroy", SURFACE_END},
    {"cuFuncSetCacheConfig", CACHE_CONFIG},
    {"cuKernelSetCacheConfig", CACHE_CONFIG},
    {"cuMemcpy*", GATE},
    {"cuMemset*", GATE},
    {"cuMemBatch*", GATE},
    {"cuMemPrefetch*", GATE},
    {"cuMemDiscard*", GATE},
    {"cuStreamAttachMemAsync", GATE},
    {"cuModuleUnload", GATE},
    {"cuLibraryUnload", GATE},
    {"cuCtxDestroy*", CONTEXT_END},
    {"cuDevicePrimaryCtxRe[ls]*", CONTEXT_END}, // Release and Reset, not Retain
    {"cuMemGetInfo*", NEED},
    {"cuMemCreate", NEED},
    {"cuStreamWaitValue*", GATE},
    {"cuStreamWriteValue*", GATE},
    {"cuStreamBatchMemOp*", GATE},
    {"cuStreamDestroy*", GATE},
    {"cuCtxSynchronize*", WAIT},
    {"cuStreamSynchronize", WAIT},
    {"cuEventSynchronize", WAIT},
    {"cuStreamQuery", WAIT},
    {"cuEventQuery", WAIT},
    {"cuOccupancy*", ASK},
    {"cuFuncGetAttribute", ASK},
    {"cuKernelGetAttribute", ASK},
};
static uint8_t actions[CUPTI_DRIVER_TRACE_CBID_SIZE], call_kinds[CUPTI_DRIVER_TRACE_CBID_SIZE];
static bool own_stream[CUPTI_DRIVER_TRACE_CBID_SIZE]; // a _ptds or _ptsz variant

static enum action action_of(const char *name, bool *own, uint8_t *kind) {
  size_t n = strlen(name);
  *own = n > 5 && (strcmp(name + n - 5, "_ptsz") == 0 || strcmp(name + n - 5, "_ptds") == 0);
  if (*own) n -= 5;
  for (size_t i = 0; i < sizeof watched / sizeof *watched; i++) {
    char plain[128] = "";
    memcpy(plain, name, n < sizeof plain ? n : sizeof plain - 1);
    if (fnmatch(watched[i].name, plain, 0) != 0) continue;
    *kind = (uint8_t)call_kind(plain);
    return watched[i].action;
  }
  return NOTHING;
}

// ---- Launches, put into one form.

static CUstream stream_of(CUstream s, bool own) { return own && !s ? CU_STREAM_PER_THREAD : s; }

static void launch_plain(const CUpti_CallbackData *c, bool own, unsigned flags) {
  const cuLaunchKernel_params *p = c->functionParams; // cuLaunchCooperativeKernel's has the same fields but the last
  // Wherever it is repeated it is repeated as cooperative: with the attribute that cuLaunchKernelEx has for it.
  static __thread CUlaunchAttribute together;
  static __thread CUlaunchConfig config;
  if (flags & L_COOPERATIVE) {
    together = (CUlaunchAttribute){.id = CU_LAUNCH_ATTRIBUTE_COOPERATIVE, .value = {.cooperative = 1}};
    config = (CUlaunchConfig){.gridDimX = p->gridDimX, .gridDimY = p->gridDimY, .gridDimZ = p->gridDimZ, .blockDimX = p->blockDimX, .blockDimY = p->blockDimY,
                              .blockDimZ = p->blockDimZ, .sharedMemBytes = p->sharedMemBytes, .hStream = stream_of(p->hStream, own), .attrs = &together, .numAttrs = 1};
  }
  struct launch l = {
      .f = p->f, .context = c->context, .grid = {p->gridDimX, p->gridDimY, p->gridDimZ},
      .block = {p->blockDimX, p->blockDimY, p->blockDimZ}, .dynamic = p->sharedMemBytes, .flags = flags,
      .stream = stream_of(p->hStream, own), .params = p->kernelParams, .extra = flags & L_COOPERATIVE ? NULL : p->extra,
      .config = flags & L_COOPERATIVE ? &config : NULL,
  };
  on_launch(&l);
}

static void launch_ex(const CUpti_CallbackData *c, bool own) {
  const cuLaunchKernelEx_params *p = c->functionParams;
  const CUlaunchConfig *g = p->config;
  if (!g) return;
  unsigned flags = 0;
  for (unsigned i = 0; i < g->numAttrs; i++) {
    const CUlaunchAttributeValue *v = &g->attrs[i].value;
    switch ((int)g->attrs[i].id) {
    case CU_LAUNCH_ATTRIBUTE_COOPERATIVE:
      if (v->cooperative) flags |= L_COOPERATIVE;
      break;
    case CU_LAUNCH_ATTRIBUTE_CLUSTER_DIMENSION:
    case 11: // preferred cluster dimension
      if (v->clusterDim.x > 1 || v->clusterDim.y > 1 || v->clusterDim.z > 1) flags |= L_CLUSTER;
      break;
    case CU_LAUNCH_ATTRIBUTE_PROGRAMMATIC_STREAM_SERIALIZATION:
      if (v->programmaticStreamSerializationAllowed) flags |= L_PROGRAMMATIC;
      break;
    case CU_LAUNCH_ATTRIBUTE_PROGRAMMATIC_EVENT:
    case 12: // launch completion event
      flags |= L_EVENT;
      break;
    case CU_LAUNCH_ATTRIBUTE_IGNORE:
    case CU_LAUNCH_ATTRIBUTE_ACCESS_POLICY_WINDOW:
    case CU_LAUNCH_ATTRIBUTE_SYNCHRONIZATION_POLICY:
    case CU_LAUNCH_ATTRIBUTE_CLUSTER_SCHEDULING_POLICY_PREFERENCE:
    case CU_LAUNCH_ATTRIBUTE_PRIORITY:
    case 9:  // memory synchronisation domain's map
    case 10: // and domain
    case 14: // preferred carveout
      break; // repeated as they are
    default:
      flags |= L_UNKNOWN;
    }
  }
  struct launch l = {
      .f = p->f, .context = c->context, .grid = {g->gridDimX, g->gridDimY, g->gridDimZ},
      .block = {g->blockDimX, g->blockDimY, g->blockDimZ}, .dynamic = g->sharedMemBytes, .flags = flags,
      .stream = stream_of(g->hStream, own), .params = p->kernelParams, .extra = p->extra, .config = g,
  };
  on_launch(&l);
}

// ---- Questions about a kernel, whose answers a recipe would change.

static void on_question(const char *name, const void *params) {
  int which = -1;
  CUfunction f;
  if (strcmp(name, "cuFuncGetAttribute") == 0) {
    const cuFuncGetAttribute_params *p = params;
    which = (int)p->attrib;
    f = p->hfunc;
  } else if (strcmp(name, "cuKernelGetAttribute") == 0) {
    const cuKernelGetAttribute_params *p = params;
    which = (int)p->attrib;
    f = (CUfunction)p->kernel;
  } else if (strncmp(name, "cuOccupancyMaxPotentialBlockSize", 32) == 0)
    f = ((const cuOccupancyMaxPotentialBlockSize_params *)params)->func; // its other form begins with the same fields
  else // all others have the function behind the answer's address
    f = ((const cuOccupancyMaxActiveBlocksPerMultiprocessor_params *)params)->func;
  switch (which) {
  case -1: case CU_FUNC_ATTRIBUTE_MAX_THREADS_PER_BLOCK: case CU_FUNC_ATTRIBUTE_SHARED_SIZE_BYTES:
  case CU_FUNC_ATTRIBUTE_LOCAL_SIZE_BYTES: case CU_FUNC_ATTRIBUTE_NUM_REGS:
    kernel_asked(f);
  }
}

// ---- The two ends of a call.

static void on_enter(enum action a, const CUpti_CallbackData *c, bool own) {
  switch (a) {
  case WAIT:
    gate_wait();
    return;
  case FREE: { // before the address can be given out again; all these functions have it as their first parameter
    gate_enter();
    alloc_take(*(const uint64_t *)c->functionParams);
    return;
  }
  case UNMAP: {
    const cuMemUnmap_params *p = c->functionParams;
    gate_enter();
    alloc_take_range(p->ptr, p->size);
    return;
  }
  default:
    gate_enter();
  }
  switch (a) {
  case ALLOC: outs_yield(((const cuMemAlloc_v2_params *)c->functionParams)->bytesize); break;
  case ALLOC_ASYNC: outs_yield(((const cuMemAllocAsync_params *)c->functionParams)->bytesize); break;
  case ALLOC_MANAGED: outs_yield(((const cuMemAllocManaged_params *)c->functionParams)->bytesize); break;
  case ALLOC_PITCH: case ARRAY_NEW: case ARRAY_NEW_3D: case NEED: outs_yield(UINT64_MAX); break;
  case CONTEXT_END: outs_flush(); break;
  case LAUNCH: launch_plain(c, own, 0); break;
  case COOPERATIVE: launch_plain(c, own, L_COOPERATIVE); break;
  case LAUNCH_EX: launch_ex(c, own); break;
  case GRAPH: on_graph_launch(c, stream_of(((const cuGraphLaunch_params *)c->functionParams)->hStream, own)); break;
  case GRAPH_CHANGE: on_graph_enter(c->functionName, c->functionParams); break;
  case LOAD: case LIBRARY: case LIBRARY_MANAGED: case KERNEL_FUNCTION: module_forget(); break;
  case ARRAY_END: array_removed(((const cuArrayDestroy_params *)c->functionParams)->hArray); break;
  case TEXTURE_END: object_removed(((const cuTexObjectDestroy_params *)c->functionParams)->texObject, false); break;
  case SURFACE_END: object_removed(((const cuSurfObjectDestroy_params *)c->functionParams)->surfObject, true); break;
  default: break;
  }
}

static void on_success(enum action a, const CUpti_CallbackData *c) {
  const void *params = c->functionParams;
  switch (a) {
  case ALLOC: {
    const cuMemAlloc_v2_params *p = params;
    alloc_add(*p->dptr, p->bytesize, DEVICE, c->context);
    break;
  }
  case ALLOC_PITCH: {
    const cuMemAllocPitch_v2_params *p = params;
    alloc_add(*p->dptr, *p->pPitch * p->Height, DEVICE, c->context);
    break;
  }
  case ALLOC_ASYNC: { // cuMemAllocFromPoolAsync begins with the same fields
    const cuMemAllocAsync_params *p = params;
    alloc_add(*p->dptr, p->bytesize, ASYNC, c->context);
    break;
  }
  case ALLOC_MANAGED: {
    const cuMemAllocManaged_params *p = params;
    alloc_add(*p->dptr, p->bytesize, MANAGED, c->context);
    break;
  }
  case ALLOC_SHARED: // the address comes first; the size does not matter, such memory is never saved
    alloc_add(**(CUdeviceptr *const *)params, 1, SHARED, c->context);
    break;
  case HOST_ALLOC: { // cuMemAllocHost begins with the same fields
    const cuMemHostAlloc_params *p = params;
    alloc_add((uint64_t)*p->pp, p->bytesize, PINNED, c->context);
    break;
  }
  case HOST_REGISTER: {
    const cuMemHostRegister_v2_params *p = params;
    alloc_add((uint64_t)p->p, p->bytesize, REGISTERED, c->context);
    break;
  }
  case MAP: {
    const cuMemMap_params *p = params;
    alloc_add(p->ptr, p->size, MAPPED, c->context);
    break;
  }
  case GRAPH_CHANGE: on_graph_success(c->functionName, params, c->context); break;
  case LOAD: module_bind(c->context, **(CUmodule *const *)params); break;
  case LIBRARY_MANAGED: {
    const cuLibraryGetManaged_params *p = params;
    if (p->dptr) {
      alloc_remove(*p->dptr);
      alloc_add(*p->dptr, p->bytes ? *p->bytes : 1, MANAGED, c->context);
    }
    break;
  }
  case CAPTURE_BEGIN: atomic_fetch_add(&captures, 1); break;
  case ARRAY_NEW: {
    const cuArrayCreate_v2_params *p = params;
    const CUDA_ARRAY_DESCRIPTOR *d = p->pAllocateArray;
    array_added(*p->pHandle, &(CUDA_ARRAY3D_DESCRIPTOR){.Width = d->Width, .Height = d->Height, .Format = d->Format, .NumChannels = d->NumChannels}, c->context);
    break;
  }
  case ARRAY_NEW_3D: {
    const cuArray3DCreate_v2_params *p = params;
    array_added(*p->pHandle, p->pAllocateArray, c->context);
    break;
  }
  case TEXTURE: {
    const cuTexObjectCreate_params *p = params;
    object_added(*p->pTexObject, false, c->context, p->pResDesc, p->pTexDesc, p->pResViewDesc);
    break;
  }
  case SURFACE: {
    const cuSurfObjectCreate_params *p = params;
    object_added(*p->pSurfObject, true, c->context, p->pResDesc, NULL, NULL);
    break;
  }
  case CACHE_CONFIG: { // cuKernelSetCacheConfig begins with the same fields
    const cuFuncSetCacheConfig_params *p = params;
    kernel_cache(p->hfunc, (uint32_t)p->config);
    break;
  }
  default: break;
  }
  // What was loaded on the way belongs to the library or function that was asked for.
  CUmodule handle = NULL;
  CUlibrary library = NULL;
  if (a == LIBRARY) // cuLibraryGetModule and cuLibraryGetGlobal have the library at different places
    library = c->functionName[12] == 'M' ? ((const cuLibraryGetModule_params *)params)->library : ((const cuLibraryGetGlobal_params *)params)->library;
  if (a == LIBRARY_MANAGED) library = ((const cuLibraryGetManaged_params *)params)->library;
  if (library || a == KERNEL_FUNCTION) {
    inside = OURS;
    if (library && (!cu.LibraryGetModule || cu.LibraryGetModule(&handle, library) != CUDA_SUCCESS)) handle = NULL;
    if (a == KERNEL_FUNCTION && cu.FuncGetModule(&handle, *((const cuKernelGetFunction_params *)params)->pFunc) != CUDA_SUCCESS) handle = NULL;
    inside = OUTSIDE;
    if (handle) module_bind(c->context, handle);
  }
}

static void on_resource(CUpti_CallbackId id, const CUpti_ResourceData *r) {
  if (!r) return;
  const CUpti_ModuleResourceData *m = r->resourceDescriptor;
  switch (id) {
  case CUPTI_CBID_RESOURCE_MODULE_LOADED:
    if (m && m->pCubin) module_loaded(r->context, m->moduleId, m->pCubin, m->cubinSize);
    break;
  case CUPTI_CBID_RESOURCE_MODULE_UNLOAD_STARTING:
    if (m) module_unloading(r->context, m->moduleId);
    break;
  case CUPTI_CBID_RESOURCE_STREAM_CREATED: stream_created(r->context, r->resourceHandle.stream); break;
  case CUPTI_CBID_RESOURCE_STREAM_DESTROY_STARTING: stream_destroyed(r->resourceHandle.stream); break;
  case CUPTI_CBID_RESOURCE_CONTEXT_DESTROY_STARTING:
    graphs_drop(r->context);
    kernels_drop(r->context, NULL);
    modules_drop(r->context);
    allocs_drop(r->context);
    textures_drop(r->context);
    streams_drop(r->context);
    compare_drop(r->context);
    outs_context_gone(r->context);
    capture_context_gone(r->context);
    samples_drop(r->context);
    break;
  default: break;
  }
}

static bool still_captured(const CUresult *r) {
  return !r || *r == CUDA_ERROR_ILLEGAL_STATE || *r == CUDA_ERROR_STREAM_CAPTURE_WRONG_THREAD || *r == CUDA_ERROR_INVALID_VALUE || *r == CUDA_ERROR_INVALID_HANDLE;
}

static void on_call(enum action a, CUpti_CallbackId id, const CUpti_CallbackData *c) {
  if (a == ASK) { // the runtime may ask within a call of its own: no gate
    if (c->callbackSite == CUPTI_API_ENTER) on_question(c->functionName, c->functionParams);
    return;
  }
  if (c->callbackSite == CUPTI_API_ENTER) {
    on_enter(a, c, own_stream[id]);
    call_begin(call_kinds[id]);
    return;
  }
  if (call_kinds[id]) call_end(c->functionParams);
  if (a == WAIT) {
    gate_wait();
    return;
  }
  // Also when it fails the capture is over, but where it was not this stream's, or this thread may not end it.
  if (a == CAPTURE_END && !still_captured(c->functionReturnValue))
    for (int n = atomic_load(&captures); n > 0 && !atomic_compare_exchange_weak(&captures, &n, n - 1);) {}
  bool success = c->functionReturnValue && *(const CUresult *)c->functionReturnValue == CUDA_SUCCESS;
  if (a == LAUNCH || a == LAUNCH_EX || a == COOPERATIVE || a == GRAPH) sample_end(success);
  if (capture_pending() && (a == LAUNCH || a == LAUNCH_EX || a == COOPERATIVE)) launch_captured(success);
  if (a == GRAPH) on_graph_launched();
  if (a == FREE || a == UNMAP) alloc_taken(success);
  if (success) on_success(a, c);
  else if (a == GRAPH_CHANGE) on_graph_failure(c->functionName, c->functionParams);
  gate_leave();
}

static __thread int called; // this thread is in a callback of ours

// What the application's thread must not notice: that it waits for us at calls which are cancellation points, while it holds locks of
// ours (a thread that was cancelled there would hold them for ever), and what they leave in errno.
static void CUPTIAPI on_callback(void *user, CUpti_CallbackDomain domain, CUpti_CallbackId id, const void *data) {
  (void)user;
  if (inside == OURS || (atomic_load_explicit(&agent_off, memory_order_relaxed) && !graph_pending())) return;
  bool call = domain != CUPTI_CB_DOMAIN_RESOURCE;
  if (call && (inside == RESOLVING || id >= CUPTI_DRIVER_TRACE_CBID_SIZE || actions[id] == NOTHING)) return;
  int error = errno, cancel;
  called++;
  pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &cancel);
  if (call) on_call((enum action)actions[id], id, data);
  else on_resource(id, data);
  called--;
  pthread_setcancelstate(cancel, NULL);
  errno = error;
}

// ---- Start and end.

static bool forked;

static void on_fork(void) { // in the child: it can't use CUDA until it execs, and the socket is the parent's
  atomic_store(&agent_off, true);
  forked = true;
  socket_forked();
  outs_forked();
}

// CUPTI's part in the end of a process that was forked from one that it watches is a crash (measured: CUDA 13.0, driver 580). Such a child has
// its own exit code all the same, and what it has written.
static int child_status;

static void on_child_crash(int signal) {
  (void)signal;
  _exit(child_status);
}

static void on_child_exit(int status) {
  static const int signals[] = {SIGSEGV, SIGBUS, SIGABRT};
  child_status = status;
  fflush(NULL);
  for (size_t i = 0; i < sizeof signals / sizeof *signals; i++) {
    struct sigaction is, ours = {.sa_handler = on_child_crash};
    if (sigaction(signals[i], NULL, &is) == 0 && is.sa_handler == SIG_DFL) sigaction(signals[i], &ours, NULL);
  }
}

static void on_exit_process(int status, void *unused) {
  (void)unused;
  if (forked) {
    on_child_exit(status);
    return;
  }
  if (atomic_load(&agent_off)) { // files that nobody wants go first
    if (called > 0) outs_leave();
    else outs_finish();
    return;
  }
  // A signal's handler that calls exit may have come while this thread has locks of ours or the gate closed, and so they stay: nothing is asked
  // for any more, neither here nor by threads that the program's earlier handlers wait for.
  if (called > 0 || capture_pending() || graph_pending()) {
    outs_leave();
    atomic_store(&agent_off, true);
    return;
  }
  for (int i = 0; pthread_mutex_trylock(&talk) != 0; i++) { // another thread may be in a session for a long time
    if (i == 100) {
      outs_leave();
      return;
    }
    usleep(10000);
  }
  samples_collect(NULL);
  outs_finish();
  summary_send(true);
  frame_send(FRAME_BYE, NULL);
  atomic_store(&agent_off, true);
  pthread_mutex_unlock(&talk);
}

static CUpti_SubscriberHandle subscriber;

// Subscribes, and gives what went wrong.
static const char *start(char *text, size_t n) {
  const char *missing = driver_find();
  if (missing) {
    snprintf(text, n, "this driver has no %s: a newer driver is needed", missing);
    return text;
  }
  CUptiResult r = cuptiSubscribe(&subscriber, on_callback, NULL);
  if (r != CUPTI_SUCCESS) {
    const char *words = NULL;
    cuptiGetResultString(r, &words);
    snprintf(text, n, "CUPTI can't be used (%s, %d): is another profiler in this process?", words ? words : "unknown error", (int)r);
    return text;
  }
  int launches = 0;
  for (uint32_t id = 1; id < CUPTI_DRIVER_TRACE_CBID_SIZE; id++) {
    const char *name = NULL;
    if (cuptiGetCallbackName(CUPTI_CB_DOMAIN_DRIVER_API, id, &name) != CUPTI_SUCCESS || !name) continue;
    actions[id] = action_of(name, &own_stream[id], &call_kinds[id]);
    if (actions[id] == NOTHING) continue;
    // One that nobody reported may be an allocation, which a session would have to save.
    if ((r = cuptiEnableCallback(1, subscriber, CUPTI_CB_DOMAIN_DRIVER_API, id)) != CUPTI_SUCCESS) {
      snprintf(text, n, "CUPTI does not report calls of %s (%d)", name, (int)r);
      return text;
    }
    launches += actions[id] == LAUNCH;
  }
  // Not the whole domain: one of its callbacks comes at every launch.
  static const CUpti_CallbackId resources[] = {
      CUPTI_CBID_RESOURCE_MODULE_LOADED, CUPTI_CBID_RESOURCE_MODULE_UNLOAD_STARTING, CUPTI_CBID_RESOURCE_CONTEXT_DESTROY_STARTING,
      CUPTI_CBID_RESOURCE_STREAM_CREATED, CUPTI_CBID_RESOURCE_STREAM_DESTROY_STARTING,
  };
  for (size_t i = 0; i < sizeof resources / sizeof *resources; i++)
    if ((r = cuptiEnableCallback(1, subscriber, CUPTI_CB_DOMAIN_RESOURCE, resources[i])) != CUPTI_SUCCESS) {
      snprintf(text, n, "CUPTI does not report modules, streams and contexts (%d, %d)", (int)resources[i], (int)r);
      return text;
    }
  if (launches == 0) {
    snprintf(text, n, "CUPTI gives no callbacks for launches");
    return text;
  }
  if (pthread_atfork(NULL, NULL, on_fork) != 0 || on_exit(on_exit_process, NULL) != 0) {
    snprintf(text, n, "no memory left to note the process' end");
    return text;
  }
  return "";
}

int InitializeInjection(void) __attribute__((visibility("default")));
int InitializeInjection(void) {
  static atomic_bool started;
  if (atomic_exchange(&started, true)) return 1;
  const char *path = getenv("GNVCC_AGENT_SOCKET");
  if (!path || !socket_open(path)) { // nobody wants to know: not a word
    atomic_store(&agent_off, true);
    return 1;
  }
  observing = getenv("GNVCC_AGENT_OBSERVE") != NULL;
  prints_open();
  if (observing) between_open();
  char text[256] = "";
  const char *trouble = start(text, sizeof text);
  int driver = 0;
  uint32_t cupti = 0;
  if (cu.DriverGetVersion) cu.DriverGetVersion(&driver);
  cuptiGetVersion(&cupti);
  struct buffer b = {0};
  put_u32(&b, PROTOCOL);
  put_u32(&b, (uint32_t)getpid());
  put_u32(&b, (uint32_t)driver);
  put_u32(&b, cupti);
  put_str(&b, trouble);
  pthread_mutex_lock(&talk);
  frame_send(FRAME_HELLO, &b);
  pthread_mutex_unlock(&talk);
  buffer_free(&b);
  if (*trouble) {
    socket_close();
    return 1;
  }
  return 1;
}
