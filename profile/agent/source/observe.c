// Times of some launches, by events of ours around them in the application's stream: the second to fifth of a configuration, then one
// of 64. An activity record of CUPTI for each launch would cost kernels of many short blocks half of their time again (measured on an H200:
// 27.6 to 43.1 us for 42,240 blocks of 1 us); an event pair around one of 100 launches of 20 us costs 0.2 %.
//
// A launch that the device waits for is taken some microseconds too long, for the first event is there before it.
#define _GNU_SOURCE
#include "agent.h"
#include <stdlib.h>

#define MOST_SAMPLES 256

struct sample {
  struct sample *next;
  CUcontext context;
  CUevent start, end;
  CUstream stream;
  struct shape *shape;
  bool first; // launch of its configuration: the driver may load the kernel between the events
};
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER; // never held across a call of the driver's
static struct sample *spare, *busy; // busy: both events are recorded
static int samples;
static __thread struct sample *current; // of the launch that this thread is in
bool observing;

bool sample_wanted(uint64_t count) { return observing && (count <= 5 || count % 64 == 0); }

void sample_begin(struct shape *s, bool first, CUcontext context, CUstream stream) {
  if (current) return;
  pthread_mutex_lock(&lock);
  struct sample **p = &spare, *x;
  while (*p && (*p)->context != context) p = &(*p)->next;
  if ((x = *p)) *p = x->next;
  bool room = x || samples < MOST_SAMPLES;
  if (!x && room) samples++;
  pthread_mutex_unlock(&lock);
  if (!room) return;
  inside = OURS;
  if (!x && (x = calloc(1, sizeof *x))) {
    x->context = context;
    if (cu.EventCreate(&x->start, CU_EVENT_DEFAULT) != CUDA_SUCCESS || cu.EventCreate(&x->end, CU_EVENT_DEFAULT) != CUDA_SUCCESS) {
      free(x); // an event that was made is lost: it happens once, the driver is in trouble
      x = NULL;
    }
  }
  if (x && cu.EventRecord(x->start, stream) == CUDA_SUCCESS) {
    x->shape = s;
    x->first = first;
    x->stream = stream;
    current = x;
  } else if (x) {
    pthread_mutex_lock(&lock);
    x->next = spare;
    spare = x;
    pthread_mutex_unlock(&lock);
  }
  inside = OUTSIDE;
}

void sample_end(bool launched) {
  struct sample *x = current;
  if (!x) return;
  current = NULL;
  inside = OURS;
  bool ok = launched && cu.EventRecord(x->end, x->stream) == CUDA_SUCCESS;
  inside = OUTSIDE;
  pthread_mutex_lock(&lock);
  struct sample **list = ok ? &busy : &spare;
  x->next = *list;
  *list = x;
  pthread_mutex_unlock(&lock);
}

void samples_collect(void) {
  pthread_mutex_lock(&lock);
  struct sample *list = busy, *x;
  busy = NULL;
  pthread_mutex_unlock(&lock);
  while ((x = list)) {
    list = x->next;
    float ms = 0;
    enum inside before = inside;
    inside = OURS;
    CUresult r = cu.EventQuery(x->end);
    if (r == CUDA_SUCCESS && cu.EventElapsedTime(&ms, x->start, x->end) == CUDA_SUCCESS) shape_timed(x->shape, x->first, (double)ms * 1e-3);
    inside = before;
    pthread_mutex_lock(&lock);
    struct sample **to = r == CUDA_ERROR_NOT_READY ? &busy : &spare;
    x->next = *to;
    *to = x;
    pthread_mutex_unlock(&lock);
  }
}

// A context's end is the end of its events.
void samples_drop(CUcontext context) {
  pthread_mutex_lock(&lock);
  for (int i = 0; i < 2; i++)
    for (struct sample **p = i ? &spare : &busy; *p;)
      if ((*p)->context == context) {
        struct sample *x = *p;
        *p = x->next;
        free(x);
        samples--;
      } else p = &(*p)->next;
  pthread_mutex_unlock(&lock);
}
