// The streams that the application has made, which a capture has to wait for.
#define _GNU_SOURCE
#include "agent.h"
#include <stdlib.h>
#include <unistd.h>

static pthread_mutex_t stream_lock = PTHREAD_MUTEX_INITIALIZER;
static struct {
  CUcontext context;
  CUstream s;
} *streams;
static size_t stream_count, stream_room;

void stream_created(CUcontext context, CUstream s) {
  pthread_mutex_lock(&stream_lock);
  if (stream_count == stream_room) {
    size_t room = stream_room ? 2 * stream_room : 64;
    void *p = realloc(streams, room * sizeof *streams);
    if (p) streams = p, stream_room = room;
    else atomic_store(&agent_off, true); // what is not known can't be waited for: never a session again
  }
  if (stream_count < stream_room) {
    streams[stream_count].context = context;
    streams[stream_count++].s = s;
  }
  pthread_mutex_unlock(&stream_lock);
}

void stream_destroyed(CUstream s) {
  pthread_mutex_lock(&stream_lock);
  for (size_t i = 0; i < stream_count; i++)
    if (streams[i].s == s) {
      streams[i] = streams[--stream_count];
      break;
    }
  pthread_mutex_unlock(&stream_lock);
}

void streams_drop(CUcontext context) {
  pthread_mutex_lock(&stream_lock);
  for (size_t i = 0; i < stream_count;)
    if (streams[i].context == context) streams[i] = streams[--stream_count];
    else i++;
  pthread_mutex_unlock(&stream_lock);
}

// Seconds that work that does not end is waited for in all: it waits for something itself, such as a later launch of this thread. A kernel
// that waited so in each of some launches held a program of half a second up for 26 s.
#define PATIENCE 4
#define GLANCE 0.02 // that each wait may take all the same

// Asked with the gate closed.
bool streams_idle(CUcontext context, CUstream own, double seconds, double others, double *since, CUresult *error) {
  static double patience = PATIENCE;
  if (seconds > patience) seconds = patience > GLANCE ? patience : GLANCE;
  double begin = *since = now(), end = begin + seconds;
  *error = CUDA_SUCCESS;
  // A copy of the list: the driver may hold a lock of its own while it tells of a new stream. None is destroyed meanwhile,
  // the gate holds cuStreamDestroy.
  pthread_mutex_lock(&stream_lock);
  CUstream *list = malloc((stream_count + 3) * sizeof *list);
  size_t n = 0;
  if (list) list[n++] = own;
  for (size_t i = 0; list && i < stream_count; i++)
    if (streams[i].context == context) list[n++] = streams[i].s;
  pthread_mutex_unlock(&stream_lock);
  if (!list) return false;
  list[n++] = CU_STREAM_LEGACY;
  list[n++] = CU_STREAM_PER_THREAD;
  bool ok = true;
  for (size_t i = 0; ok && i < n; i++) {
    CUresult r;
    while ((r = cu.StreamQuery(list[i])) == CUDA_ERROR_NOT_READY && now() < end) usleep(50);
    if (r != CUDA_SUCCESS) {
      ok = false;
      *error = r;
    }
    if (i == 0) *since = now(), end = *since + others < end ? *since + others : end;
  }
  free(list);
  if (*error == CUDA_ERROR_NOT_READY) patience -= now() - begin;
  return ok;
}
