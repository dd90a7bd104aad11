// Work that is done behind the caller's back.
#ifndef GNVCC_BEHIND_H
#define GNVCC_BEHIND_H
#include <pthread.h>
#include <stdbool.h>

struct behind {
  void (*work)(void *);
  void *of;
  pthread_t thread;
  pthread_mutex_t lock;
  pthread_cond_t changed;
  bool thread_there, busy, stop;
};

// Begins, with what to do each time. Where there can't be a thread the caller does it itself, in behind_go.
void behind_begin(struct behind *b, void (*work)(void *), void *of);

// Has it done once; what was begun before must have ended (behind_wait).
void behind_go(struct behind *b);

// Waits until it is done.
void behind_wait(struct behind *b);

// Waits, and ends the thread. A struct of zeros may be ended, too.
void behind_end(struct behind *b);

#endif
