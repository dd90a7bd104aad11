// What the energy counter of the device says while something is done; in a replay only. What it means is gnvcc's to find out.
#define _GNU_SOURCE
#include "agent.h"
#include "nvml.h"
#include <string.h>

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
