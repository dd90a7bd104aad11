// An NVML for tests: one device, at the place where the tests' drivers have theirs, with a counter that moves each NVML_STEP ms (20): by 50 W,
// and by 1 J for each launch of the tests' driver, or for each byte of the file that NVML_SPENT names. NVML is what is not as it should be.
#define _GNU_SOURCE
#include <dlfcn.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

static bool is(const char *what) { return getenv("NVML") && strcmp(getenv("NVML"), what) == 0; }

static double spent(void) {
  struct stat st;
  double *launches = dlsym(RTLD_DEFAULT, "fake_spent");
  if (launches) return *launches;
  return getenv("NVML_SPENT") && stat(getenv("NVML_SPENT"), &st) == 0 ? (double)st.st_size : 0;
}

int nvmlInit_v2(void) { return is("broken") ? 999 : 0; }

int nvmlDeviceGetHandleByPciBusId_v2(const char *bus, void **device) {
  *device = (void *)1;
  return strcmp(bus, "0000:4B:00.0") == 0 && !is("another") ? 0 : 6;
}

int nvmlDeviceGetMigMode(void *device, unsigned *current, unsigned *pending) {
  *current = *pending = is("split");
  return is("split") ? 0 : 3;
}

// With it: us, one that is not to be seen from here, and, "beside" us, the first process of this machine; "late", at the second look.
int nvmlDeviceGetComputeRunningProcesses_v3(void *device, unsigned *n, void *list) {
  static int looks;
  unsigned beside = is("beside") || (is("late") && ++looks > 1), pids[] = {(unsigned)getpid(), 1u << 30, 1};
  if (is("shared")) return 7;
  if (*n < 3) return 0;
  *n = 2 + beside;
  for (unsigned i = 0; i < *n; i++) memcpy((char *)list + 24 * i, &pids[i], sizeof pids[i]);
  return 0;
}

int nvmlDeviceGetTotalEnergyConsumption(void *device, unsigned long long *mj) {
  static long last = -1;
  static unsigned long long value, looks;
  struct timespec t;
  if (is("none")) return 3;
  if (++looks > 1 && is("lost")) return 15;
  clock_gettime(CLOCK_MONOTONIC, &t);
  double ms = (double)t.tv_sec * 1e3 + (double)t.tv_nsec * 1e-6;
  long step = (long)(ms / (getenv("NVML_STEP") ? atof(getenv("NVML_STEP")) : 20));
  if (step != last && !(last >= 0 && is("still"))) {
    value = (unsigned long long)(50 * ms + 1e3 * spent());
    if (is("backwards")) value = (1ull << 40) - value;
    last = step;
  }
  *mj = value;
  return 0;
}
