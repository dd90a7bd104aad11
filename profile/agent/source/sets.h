// Sets of argument values: the launches of one configuration, told apart by the numbers that they are given.
#ifndef GNVCC_SETS_H
#define GNVCC_SETS_H
#include <stdbool.h>
#include <stdint.h>

#define MOST_SETS 32

// A set is the launches whose arguments agree in every word that tells sets apart.
struct set {
  uint64_t hash;                 // of these words
  uint64_t count, again;         // launches; ask at this count, 0: not
  double seconds, first_seconds; // of those that were timed; of the configuration's first launch
  uint64_t timed;
  double alone; // seconds of a launch that had the device to itself; 0: none was timed so
};

// Where a word takes ever new values (a time step), it stops to tell sets apart, and what it kept apart is one set again: so a table stays small,
// and what is in it comes back.
struct sets {
  uint32_t words, n, room;
  uint32_t *mask; // a word each: all ones while it tells sets apart, else 0
  uint32_t *args; // of each set's first launch, words each
  struct set *set;
};

bool sets_open(struct sets *s, uint32_t bytes); // false: no memory
void sets_free(struct sets *s);
struct set *sets_find(struct sets *s, const uint32_t *args); // NULL: there was no such launch
struct set *sets_add(struct sets *s, const uint32_t *args);  // the set that a launch belongs to; NULL: no memory
void sets_ignore(struct sets *s, uint32_t word);             // it tells sets apart no longer

#endif
