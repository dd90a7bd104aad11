// What the energy counter of the device says while something is done; in a replay only. What it means is gnvcc's to find out.
#define _GNU_SOURCE
#include "agent.h"
#include "nvml.h"
#include <stdio.h>
#include <string.h>
#include <unistd.h>

// Whether this runs another program than we do: a replayer that waits is one of ours. What can't be seen here (of another container) is not told.
static bool another(unsigned pid) {
  char link[32], ours[4096], its[4096];
  snprintf(link, sizeof link, "/proc/%u/exe", pid);
  ssize_t a = readlink("/proc/self/exe", ours, sizeof ours), b = readlink(link, its, sizeof its);
  link[strlen(link) - 4] = 0;
  return b < 0 ? access(link, F_OK) == 0 : a != b || memcmp(ours, its, (size_t)a) != 0;
}

// The counter is of the whole GPU: whoever else is on it now is in what it says.
const char *meter_alone(void) {
  struct {
    unsigned pid;
    unsigned long long memory;
    unsigned parts[2];
  } list[64];
  unsigned n = 64;
  int r = nvml.processes ? nvml.processes(nvml.device, &n, list) : 0;
  bool any = r == NVML_ONLY_COUNTED;
  for (unsigned i = 0; nvml.processes && r == 0 && i < n; i++) any = any || another(list[i].pid);
  return any ? "another process has the GPU, too" : NULL;
}

const char *meter_open(void) {
  static const char *why = "not asked";
  static bool asked;
  if (asked) return why;
  asked = true;
  CUdevice device = 0;
  char bus[32] = "";
  if (!in_replay()) return why = "the launch is not in a replay";
  if (!cu.DeviceGetPCIBusId || cu.CtxGetDevice(&device) != CUDA_SUCCESS || cu.DeviceGetPCIBusId(bus, sizeof bus, device) != CUDA_SUCCESS)
    return why = "the driver does not tell where the device is";
  return why = nvml_open(bus);
}

void meter_begin(struct meter *m) {
  memset(m, 0, sizeof *m);
  m->mj = nvml_read(0);
  m->begin = m->seen = now();
}

void meter_look(struct meter *m) {
  unsigned long long mj = nvml_read(m->mj);
  double t = now();
  if (mj != m->mj) {
    put_f64(&m->steps, m->seen - m->begin);
    put_f64(&m->steps, t - m->begin);
    put_u64(&m->steps, mj);
    m->count++;
  }
  m->mj = mj;
  m->seen = t;
}
