// Which chunks of memory captures of this process have written, by their hashes: kernels of a program share arrays, and what one capture has the
// next one only names. All under the lock that captures are made under. Where there is no memory for it less is known.
#include "known.h"
#include <stdlib.h>
#include <string.h>

struct entry {
  uint64_t sum[2]; // zeros: there is none
};
static struct entry *table, *fresh; // fresh: of the capture under way
static uint64_t room, used, fresh_room, fresh_n; // room is a power of two

static struct entry *place(struct entry *in, uint64_t size, const uint64_t sum[2]) {
  uint64_t i = sum[0];
  while (memcmp(in[i & (size - 1)].sum, (uint64_t[2]){0}, sizeof in->sum) != 0 && memcmp(in[i & (size - 1)].sum, sum, sizeof in->sum) != 0) i++;
  return &in[i & (size - 1)];
}

bool known_has(const uint64_t sum[2]) { return room > 0 && (sum[0] | sum[1]) && memcmp(place(table, room, sum)->sum, sum, sizeof table->sum) == 0; }

void known_add(const uint64_t sum[2]) {
  if (fresh_n == fresh_room) {
    struct entry *more = realloc(fresh, (2 * fresh_room + 64) * sizeof *fresh);
    if (!more) return;
    fresh = more;
    fresh_room = 2 * fresh_room + 64;
  }
  memcpy(fresh[fresh_n++].sum, sum, sizeof fresh->sum);
}

static bool grow(void) {
  uint64_t size = room ? 2 * room : 1024;
  struct entry *more = calloc(size, sizeof *more);
  if (!more) return false;
  for (uint64_t i = 0; i < room; i++)
    if (table[i].sum[0] | table[i].sum[1]) *place(more, size, table[i].sum) = table[i];
  free(table);
  table = more;
  room = size;
  return true;
}

void known_settle(bool whole) {
  for (uint64_t i = 0; whole && i < fresh_n; i++) {
    if (2 * used >= room && !grow()) break;
    if (known_has(fresh[i].sum)) continue;
    *place(table, room, fresh[i].sum) = fresh[i];
    used++;
  }
  fresh_n = 0;
}

void known_forget(void) {
  free(table);
  table = NULL;
  room = used = 0;
}
