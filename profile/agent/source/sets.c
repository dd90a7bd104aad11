// Sets of argument values (sets.h). Nothing here knows CUDA.
#include "sets.h"
#include <stdlib.h>
#include <string.h>

bool sets_open(struct sets *s, uint32_t bytes) {
  *s = (struct sets){.words = (bytes + 3) / 4};
  s->mask = malloc((s->words + 1) * sizeof *s->mask);
  if (s->mask) memset(s->mask, 0xff, (s->words + 1) * sizeof *s->mask);
  return s->mask != NULL;
}

// Most configurations have one set: room grows with need.
static bool grow(struct sets *s) {
  if (s->n < s->room) return true;
  uint32_t room = s->room ? 2 * s->room : 1;
  void *args = realloc(s->args, ((size_t)room * s->words + 1) * sizeof *s->args);
  if (args) s->args = args;
  void *set = args ? realloc(s->set, room * sizeof *s->set) : NULL;
  if (set) {
    s->set = set;
    s->room = room;
  }
  return set != NULL;
}

void sets_free(struct sets *s) {
  for (uint32_t i = 0; i < s->n; i++) free(s->set[i].classes);
  free(s->mask);
  free(s->args);
  free(s->set);
  *s = (struct sets){0};
}

static uint64_t hash_of(const struct sets *s, const uint32_t *args) {
  uint64_t h = 0x9e3779b97f4a7c15u;
  for (uint32_t i = 0; i < s->words; i++) h = (h ^ (args[i] & s->mask[i])) * 0xff51afd7ed558ccdu ^ h >> 29;
  return h;
}

static bool equal(const struct sets *s, const uint32_t *a, const uint32_t *b) {
  for (uint32_t i = 0; i < s->words; i++)
    if ((a[i] ^ b[i]) & s->mask[i]) return false;
  return true;
}

static struct set *look_up(struct sets *s, const uint32_t *args, uint64_t hash) {
  for (uint32_t i = 0; i < s->n; i++)
    if (s->set[i].hash == hash && equal(s, args, s->args + (size_t)i * s->words)) return &s->set[i];
  return NULL;
}

struct set *sets_find(struct sets *s, const uint32_t *args) { return look_up(s, args, hash_of(s, args)); }

// Launches join their class, which is made where it is new; where there is no memory for it they are in none.
static void classify(struct set *x, uint32_t at, double launches, double seconds) {
  uint32_t i = 0;
  while (i < x->classes_n && x->classes[i].at != at) i++;
  if (i == x->classes_n) {
    struct class *more = realloc(x->classes, (i + 1) * sizeof *more);
    if (!more) return;
    x->classes = more;
    x->classes[x->classes_n++] = (struct class){.at = at};
  }
  x->classes[i].launches += launches;
  x->classes[i].seconds += seconds;
}

void set_timed(struct set *x, double seconds, double stands) {
  uint32_t at = 0;
  for (double end = CLASS_FIRST * CLASS_STEP; at < CLASSES - 1 && seconds >= end; end *= CLASS_STEP) at++;
  x->timed++;
  x->stands += stands;
  x->seconds += seconds * stands;
  classify(x, at, stands, seconds * stands);
}

// What is to be asked about either of two sets is asked about them together, soon.
static void join(struct set *to, const struct set *from) {
  bool ask = to->again || from->again;
  to->count += from->count;
  to->seconds += from->seconds;
  to->timed += from->timed;
  to->counted += from->counted;
  to->stands += from->stands;
  for (uint32_t i = 0; i < from->classes_n; i++) classify(to, from->classes[i].at, from->classes[i].launches, from->classes[i].seconds);
  free(from->classes);
  if (from->first_seconds > 0) to->first_seconds = from->first_seconds;
  if (from->alone > 0) to->alone = from->alone;
  to->again = ask ? to->count + 1 : 0;
}

void sets_ignore(struct sets *s, uint32_t word) {
  uint32_t kept = 0;
  if (word >= s->words || !s->mask[word]) return;
  s->mask[word] = 0;
  for (uint32_t i = 0; i < s->n; i++) {
    uint32_t *args = s->args + (size_t)i * s->words;
    struct set x = s->set[i], *same;
    x.hash = hash_of(s, args);
    uint32_t n = s->n;
    s->n = kept; // those that are settled
    same = look_up(s, args, x.hash);
    s->n = n;
    if (same) {
      join(same, &x);
      continue;
    }
    memmove(s->args + (size_t)kept * s->words, args, s->words * sizeof *args);
    s->set[kept++] = x;
  }
  s->n = kept;
}

// The word with the most values among the sets.
static uint32_t most_varied(const struct sets *s) {
  uint32_t best = 0, most = 0;
  for (uint32_t w = 0; w < s->words; w++) {
    uint32_t values = 0;
    for (uint32_t i = 0; s->mask[w] && i < s->n; i++) {
      uint32_t k = 0;
      while (k < i && s->args[(size_t)k * s->words + w] != s->args[(size_t)i * s->words + w]) k++;
      values += k == i;
    }
    if (values > most) {
      most = values;
      best = w;
    }
  }
  return best;
}

struct set *sets_add(struct sets *s, const uint32_t *args) {
  struct set *x = sets_find(s, args);
  if (x) return x;
  if (s->n == MOST_SETS) {
    do sets_ignore(s, most_varied(s));
    while (s->n > MOST_SETS / 2);
    if ((x = sets_find(s, args))) return x;
  }
  if (!grow(s)) return NULL;
  memcpy(s->args + (size_t)s->n * s->words, args, s->words * sizeof *args);
  s->set[s->n] = (struct set){.hash = hash_of(s, args), .again = 1};
  return &s->set[s->n++];
}
