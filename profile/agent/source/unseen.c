// Graphs whose kernels are not launched one by one: what their launches take as a whole, by why that is so. Without it a run's time would be that
// of the other kernels alone, and these all of it.
//
// Times come from samples, as those of kernels do (observe.c), and some of them after the graph's end. What an executable graph took is its mean
// time times its launches; of those that were gone before a time was there, it is the mean of the times that came later.
#define _GNU_SOURCE
#include "agent.h"
#include <stdlib.h>
#include <string.h>

#define MOST_REASONS 32

struct unseen {
  struct unseen *next;
  uint32_t id;
  const char *why; // as of its first launch
  uint64_t launches, timed;
  double seconds, first; // first: of the first launch, for which the driver uploads the graph
};

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER; // taken last
static struct unseen *live;
static struct reason {
  const char *why;
  uint64_t launches, untimed, late; // of graphs that are gone; of them, without a time; times that came for these
  double seconds, late_seconds;     // of launches that are not untimed
} reasons[MOST_REASONS];
static uint32_t ids;

static uint32_t reason_of(const char *why) {
  uint32_t i = 0;
  while (i < MOST_REASONS - 1 && reasons[i].why && strcmp(reasons[i].why, why) != 0) i++;
  if (!reasons[i].why) reasons[i].why = why;
  return i;
}

static double mean(const struct unseen *u) { return u->timed > 0 ? u->seconds / (double)u->timed : u->first; }

void unseen_begin(struct unseen **of, const char *why, CUcontext context, CUstream stream) {
  pthread_mutex_lock(&lock);
  struct unseen *u = *of;
  if (!u && (u = calloc(1, sizeof *u))) {
    u->id = ++ids;
    u->why = why ? why : "its nodes were not launched one by one";
    u->next = live;
    live = *of = u;
  }
  uint32_t sample[2] = {0};
  bool wanted = false, first = false;
  if (u) {
    first = u->launches++ == 0;
    wanted = sample_wanted(u->launches) && atomic_load(&captures) == 0;
    sample[0] = u->id;
    sample[1] = reason_of(u->why);
  }
  pthread_mutex_unlock(&lock);
  if (wanted) sample_begin(NULL, first, sample, 2, 1, context, stream);
}

void unseen_timed(const uint32_t *sample, bool first, double seconds) {
  pthread_mutex_lock(&lock);
  struct unseen *u = live;
  while (u && u->id != sample[0]) u = u->next;
  struct reason *r = &reasons[sample[1]];
  if (u && first) u->first = seconds;
  else if (u) u->seconds += seconds, u->timed++;
  else r->late_seconds += seconds, r->late++;
  pthread_mutex_unlock(&lock);
}

// Adds a graph to what is gone, or is as if it were.
static void add(struct reason *r, const struct unseen *u) {
  r->launches += u->launches;
  if (mean(u) > 0) r->seconds += mean(u) * (double)u->launches;
  else r->untimed += u->launches;
}

void unseen_end(struct unseen *u) {
  if (!u) return;
  pthread_mutex_lock(&lock);
  add(&reasons[reason_of(u->why)], u);
  for (struct unseen **p = &live; *p; p = &(*p)->next)
    if (*p == u) {
      *p = u->next;
      break;
    }
  free(u);
  pthread_mutex_unlock(&lock);
}

void put_unseen(struct buffer *b) {
  struct reason all[MOST_REASONS];
  uint32_t n = 0;
  pthread_mutex_lock(&lock);
  for (const struct unseen *u = live; u; u = u->next) reason_of(u->why);
  memcpy(all, reasons, sizeof all);
  for (const struct unseen *u = live; u; u = u->next) add(&all[reason_of(u->why)], u);
  pthread_mutex_unlock(&lock);
  while (n < MOST_REASONS && all[n].why) n++;
  put_u32(b, n);
  for (uint32_t i = 0; i < n; i++) {
    const struct reason *r = &all[i];
    put_str(b, r->why);
    put_u64(b, r->launches);
    put_f64(b, r->seconds + (r->late > 0 ? r->late_seconds / (double)r->late * (double)r->untimed : 0));
  }
}
