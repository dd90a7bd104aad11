// A CUPTI for tests, in front of the real one: it takes the agent's callback, and never calls it. BAD names a function of the driver's, or a
// resource, of which it will not tell.
#define _GNU_SOURCE
#include "fake.h"
#include <dlfcn.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

CUpti_CallbackFunc fake_callback;

// The real one's end, in a process that was forked from one that it watches.
static pid_t watched;
static void at_end(void) {
  if (getpid() != watched) raise(SIGSEGV);
}

// INTERRUPT: at so many locks of the program's that are given back, from fake_interrupt's being set on, a signal comes first.
int fake_interrupt;
int pthread_mutex_unlock(pthread_mutex_t *m) {
  static int (*real)(pthread_mutex_t *);
  if (!real) real = (int (*)(pthread_mutex_t *))dlsym(RTLD_NEXT, "pthread_mutex_unlock");
  if (fake_interrupt > 0 && --fake_interrupt == 0) raise(SIGUSR1);
  return real(m);
}

CUptiResult cuptiSubscribe(CUpti_SubscriberHandle *s, CUpti_CallbackFunc f, void *user) {
  watched = getpid();
  atexit(at_end);
  fake_callback = f;
  return CUPTI_SUCCESS;
}

CUptiResult cuptiEnableCallback(uint32_t on, CUpti_SubscriberHandle s, CUpti_CallbackDomain d, CUpti_CallbackId id) {
  const char *name = 0, *bad = getenv("BAD");
  char text[32];
  snprintf(text, sizeof text, "resource %d", (int)id);
  if (d == CUPTI_CB_DOMAIN_RESOURCE) name = text;
  else { // the agent's own library knows
    void *agent = dlopen(getenv("CUDA_INJECTION64_PATH"), RTLD_NOW | RTLD_NOLOAD);
    CUptiResult (*real)(CUpti_CallbackDomain, uint32_t, const char **) = (CUptiResult (*)(CUpti_CallbackDomain, uint32_t, const char **))dlsym(agent, "cuptiGetCallbackName");
    real(d, id, &name);
  }
  return name && bad && strcmp(name, bad) == 0 ? CUPTI_ERROR_INVALID_OPERATION : CUPTI_SUCCESS;
}
