// A thread of ours for one piece of work after the other, while the caller goes on with the next one. No signal of the
// application's is handled in it, and it calls neither CUDA nor the application.
#include "behind.h"
#include <signal.h>

static void *works(void *p) {
  struct behind *b = p;
  pthread_mutex_lock(&b->lock);
  for (;;) {
    while (!b->busy && !b->stop) pthread_cond_wait(&b->changed, &b->lock);
    if (!b->busy) break;
    pthread_mutex_unlock(&b->lock);
    b->work(b->of);
    pthread_mutex_lock(&b->lock);
    b->busy = false;
    pthread_cond_broadcast(&b->changed);
  }
  pthread_mutex_unlock(&b->lock);
  return NULL;
}

void behind_begin(struct behind *b, void (*work)(void *), void *of) {
  *b = (struct behind){.work = work, .of = of, .lock = PTHREAD_MUTEX_INITIALIZER, .changed = PTHREAD_COND_INITIALIZER};
  sigset_t all, was;
  sigfillset(&all);
  if (pthread_sigmask(SIG_SETMASK, &all, &was) != 0) return;
  b->thread_there = pthread_create(&b->thread, NULL, works, b) == 0; // none: the caller works
  pthread_sigmask(SIG_SETMASK, &was, NULL);
}

void behind_wait(struct behind *b) {
  if (!b->thread_there) return;
  pthread_mutex_lock(&b->lock);
  while (b->busy) pthread_cond_wait(&b->changed, &b->lock);
  pthread_mutex_unlock(&b->lock);
}

void behind_go(struct behind *b) {
  if (!b->thread_there) {
    b->work(b->of);
    return;
  }
  pthread_mutex_lock(&b->lock);
  b->busy = true;
  pthread_cond_broadcast(&b->changed);
  pthread_mutex_unlock(&b->lock);
}

void behind_end(struct behind *b) {
  if (!b->thread_there) return;
  behind_wait(b);
  pthread_mutex_lock(&b->lock);
  b->stop = true;
  pthread_cond_broadcast(&b->changed);
  pthread_mutex_unlock(&b->lock);
  pthread_join(b->thread, NULL);
  b->thread_there = false;
}
