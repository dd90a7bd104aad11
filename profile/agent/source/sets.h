// Sets of argument values: the launches of one configuration, told apart by the numbers that they are given.
#ifndef GNVCC_SETS_H
#define GNVCC_SETS_H
#include <stdbool.h>
#include <stdint.h>

#define MOST_SETS 32

// Times of launches by classes, each 1.25 times as long as the one before: class 0 begins at a microsecond. profile/classes.go has the same.
#define CLASS_FIRST 1e-6 // seconds
#define CLASS_STEP 1.25
#define CLASSES 73 // the last one begins at 9.5 s

struct class {
  uint32_t at;
  double launches, seconds; // of all launches that those which were timed stand for
};

// A set is the launches whose arguments agree in every word that tells sets apart.
struct set {
  uint64_t hash;                 // of these words
  uint64_t count, again;         // launches; ask at this count, 0: not
  double seconds, first_seconds; // of those that were timed, each as often as it stands for; of the configuration's first launch
  uint64_t timed, counted;       // counted: launches that those timed, or to be timed, stand for: each for itself and those since the one before
  double stands;                 // launches that those timed stand for
  struct class *classes;
  uint32_t classes_n;
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
void set_timed(struct set *x, double seconds, double stands); // a launch that stands for so many

#endif
