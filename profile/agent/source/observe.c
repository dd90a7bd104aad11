// Times of some launches, by events of ours around them in the application's stream: the first four with the same values, then one
// of 64, and of the first 1,024 as many as there is room for; now and then 32 in a row, whose times tell which kernels run at a time. One that is
// timed stands for those since the one before, so that few slow ones among many fast ones count as what they are. An activity record of CUPTI for each launch would cost kernels of many short blocks half of their time again (measured on an H200:
// 27.6 to 43.1 us for 42,240 blocks of 1 us); an event pair around one of 100 launches of 20 us costs 0.2 %.
//
// A launch that the device waits for is taken some microseconds too long, for the first event is there before it.
#define _GNU_SOURCE
#include "agent.h"
#include <stdlib.h>
#include <string.h>

#define MOST_SAMPLES 512 // whose times are not there yet. DENSE of them in half a second (SUMMARY_MS), at one to four microseconds each, cost 0.2 %
#define FEW 1024
#define DENSE 256

struct sample {
  struct sample *next;
  CUcontext context;
  CUevent start, end;
  CUstream stream;
  struct shape *shape;
  double stands;  // for so many launches
  bool first;     // launch of its configuration: the driver may load the kernel between the events
  bool alone;     // the device came to rest before it, to capture it
  uint32_t *args; // of its set of values: room for so many words
  uint32_t room;
  unsigned breaks; // between_breaks, as it began
  uint32_t burst; // number of the burst that it is part of, 0: none
};
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER; // never held across a call of the driver's
static struct sample *spare, *busy; // busy: both events are recorded
static int samples;
static atomic_int dense = DENSE; // launches that may still be timed beyond the usual ones, until the next burst
static __thread struct sample *current; // of the launch that this thread is in
static __thread struct sample *ended;   // the one before it, while nobody can have collected it
bool observing;

// A burst: launches in a row, their times from one event on.
#define BURST 32
static struct {
  uint32_t number, recorded, collected;
  atomic_uint left;   // launches that are still to be part of it
  CUcontext context; // whose launches these are
  CUevent base;
  struct interval {
    struct shape *shape;
    CUstream stream;
    float from, to; // ms from base on
    unsigned breaks;
  } list[BURST];
} burst;

bool sample_wanted(uint64_t count) {
  return observing && (count <= 4 || count % 64 == 0 || burst.left > 0 || (count <= FEW && atomic_load_explicit(&dense, memory_order_relaxed) > 0 && atomic_fetch_sub_explicit(&dense, 1, memory_order_relaxed) > 0));
}

void sample_burst(void) {
  pthread_mutex_lock(&lock);
  dense = DENSE;
  if (observing && burst.left == 0 && burst.recorded == burst.collected) {
    burst.number++;
    burst.left = BURST;
    burst.recorded = burst.collected = 0;
  }
  pthread_mutex_unlock(&lock);
}

// The part of a launch during which another stream's ran, looked up at some points.
static double beside(const struct interval *x) {
  enum { POINTS = 32 };
  int hits = 0;
  for (int i = 0; i < POINTS; i++) {
    float at = x->from + (x->to - x->from) * ((float)i + 0.5f) / POINTS;
    bool hit = false;
    for (uint32_t k = 0; k < burst.collected; k++) {
      const struct interval *y = &burst.list[k];
      hit |= y->stream != x->stream && at >= y->from && at <= y->to;
    }
    hits += hit;
  }
  return (double)hits / POINTS;
}

static int by_begin(const void *a, const void *b) {
  const struct interval *x = a, *y = b;
  return (x->from > y->from) - (x->from < y->from);
}

// What was between a launch of the burst and the next one on its stream.
static void burst_gaps(void) {
  qsort(burst.list, burst.collected, sizeof *burst.list, by_begin);
  for (uint32_t i = 0; i < burst.collected; i++) {
    const struct interval *x = &burst.list[i], *y = x + 1, *end = burst.list + burst.collected;
    while (y < end && y->stream != x->stream) y++;
    if (y < end && x->from >= 0 && x->shape && y->shape && x->breaks == y->breaks && y->from >= x->to) shape_followed(x->shape, y->shape, (double)(y->from - x->to) * 1e-3);
  }
}

// Notes when a launch of the burst ran; where it was the last one, what ran at a time.
static void burst_collect(const struct sample *x) {
  float from = 0, to = 0;
  enum inside before = inside;
  inside = OURS;
  bool ok = cu.EventElapsedTime(&from, burst.base, x->start) == CUDA_SUCCESS && cu.EventElapsedTime(&to, burst.base, x->end) == CUDA_SUCCESS;
  inside = before;
  pthread_mutex_lock(&lock);
  if (x->burst != burst.number || burst.collected == BURST) { // its context has ended
    pthread_mutex_unlock(&lock);
    return;
  }
  if (!ok) from = to = -1;
  burst.list[burst.collected++] = (struct interval){x->shape, x->stream, from, to, x->breaks};
  bool whole = burst.left == 0 && burst.collected == burst.recorded;
  pthread_mutex_unlock(&lock);
  if (!whole) return;
  burst_gaps();
  for (uint32_t i = 0; i < burst.collected; i++) {
    const struct interval *y = &burst.list[i];
    double seconds = (double)(y->to - y->from) * 1e-3;
    if (seconds > 0 && y->shape) shape_watched(y->shape, seconds, seconds * beside(y));
  }
}

static void burst_leave(struct sample *x) {
  pthread_mutex_lock(&lock);
  if (x->burst && x->burst == burst.number) burst.recorded--;
  x->burst = 0;
  pthread_mutex_unlock(&lock);
}

// Makes a launch part of the burst, if there is room. Its first one's stream gets the event from which on times are taken.
static void burst_join(struct sample *x) {
  pthread_mutex_lock(&lock);
  bool in = burst.left > 0 && (burst.left == BURST || x->context == burst.context), base = in && burst.left == BURST;
  if (base) {
    if (burst.base && burst.context != x->context) burst.base = NULL; // goes with its context
    burst.context = x->context;
  }
  if (in) {
    burst.left--;
    burst.recorded++;
  }
  x->burst = in ? burst.number : 0;
  pthread_mutex_unlock(&lock);
  if (base && ((!burst.base && cu.EventCreate(&burst.base, CU_EVENT_DEFAULT) != CUDA_SUCCESS) || cu.EventRecord(burst.base, x->stream) != CUDA_SUCCESS)) {
    pthread_mutex_lock(&lock);
    burst.left = 0;
    pthread_mutex_unlock(&lock);
    burst_leave(x);
  }
}

void sample_begin(struct shape *s, bool first, const uint32_t *args, uint32_t words, double stands, CUcontext context, CUstream stream) {
  ended = NULL;
  if (current || !args) return;
  pthread_mutex_lock(&lock);
  struct sample **p = &spare, *x;
  while (*p && (*p)->context != context) p = &(*p)->next;
  if ((x = *p)) *p = x->next;
  bool room = x || samples < MOST_SAMPLES;
  if (!x && room) samples++;
  pthread_mutex_unlock(&lock);
  if (!room) return;
  inside = OURS;
  CUstreamCaptureMode mode = CU_STREAM_CAPTURE_MODE_RELAXED; // another thread may just have begun a capture
  cu.ThreadExchangeStreamCaptureMode(&mode);
  if (!x && (x = calloc(1, sizeof *x))) {
    x->context = context;
    if (cu.EventCreate(&x->start, CU_EVENT_DEFAULT) != CUDA_SUCCESS || cu.EventCreate(&x->end, CU_EVENT_DEFAULT) != CUDA_SUCCESS) {
      free(x); // an event that was made is lost: it happens once, the driver is in trouble
      x = NULL;
    }
  }
  if (x && (!x->args || x->room < words)) {
    free(x->args);
    x->args = malloc((words + 1) * sizeof *x->args);
    x->room = words;
  }
  bool ready = x && x->args;
  if (ready) {
    if (words) memcpy(x->args, args, words * sizeof *args);
    x->stream = stream;
    burst_join(x);
  }
  if (ready && cu.EventRecord(x->start, stream) == CUDA_SUCCESS) {
    x->shape = s;
    x->first = first;
    x->stands = stands;
    x->breaks = between_breaks();
    x->alone = capture_rested();
    current = x;
  } else if (x) {
    burst_leave(x);
    pthread_mutex_lock(&lock);
    x->next = spare;
    spare = x;
    pthread_mutex_unlock(&lock);
  }
  cu.ThreadExchangeStreamCaptureMode(&mode);
  inside = OUTSIDE;
}

void sample_end(bool launched) {
  struct sample *x = current;
  if (!x) return;
  current = NULL;
  inside = OURS;
  bool ok = launched && cu.EventRecord(x->end, x->stream) == CUDA_SUCCESS;
  inside = OUTSIDE;
  if (!ok) burst_leave(x);
  else ended = x;
  pthread_mutex_lock(&lock);
  struct sample **list = ok ? &busy : &spare;
  x->next = *list;
  *list = x;
  pthread_mutex_unlock(&lock);
}

double sample_seconds(void) {
  float ms = 0;
  bool known = ended && !ended->first && cu.EventElapsedTime(&ms, ended->start, ended->end) == CUDA_SUCCESS;
  ended = NULL;
  return known ? (double)ms * 1e-3 : 0;
}

// An event must not be asked while its context ends, which only its own threads know not to happen: so a thread takes the samples of the
// context in which it launches. And asking for an event is an error for a stream capture that is under way, which it would end, unless the
// thread says that it knows what it does.
void samples_collect(CUcontext context) {
  struct sample *list = NULL, *x;
  pthread_mutex_lock(&lock);
  for (struct sample **p = &busy; (x = *p);)
    if (!context || x->context == context) {
      *p = x->next;
      x->next = list;
      list = x;
    } else p = &x->next;
  pthread_mutex_unlock(&lock);
  if (!list) return;
  CUstreamCaptureMode mode = CU_STREAM_CAPTURE_MODE_RELAXED;
  enum inside before = inside;
  inside = OURS;
  bool relaxed = cu.ThreadExchangeStreamCaptureMode(&mode) == CUDA_SUCCESS;
  CUresult failed = CUDA_SUCCESS;
  while ((x = list)) {
    list = x->next;
    float ms = 0;
    CUresult r = relaxed ? cu.EventQuery(x->end) : CUDA_ERROR_NOT_READY;
    if (r == CUDA_SUCCESS && (r = cu.EventElapsedTime(&ms, x->start, x->end)) == CUDA_SUCCESS) {
      if (x->shape) shape_timed(x->shape, x->first, x->alone, x->args, (double)ms * 1e-3, x->stands);
      else unseen_timed(x->args, x->first, (double)ms * 1e-3);
    }
    if (r != CUDA_SUCCESS && r != CUDA_ERROR_NOT_READY) failed = r;
    if (x->burst && r != CUDA_ERROR_NOT_READY) burst_collect(x);
    pthread_mutex_lock(&lock);
    struct sample **to = r == CUDA_ERROR_NOT_READY ? &busy : &spare;
    x->next = *to;
    *to = x;
    pthread_mutex_unlock(&lock);
  }
  if (relaxed) cu.ThreadExchangeStreamCaptureMode(&mode);
  inside = before;
  static bool reported; // with talk held
  if (failed != CUDA_SUCCESS && !reported) {
    reported = true;
    note("the times of some launches could not be read (CUDA error %d)", (int)failed);
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
        free(x->args);
        free(x);
        samples--;
      } else p = &(*p)->next;
  if (burst.context == context) {
    burst.number++;
    burst.left = burst.recorded = burst.collected = 0;
    burst.base = NULL;
  }
  pthread_mutex_unlock(&lock);
}
